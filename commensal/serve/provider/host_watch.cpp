// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/provider/host_watch.hpp>

namespace commensal::provider {

/// The words may be a probe's, of a file's name say: what travels is one line.
std::string HostWatch::reason() const {
  return why_paused_ ? protocol::one_line(why_paused_()) : "";
}

const std::string& HostWatch::begin() {
  told_ = reason();
  return told_;
}

void HostWatch::look() {
  const std::string now = reason();
  if (now == told_) return;
  told_ = now;
  if (now.empty()) return gateway_.send(rpc::Resume{});
  gateway_.send(rpc::Pause{now});
}

}  // namespace commensal::provider
