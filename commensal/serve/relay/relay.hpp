// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/core/network.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace commensal::relay {

/// Where connections go.
struct Target {
  std::int64_t token = 0;              // of whom; 0: nobody
  std::vector<std::string> addresses;  // "HOST:PORT" for each port, in the ports' order; "": none
  std::string secret = {};  // that proves to it whose connections they are; "": it is not told
};

struct RelayOptions {
  std::int64_t wait_ms = limits::kRelayWaitMs;
  std::int64_t idle_ms = limits::kRelayIdleMs;
  std::size_t connections_max = limits::kRelayConnectionsMax;  // of one port
};

/// Accepts connections on several ports and passes each on, byte for byte, to the target's port of
/// the same place: nothing is read before there is one, nor faster than the other side takes it.
/// While there is no target, or it cannot be reached, a connection waits. It ends with either side,
/// with its target, and after a silence; who comes too often is turned away (rpc::Newcomers, by
/// network), and beyond the bound somebody makes room (core::who_leaves, parties are networks). The
/// target is told first whose connection it is (crypto::proxy_header).
/// Thread-safety: any thread, but start() and the destructor, the owner's.
class Relay {
 public:
  /// `listeners` without a socket are ports that there are not. `clock` outlives it. Error:
  /// kUnavailable (no files are left).
  static core::Result<std::unique_ptr<Relay>> start(const std::vector<core::Listener>& listeners,
                                                    const core::Clock& clock,
                                                    const RelayOptions& options = {});
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  /// Ends all connections.
  ~Relay();

  /// Who has another target ends, but who still waits, and who has yet to be told what the former
  /// one has said.
  void point_at(Target target);
  /// Accepts nobody any more; the sockets go on listening for whoever else has them.
  void leave_ports();
  /// Whether all connections have ended in time: `ms` for each port, in the ports' order. Until
  /// then they end by themselves, or where nothing can be under way: between two calls looks like
  /// within one. What is left of a port then ends where its target has had the last word, and
  /// limits::kRelayLastMs later anyhow.
  bool drain(const std::vector<std::int64_t>& ms);
  std::size_t connections() const;

 private:
  struct State;
  explicit Relay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::relay
