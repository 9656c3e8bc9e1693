// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/stream.hpp>
#include <functional>
#include <optional>
#include <string>

namespace commensal::provider {

/// What the gateway must know of the host that this provider runs beside: that it pauses, and that
/// it goes on; and what it may know of it. Thread-safety: the loop's thread.
class HostWatch {
 public:
  /// `why_paused` says why the guest stands still, "" while it runs; empty: it always does.
  /// `host_now`: as ProviderDependencies's.
  HostWatch(std::function<std::string()> why_paused,
            std::function<std::optional<rpc::HostSeen>()> host_now, rpc::GatewayClient& gateway)
      : why_paused_(std::move(why_paused)), host_now_(std::move(host_now)), gateway_(gateway) {}

  /// A stream begins; what it is told at first, for Hello.
  const std::string& begin();
  /// Whether there is something to show(), which the gateway of this stream has not been shown yet.
  bool begin_to_show();
  /// Shows the gateway what has changed. To be called every limits::kHostWordMs.
  void show();
  /// Looks again, and says what has changed. To be called several times a second.
  void look();
  /// What the gateway was told last.
  const std::string& paused() const { return told_; }

 private:
  std::string reason() const;

  std::function<std::string()> why_paused_;
  std::function<std::optional<rpc::HostSeen>()> host_now_;
  rpc::GatewayClient& gateway_;
  std::string told_;
  std::optional<rpc::HostSeen> shown_;
};

}  // namespace commensal::provider
