// SPDX-License-Identifier: Apache-2.0
// Strangers at the port for consumers, who have no token.
#include <algorithm>
#include <array>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/lab/hostile/http2_frames.hpp>
#include <commensal/lab/hostile/strangers.hpp>
#include <commensal/serve/rpc/messages.hpp>
#include <thread>
#include <utility>

namespace commensal::lab::hostile {
namespace {

/// A head that never ends, a byte now and then on each.
class Slow final : public Silent {
 public:
  using Silent::Silent;

 protected:
  void first_word(std::size_t member) override {
    crowd_.say(member, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  }
  std::string_view last_word() const override { return "\r\n\r\n"; }
  void next_word() override {
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() > 0; ++i) {
      crowd_.say(next_++ % crowd_.size(), "a");
    }
  }

 private:
  std::size_t next_ = 0;
};

/// A small body that never comes, to a route that asks for nobody's name.
class IdleBodies final : public Silent {
 public:
  using Silent::Silent;

 protected:
  void first_word(std::size_t member) override {
    crowd_.say(member, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  }
  std::string_view last_word() const override { return "x"; }
};

class HeaderBomb final : public Speaker {
 public:
  using Speaker::Speaker;

 protected:
  std::string next() override {
    std::string head = "GET /v2 HTTP/1.1\r\nHost: x\r\n";
    if (++count_ % 2 == 0) return head + "X: " + std::string(1 << 20, 'a');
    for (int i = 0; i < 20'000; ++i) head += "A:\r\n";
    return head + "\r\n";
  }

 private:
  int count_ = 0;
};

class Garbage final : public Speaker {
 public:
  Garbage(std::uint16_t port, core::Rng& rng) : Speaker(port), rng_(rng) {}

 protected:
  std::string next() override {
    static constexpr std::array<std::string_view, 6> kBegin = {
        "",
        "\x16\x03\x01\x02\x00\x01",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/9.9\r\n",
        "POST /v2/models/a/b/infer HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /v1/accounts HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"};
    std::string bytes(kBegin[rng_.next_u64() % kBegin.size()]);
    const std::size_t more = rng_.next_u64() % 4096;
    for (std::size_t i = 0; i < more; ++i) bytes.push_back(static_cast<char>(rng_.next_u64()));
    return bytes;
  }

 private:
  core::Rng& rng_;
};

/// Requests that anybody may make, or that look like it, many in one go.
class Flood final : public Speaker {
 public:
  Flood(std::uint16_t port, core::Rng& rng) : Speaker(port), rng_(rng) {}

 protected:
  std::string next() override {
    std::string many;
    for (int i = 0; i < 16; ++i) {
      static constexpr std::array<std::string_view, 4> kTargets = {
          "/v2/health/ready", "/v2/models/nobody/none", "/v1/models", "/v1/receipts"};
      many += fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n", kTargets[rng_.next_u64() % 4]);
      if (i % 2 == 0) {
        many += fmt::format("Authorization: Bearer {}\r\n", core::to_hex(rng_.next_digest()));
      }
      many += "\r\n";
    }
    return many;
  }

 private:
  core::Rng& rng_;
};

/// A stream of a provider, for less work than gRPC's own.
class StreamFlood : public Speaker {
 public:
  using Speaker::Speaker;

