// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/gateway_state.hpp>

namespace commensal::gateway {

std::vector<MeasuredSpeed> Gateway::speeds(const ModelVersion& model) const {
  std::vector<MeasuredSpeed> all;
  const std::string series = series_of(model);
  for (const auto& [address, peer] : state_->roster.peers()) {
    if (const auto measured = peer.speeds.measured(series))
      all.push_back({address, measured->ms, measured->answers});
  }
  return all;
}

std::uint64_t Gateway::served(const std::string& model) const {
  const auto first = state_->hub.first_version(model);
  return first ? state_->served.of(model, *first) : 0;
}

void Gateway::State::count(const ReceiptRecord& record) {
  const auto first = hub.first_version(record.model);
  if (first) served.add(record.model, record.version, *first);
}

}  // namespace commensal::gateway
