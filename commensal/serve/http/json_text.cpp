// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/json_parts.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <optional>

namespace commensal::http {

namespace {

using gateway::ModelVersion;
using gateway::ReceiptRecord;
using Json = nlohmann::ordered_json;

Json addresses(const std::vector<crypto::Address>& addresses) {
  Json list = Json::array();
  for (const crypto::Address& address : addresses) list.push_back(crypto::to_text(address));
  return list;
}

Json model(const ModelVersion& version) {
  return {{"name", version.name},
          {"owner", version.owner},
          {"version", version.version},
          {"private", version.is_private},
          {"allowed_providers", addresses(version.allowed_providers)},
          {"sha256", core::to_hex(version.content)},
          {"graph_root", core::to_hex(version.graph_root)},
          {"weight_root", core::to_hex(version.weight_root)},
          {"bytes", version.bytes},
          {"created_ms", version.created_ms},
          {"inputs", ports_json(version.inputs)},
          {"outputs", ports_json(version.outputs)}};
}

Json job(const protocol::Job& job) {
  Json beacons = Json::array();
  for (const core::Digest& beacon : job.beacons) beacons.push_back(core::to_hex(beacon));
  Json feeds = Json::array();
  for (const protocol::Feed& feed : job.feeds) {
    feeds.push_back({{"output", feed.output}, {"input", feed.input}});
  }
  return {{"id", core::to_hex(protocol::job_id(job))},
          {"graph_root", core::to_hex(job.graph_root)},
          {"weight_root", core::to_hex(job.weight_root)},
          {"numerics_version", job.numerics_version},
          {"input_commitment", core::to_hex(job.input_commitment)},
          {"kind", name_of(job.kind)},
          {"steps", job.steps},
          {"client", crypto::to_text(job.client)},
          {"provider", crypto::to_text(job.provider)},
          {"face_value", protocol::to_text(job.face_value)},
          {"win_threshold", core::to_hex(job.win_threshold)},
          {"beacons", beacons},
          {"noise", name_of(job.noise)},
          {"noise_exponent", job.noise_exponent},
          {"noise_anchor", core::to_hex(job.noise_anchor)},
          {"states", name_of(job.states)},
          {"feeds", feeds},
          {"auditors", name_of(job.auditors)},
          {"auditor_list", addresses(job.auditor_list)},
          {"valid_until_ms", job.valid_until_ms}};
}

Json signature(const protocol::BatchSignature& batch) {
  return {{"signature", core::to_hex(batch.signature.bytes)},
          {"index", batch.index},
          {"count", batch.count}};
}

Json verdict(const std::optional<protocol::Verdict>& verdict) {
  if (!verdict) return nullptr;
  return {{"outcome", name_of(verdict->outcome)},
          {"auditor", crypto::to_text(verdict->auditor)},
          {"expected_commitment", core::to_hex(verdict->expected_commitment)},
          {"recomputed_commitment", core::to_hex(verdict->recomputed_commitment)},
          {"reason", verdict->reason},
          {"signature", core::to_hex(verdict->signature.bytes)}};
}

Json receipt(const ReceiptRecord& record) {
  return {{"id", core::to_hex(record.id())},
          {"number", record.number},
          {"account", record.account},
          {"model", record.model},
          {"version", record.version},
          {"model_sha256", core::to_hex(record.model_content)},
          {"delivered_ms", record.delivered_ms},
          {"job", job(record.receipt.job)},
          {"step", record.receipt.step},
          {"commitment", core::to_hex(record.receipt.commitment)},
          {"provider_signature", signature(record.receipt.provider)},
          {"client_signature", signature(record.receipt.client)},
          {"audit", name_of(record.audit)},
          {"privacy_class", record.privacy_class ? Json(*record.privacy_class) : Json(nullptr)},
          {"verdict", verdict(record.verdict)},
          {"replaced_by",
           record.replaced_by ? Json(core::to_hex(*record.replaced_by)) : Json(nullptr)}};
}

Json account(const gateway::Account& account) {
  return {{"name", account.name}, {"role", gateway::name_of(account.role)}};
}

/// {"<name>": [...]} of what `make` makes of the items.
template <class T, class Make>
std::string list_of(std::string_view name, const std::vector<T>& items, Make make) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(make(item));
  return text_of({{name, list}});
}

/// Of private data that a provider may see.
Json classes_of(const gateway::PrivacyClasses& classes) {
  Json list = Json::array();
  for (const auto& [name, until_ms] : classes)
    list.push_back({{"class", name}, {"until_ms", until_ms}});
  return list;
}

/// Nothing where it is 0, and so not known.
Json known(double figure) { return figure > 0 ? Json(figure) : Json(nullptr); }

Json host_of(const std::optional<rpc::HostSeen>& host) {
  if (!host) return nullptr;
  return {{"unit", host->unit},
          {"rate", known(host->rate)},
          {"reference", known(host->reference)},
          {"income_per_hour", host->income_per_hour ? Json(*host->income_per_hour) : Json()}};
}

}  // namespace

