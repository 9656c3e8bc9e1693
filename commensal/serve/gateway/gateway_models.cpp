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

const Holders& Gateway::holders() const { return state_->holders; }

bool Gateway::is_connected(const crypto::Address& provider) const {
  return state_->roster.connected(provider) != nullptr;
}

std::uint64_t Gateway::served(const std::string& model) const {
  const auto first = state_->hub.first_version(model);
  return first ? state_->served.of(model, *first) : 0;
}

/// What its provider may fetch is on disk before it is said.
bool Gateway::State::on_grant(const crypto::Address& provider, const core::Digest& content) {
  const auto noted = holders.note({provider, content});
  events.report(noted);
  recalls.watch();
  return noted.has_value();
}

void Gateway::State::handle(StreamId stream, const rpc::Released& message) {
  if (const Roster::Peer* peer = roster.at(stream)) recalls.on_released(peer->address, message);
}

void Gateway::State::count(const ReceiptRecord& record) {
  const auto first = hub.first_version(record.model);
  if (first) served.add(record.model, record.version, *first);
}

}  // namespace commensal::gateway