 protected:
  std::string next() override { return begin_; }
  const std::string begin_ =
      http2::preface() + http2::call(1, "/commensal.v1.ProviderStream/Attach");
};

/// Messages in two pieces, some thousand on each of 400 streams a second: as much as may be sent
/// before the other side says anything.
class SplitMessages final : public StreamFlood {
 public:
  using StreamFlood::StreamFlood;
  void act() override {
    StreamFlood::act();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

 protected:
  std::string next() override { return words_; }

 private:
  /// gRPC's prefix and Frame of stream.proto.
  static std::string piece(std::string_view head, std::size_t more) {
    const std::string content = "\x0a" + http2::text(head) + "\x18" + http2::number(1, more);
    return http2::number(5, content.size()) + content;
  }
  static std::string make_data() {
    const core::Bytes word = protocol::encode(rpc::Pause{"busy"});
    const std::string_view head = core::as_text(word);
    const std::string pair = piece(head.substr(0, 1), head.size() - 1) + piece(head.substr(1), 0);
    std::string data, said;
    for (std::size_t sent = 0; sent + pair.size() <= http2::kWindowBytes; sent += pair.size()) {
      said += pair;
      if (said.size() + pair.size() <= http2::kContentBytes) continue;
      data += http2::encode({http2::Kind::kData, 0, 1, std::exchange(said, "")});
    }
    return data + http2::encode({http2::Kind::kData, 0, 1, said});
  }
  const std::string words_ = begin_ + make_data();
};

/// Addresses that each come no more often than one may, and go again at once: what all newcomers
/// share is gone, and nobody is to blame. Counts whom the door closes.
class PatientAddresses final : public Attacker {
 public:
  explicit PatientAddresses(std::uint16_t port) : crowd_(port, effects_, kAddresses) {}
  void act() override {
    const double due = limits::kNewcomersPerSecond * kAddresses.addresses * passed_s();
    // After a rest no more come at once: of what was missed nothing is made up for.
    came_ = std::max(came_, due - kMost);
    for (; came_ < due; ++came_) {
      if (crowd_.join()) crowd_.begin(crowd_.size() - 1);  // else it is closed already
    }
    std::this_thread::sleep_for(kLook);
    crowd_.leave_unheard();
    crowd_.go();
  }

 private:
  static constexpr Origin kAddresses = {.net = 4, .addresses = 256, .receive_bytes = 0};
  static constexpr double kMost = 64;
  static constexpr auto kLook = std::chrono::milliseconds(10);

  double passed_s() const { return static_cast<double>(clock_.monotonic_ns() - begun_ns_) * 1e-9; }

  const core::SystemClock clock_{};
  const std::int64_t begun_ns_ = clock_.monotonic_ns();
  double came_ = 0;
  Crowd crowd_;
};

constexpr AttackRow kRows[] = {
    {"half-open", "1,500 connections of consumers that say nothing", at_http<Silent>},
    {"slowloris", "1,500 connections with heads that never end", at_http<Slow>},
    {"idle-bodies", "1,500 requests without a name whose bodies never come", at_http<IdleBodies>},
    {"header-bomb", "heads of a megabyte, and of 20,000 lines", at_http<HeaderBomb>},
    {"http-garbage", "noise, TLS, HTTP/2, lengths that overflow", at_http<Garbage>},
    {"stranger-flood", "public and refused requests, pipelined, with made up tokens",
     at_http<Flood>},
    {"half-open-providers", "1,500 connections at the port for providers", at_stream<Silent>},
    {"patient-addresses", "256 addresses at the port for providers, each as often as one may come",
     at_stream<PatientAddresses>},
    {"stream-flood", "streams of providers, opened by the thousand", at_stream<StreamFlood>},
    {"split-messages", "messages in two pieces of providers without a key",
     at_stream<SplitMessages>},
    {"stream-garbage", "noise at the port for providers", at_stream<Garbage>},
    {"grpc-half-open", "1,500 connections over gRPC that say nothing", at_grpc<Silent>,
     Site::kGrpc},
    {"grpc-garbage", "noise at the port for consumers who speak gRPC", at_grpc<Garbage>,
     Site::kGrpc},
    {"relay-half-open", "1,500 connections that say nothing, at the gateway that relays",
     at_http<Silent>, Site::kRelay},
    {"relay-newcomers", "public and refused requests, each on a new connection by way of the relay",
     at_http<Flood>, Site::kRelay},
    {"relay-patient-addresses", "256 addresses, each as often as one may come, at the relay",
     at_stream<PatientAddresses>, Site::kRelay},
};

}  // namespace

std::span<const AttackRow> http_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
