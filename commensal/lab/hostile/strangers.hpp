// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/lab/hostile/crowd.hpp>
#include <deque>
#include <type_traits>

/// What strangers at a port have in common. Thread-safety: as Attacker's.
namespace commensal::lab::hostile {

inline constexpr std::size_t kManyConnections = 1'500;  // more than a gateway keeps
inline constexpr std::size_t kAtOnce = 20;
// More than may come at full rate together (limits::kNewcomersAllPerSecond).
inline constexpr Origin kManyAddresses = {.net = 2, .addresses = 32, .receive_bytes = 0};

/// Keeps as many connections open as it can.
class Silent : public Attacker {
 public:
  explicit Silent(std::uint16_t port) : crowd_(port, effects_, kManyAddresses) {}
  void act() override {
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() < kManyConnections; ++i) {
      if (crowd_.join()) first_word(crowd_.size() - 1);
    }
    next_word();
    if (++acts_ % 16 == 0) crowd_.leave_closed();
  }
  /// Who was heeded all the time is answered now.
  void finish() override {
    for (std::size_t i = 0; i < crowd_.size(); ++i) crowd_.say(i, last_word());
    crowd_.listen();
  }

 protected:
  virtual void first_word(std::size_t member) { crowd_.begin(member); }  // none, and stays
  virtual void next_word() {}
  virtual std::string_view last_word() const {
    return "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  Crowd crowd_;

 private:
  int acts_ = 0;
};

/// One connection for each of these, as fast as they are taken.
class Speaker : public Attacker {
 public:
  explicit Speaker(std::uint16_t port) : port_(port) {}
  void act() override {
    if (crowds_.size() == kCrowds) {
      crowds_.front().leave_closed();
      crowds_.pop_front();
    }
    Crowd& crowd = crowds_.emplace_back(port_, effects_, kManyAddresses);
    for (std::size_t i = 0; i < kAtOnce && crowd.join(); ++i) crowd.say(i, next());
  }
  void finish() override {
    if (!crowds_.empty()) crowds_.back().listen();
  }

 protected:
  virtual std::string next() = 0;

 private:
  static constexpr std::size_t kCrowds = 16;
  std::uint16_t port_;
  std::deque<Crowd> crowds_;  // of the last acts: who is answered at all is by then
};

template <class Kind>
std::unique_ptr<Attacker> at_port(std::uint16_t port, core::Rng& rng) {
  if constexpr (std::is_constructible_v<Kind, std::uint16_t, core::Rng&>) {
    return std::make_unique<Kind>(port, rng);
  } else {
    return std::make_unique<Kind>(port);
  }
}
/// That for consumers.
template <class Kind>
std::unique_ptr<Attacker> at_http(const Target& target, core::Rng& rng) {
  return at_port<Kind>(target.http_port, rng);
}
/// That for consumers who speak gRPC.
template <class Kind>
std::unique_ptr<Attacker> at_grpc(const Target& target, core::Rng& rng) {
  return at_port<Kind>(target.grpc_port, rng);
}
/// That for providers.
template <class Kind>
std::unique_ptr<Attacker> at_stream(const Target& target, core::Rng& rng) {
  return at_port<Kind>(target.provider_port, rng);
}

}  // namespace commensal::lab::hostile
