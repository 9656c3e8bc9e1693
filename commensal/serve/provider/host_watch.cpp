// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/provider/host_watch.hpp>

namespace commensal::provider {

const std::string& HostWatch::begin() {
  told_ = why_paused_ ? why_paused_() : "";
  return told_;
}

void HostWatch::look() {
  const std::string now = why_paused_ ? why_paused_() : "";
  if (now == told_) return;
  told_ = now;
  if (now.empty()) return gateway_.send(rpc::Resume{});
  gateway_.send(rpc::Pause{now});
}

}  // namespace commensal::provider