std::string model_json(const ModelVersion& version) { return text_of(model(version)); }

std::string models_json(const std::vector<gateway::ModelPtr>& models) {
  std::string text = "{\"models\":[";
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string one = model_json(*models[i]);
    if (i > 0 && text.size() + one.size() > limits::kHttpListBytesMax) break;
    text += (i > 0 ? "," : "") + one;
  }
  return text + "]}";
}

std::string account_json(const gateway::Account& who, std::string_view token,
                         const protocol::Amount& test_credit, const protocol::Amount& price) {
  Json json = account(who);
  if (!token.empty()) json["token"] = token;
  if (test_credit != protocol::Amount()) json["test_credit"] = to_text(test_credit);
  if (price != protocol::Amount()) json["price"] = to_text(price);
  return text_of(json);
}

std::string accounts_json(const std::vector<gateway::Account>& accounts) {
  return list_of("accounts", accounts, account);
}

std::string providers_json(const std::vector<gateway::ProviderInfo>& providers) {
  return list_of("providers", providers, [](const gateway::ProviderInfo& provider) -> Json {
    return {{"address", crypto::to_text(provider.address)},
            {"name", provider.name},
            {"state", provider.state},
            {"connected", provider.connected},
            {"banned", provider.banned},
            {"paused", provider.paused},
            {"queued", provider.queued},
            {"served", provider.served},
            {"stake", protocol::to_text(provider.stake)},
            {"cached_models", provider.cached_models},
            {"audit_probability", provider.audit_probability},
            {"privacy_classes", classes_of(provider.privacy)},
            {"host", host_of(provider.host)}};
  });
}

std::string holders_json(const gateway::Gateway& gateway, const std::string& owner,
                         const gateway::Holders::Key& after) {
  using Key = gateway::Holders::Key;
  std::string text = "{\"holders\":[", next = "null";
  std::optional<Key> last;
  gateway.holders().visit(owner, after, [&](const Key& key, const gateway::Holder& holder) {
    const std::string one = text_of({{"model", holder.model},
                                     {"version", holder.version},
                                     {"private", holder.is_private},
                                     {"content", core::to_hex(key.content)},
                                     {"provider", crypto::to_text(key.provider)},
                                     {"connected", gateway.is_connected(key.provider)},
                                     {"since_ms", holder.since_ms},
                                     {"used_ms", holder.used_ms},
                                     {"asked_ms", holder.asked_ms},
                                     {"until_ms", holder.until_ms}});
    if (last && text.size() + one.size() > limits::kHttpListBytesMax) {
      next = fmt::format("\"{}/{}\"", crypto::to_text(last->provider), core::to_hex(last->content));
      return false;
    }
    text += (last ? "," : "") + one;
    last = key;
    return true;
  });
  return text + "],\"next\":" + next + "}";
}

std::string facts_json(const gateway::ProviderRisk& risk) {
  const gateway::RiskFacts& facts = risk.facts;
  Json events = Json::array();
  for (const risk::Event& event : facts.events)
    events.push_back(core::to_hex(protocol::encode(event)));
  return text_of({{"provider", crypto::to_text(facts.provider)},
                  {"pay", facts.pay},
                  {"audits",
                   {{"by_risk", risk.by_risk},
                    {"floor", risk.terms.floor},
                    {"loss", risk.terms.loss},
                    {"redo_cost", risk.terms.redo_cost},
                    {"audit_cost", risk.terms.audit_cost},
                    {"probability", risk.audit_probability}}},
                  {"events", std::move(events)}});
}

std::string receipt_json(const ReceiptRecord& record) {
  Json json = receipt(record);
  json["receipt"] = core::to_hex(protocol::encode(record.receipt));
  return text_of(json);
}

std::string listed_receipt_json(const ReceiptRecord& record) { return text_of(receipt(record)); }

}  // namespace commensal::http
