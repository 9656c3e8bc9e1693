// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/training/http_gateway.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace commensal::training {

using core::Digest;
using core::Result;

Result<client::ModelInfo> HttpGateway::model(const std::string& name) {
  return client_.model(name);
}

Result<client::ModelInfo> HttpGateway::push(const client::PushRequest& request) {
  client::PushRequest told = request;
  if (pushing_) told.progress = pushing_();
  return client_.push(told);
}

Result<client::ModelInfo> HttpGateway::allow(const std::string& name,
                                             const std::vector<crypto::Address>& providers) {
  return client_.allow(name, providers);
}

Result<client::RolloutInfo> HttpGateway::start_rollout(const client::RolloutOrder& order) {
  return client_.start_rollout(order);
}

Result<client::RolloutInfo> HttpGateway::rollout(const Digest& id, std::uint64_t after,
                                                 std::int64_t wait_ms) {
  return client_.rollout(id, after, wait_ms);
}

Result<std::vector<client::RolloutInfo>> HttpGateway::rollouts(const std::string& key_prefix) {
  return client_.rollouts(key_prefix);
}

Result<void> HttpGateway::cancel_rollout(const Digest& id) { return client_.cancel_rollout(id); }

Result<core::Bytes> HttpGateway::rollout_record(const Digest& id) {
  return client_.rollout_record(id);
}

Result<core::Bytes> HttpGateway::rollout_step(const Digest& id, std::uint64_t step) {
  return client_.rollout_step(id, step);
}

double HttpGateway::price() {
  using Json = nlohmann::json;
  const auto text = client_.get_json("/v1/ledger");
  const Json ledger = text ? Json::parse(*text, nullptr, false) : Json();
  const Json::json_pointer place("/terms/price");
  if (!ledger.is_object() || !ledger.contains(place)) return 0;
  const Json& price = ledger.at(place);
  if (price.is_string()) return std::strtod(price.get<std::string>().c_str(), nullptr);
  return price.is_number() ? price.get<double>() : 0;
}

}  // namespace commensal::training
