// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/stream.hpp>
#include <functional>
#include <string>

namespace commensal::provider {

/// What the gateway must know of the host that this provider runs beside: that it pauses, and that
/// it goes on. Thread-safety: the loop's thread.
class HostWatch {
 public:
  /// `why_paused` says why the guest stands still, "" while it runs; empty: it always does.
  HostWatch(std::function<std::string()> why_paused, rpc::GatewayClient& gateway)
      : why_paused_(std::move(why_paused)), gateway_(gateway) {}

  /// A stream begins; what it is told at first, for Hello.
  const std::string& begin();
  /// Looks again, and says what has changed. To be called several times a second.
  void look();
  /// What the gateway was told last.
  const std::string& paused() const { return told_; }

 private:
  std::string reason() const;

  std::function<std::string()> why_paused_;
  rpc::GatewayClient& gateway_;
  std::string told_;
};

}  // namespace commensal::provider
