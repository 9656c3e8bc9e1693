// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/relay/relay.hpp>
#include <memory>
#include <string>

namespace commensal::daemon {

/// The ports of a gateway that shares its state with others: open from its start to its end. While
/// another writes they pass connections on to it; then they are this gateway's own.
/// Thread-safety: any thread, but open() and the destructor, the owner's.
class Standby {
 public:
  /// Opens the ports that `config` names. `host`: by which other gateways reach them; "": the
  /// address that each listens on, or this machine's name where that is any. Errors: kUnavailable
  /// (an address is taken), kInvalidArgument.
  static core::Result<std::unique_ptr<Standby>> open(const GatewayDaemonConfig& config,
                                                     const std::string& host);

  /// What other gateways are told of where this one listens.
  const std::string& addresses() const { return addresses_; }
  /// For the daemon, once it is this gateway that writes; then it believes those that know the
  /// store's secret whose connections they pass on, and for a while those that know the former.
  core::Result<std::shared_ptr<const GatewayListeners>> listeners(
      const store::PostgresStore& store) const;
  /// Begins to pass connections on, if it has not. Error: kUnavailable.
  core::Result<void> pass_on();
  /// Nothing is passed on from a port that other machines reach to one that they are not to.
  void point_at(const store::Writer& writer);
  /// The ports are the daemon's, which has taken the listeners: who still waits goes there.
  void take_over(const std::string& secret);
  /// Accepts nobody any more. Whether all that is passed on has ended; of a provider within
  /// limits::kDrainStreamsMs, of anybody within `ms`.
  bool drain(std::int64_t ms);

 private:
  Standby() = default;

  const core::SystemClock clock_{};
  std::vector<std::string> hosts_;  // of http, gRPC, providers, as they listen
  std::string addresses_;
  GatewayListeners listeners_;
  std::unique_ptr<relay::Relay> relay_;  // null: nobody had to wait
};

}  // namespace commensal::daemon
