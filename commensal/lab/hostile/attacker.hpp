// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/result.hpp>
#include <commensal/base/core/rng.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Peers that mean harm, against real daemons: each is a program of its own (`commensal-lab
/// hostile`), so that what it costs can be held to a share of a processor.
namespace commensal::lab::hostile {

/// Whom to attack, on loopback.
struct Target {
  std::uint16_t http_port = 0;
  std::uint16_t provider_port = 0;
  std::uint16_t grpc_port = 0;         // consumers', which speak no TLS there
  std::uint16_t writer_http_port = 0;  // of the gateway behind a relay, whose the others are
  std::uint16_t writer_provider_port = 0;
  std::string token;        // of an account "mallory"; it may push, ask and roll out
  std::string other_token;  // of an account "trudy", her friend
  std::string model;        // that honest consumers ask for; public
};

/// One of many. It keeps what it needs between its acts: open connections, a stream.
/// Thread-safety: one thread.
class Attacker {
 public:
  virtual ~Attacker() = default;
  /// What it cannot attack without; called once, first. What it sees is no effect yet. Errors: the
  /// target's.
  virtual core::Result<void> prepare() { return {}; }
  /// One small piece of the attack; blocks for a second at most.
  virtual void act() = 0;
  /// Has what it holds answer, where act() hears nothing; called once, last; as act().
  virtual void finish() {}
  /// What it has seen of the target's doing: answers, refusals, messages, connections that were
  /// closed on it, and requests that were kept waiting until it left.
  std::uint64_t effects() const { return effects_; }

 protected:
  std::atomic<std::uint64_t> effects_ = 0;
};

/// What daemons are attacked.
enum class Site : std::uint8_t {
  kPlain,
  kTls,    // that speak it on all ports; the others on none
  kGrpc,   // as plain, but who is honest asks over gRPC too
  kRelay,  // two gateways on one database; who is honest comes by way of the one that relays
};

struct AttackRow {
  std::string_view name;
  std::string_view does;  // one line
  std::unique_ptr<Attacker> (*make)(const Target& target, core::Rng& rng);
  Site site = Site::kPlain;
  bool is_null = false;  // none: what is seen beside it is what looks differ by
};

/// Attackers of one kind lie in one file.
std::span<const AttackRow> http_attacks();
std::span<const AttackRow> http2_attacks();
std::span<const AttackRow> account_attacks();
std::span<const AttackRow> model_attacks();
std::span<const AttackRow> stream_attacks();
std::span<const AttackRow> tls_attacks();
std::span<const AttackRow> grpc_attacks();
std::span<const AttackRow> relay_attacks();
/// Those, and one that is none.
std::vector<const AttackRow*> all_attacks();

/// Error: kNotFound, with the names.
core::Result<const AttackRow*> find_attack(std::string_view name);

struct Deeds {
  std::uint64_t acts = 0;
  std::uint64_t effects = 0;  // since it was prepared
  double cpu_share = 0;       // that it had, all its threads together, to the end
};
/// Runs an attack for so long, on at most this share of one processor, all its threads together.
/// Error: Attacker::prepare's.
core::Result<Deeds> run_attack(const AttackRow& attack, const Target& target, double seconds,
                               double cpu_share, std::uint64_t seed);
/// Does nothing useful, on that share.
Deeds burn(double seconds, double cpu_share);

}  // namespace commensal::lab::hostile
