// SPDX-License-Identifier: Apache-2.0
// At two gateways, of which one relays: who speaks as a relay, or would, or stands behind one.
#include <array>
#include <commensal/base/core/bytes.hpp>
#include <commensal/lab/hostile/http2_frames.hpp>
#include <commensal/lab/hostile/strangers.hpp>

namespace commensal::lab::hostile {
namespace {

/// Version 2 of the PROXY protocol, by hand: from `client`, with a field by which relays of this
/// kind would be believed.
std::string header_of(std::uint32_t client, std::string_view proof) {
  constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
  constexpr std::uint32_t kLoopback = 0x7f00'0001;
  const std::string more = http2::number(4, client) + http2::number(4, kLoopback) +
                           http2::number(2, 4'000) + http2::number(2, 80) + "\xe0" +
                           http2::number(2, proof.size()) + std::string(proof);
  return std::string(kSignature) + "\x21\x11" + http2::number(2, more.size()) + more;
}

/// Headers of a relay with a secret that is wrong, none, or too long, of another kind, and cut off;
/// from made up clients, in front of a good request. To who writes and to who relays, in turn.
class WrongHeaders final : public Attacker {
 public:
  WrongHeaders(const Target& target, core::Rng& rng)
      : rng_(rng),
        ports_{target.writer_http_port, target.http_port, target.writer_provider_port,
               target.provider_port} {}
  void act() override {
    if (crowds_.size() == kCrowds) {
      crowds_.front().leave_closed();
      crowds_.pop_front();
    }
    Crowd& crowd = crowds_.emplace_back(ports_[++acts_ % ports_.size()], effects_, kManyAddresses);
    for (std::size_t i = 0; i < kAtOnce && crowd.join(); ++i) crowd.say(i, next());
  }
  void finish() override {
    if (!crowds_.empty()) crowds_.back().listen();
  }

 private:
  static constexpr std::size_t kCrowds = 16;

  std::string next() {
    const auto client = static_cast<std::uint32_t>(rng_.next_u64());
    std::string made = header_of(client, core::to_hex(rng_.next_digest()));
    switch (rng_.next_u64() % 5) {
      case 0:
        break;
      case 1:
        made = header_of(client, "");
        break;
      case 2:
        made[13] = '\x31';  // of Unix's sockets
        break;
      case 3:
        made[14] = '\xff';  // as long as can be
        break;
      default:
        made.resize(made.size() / 2);
    }
    return made + "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n";
  }

  core::Rng& rng_;
  const std::array<std::uint16_t, 4> ports_;
  std::deque<Crowd> crowds_;
  std::size_t acts_ = 0;
};

/// As many connections as it can that say half of a relay's header, and no more, to who writes.
class HalfHeaders final : public Silent {
 public:
  HalfHeaders(const Target& target, core::Rng&) : Silent(target.writer_http_port) {}

 protected:
  void first_word(std::size_t member) override {
    crowd_.say(member, std::string_view(header_).substr(0, header_.size() / 2));
  }
  std::string_view last_word() const override {
    return std::string_view(header_).substr(header_.size() / 2);
  }

 private:
  const std::string header_ = header_of(0, std::string(64, 'a'));
};

template <class Kind>
std::unique_ptr<Attacker> make(const Target& target, core::Rng& rng) {
  return std::make_unique<Kind>(target, rng);
}

constexpr AttackRow kRows[] = {
    {"relay-wrong-headers", "headers of relays that are made up, at two gateways",
     make<WrongHeaders>, Site::kRelay},
    {"relay-half-headers", "1,500 connections that say half of a relay's header", make<HalfHeaders>,
     Site::kRelay},
};

}  // namespace

std::span<const AttackRow> relay_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
