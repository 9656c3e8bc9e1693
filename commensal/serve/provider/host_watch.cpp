// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/provider/host_watch.hpp>
#include <utility>

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

bool HostWatch::begin_to_show() {
  shown_.reset();
  return bool(host_now_);
}

void HostWatch::show() {
  std::optional<rpc::HostSeen> now = host_now_();
  if (now) now->unit = protocol::one_line(now->unit.substr(0, limits::kNameBytesMax));
  if (now == shown_) return;
  shown_ = std::move(now);
  gateway_.send(rpc::HostNow{shown_});
}

}  // namespace commensal::provider
