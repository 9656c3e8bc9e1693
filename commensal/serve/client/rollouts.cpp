// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/client/answers.hpp>
#include <commensal/serve/client/client.hpp>

namespace commensal::client {

namespace {

std::string target_of(const core::Digest& rollout) {
  return "/v1/rollouts/" + core::to_hex(rollout);
}

}  // namespace

core::Result<RolloutInfo> Client::start_rollout(const RolloutOrder& order) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/rollouts";
  request.content_type = "application/octet-stream";
  const std::string head = rollout_head(order);
  request.json_bytes = head.size();
  std::vector<core::ByteView> parts = {core::as_bytes(head)};
  std::vector<tensor::Tensor> elements;
  for (const tensor::NamedTensor& input : order.inputs) {
    elements.push_back(tensor::encoded(input.value));
    parts.push_back(elements.back().bytes());
  }
  request.parts = parts;
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return read_rollout(response.body);
}

core::Result<RolloutInfo> Client::rollout(const core::Digest& id, std::uint64_t after,
                                          std::int64_t wait_ms) {
  COMMENSAL_ASSIGN(const core::Bytes body,
                   get(fmt::format("{}?after={}&wait_ms={}", target_of(id), after, wait_ms)));
  return read_rollout(body);
}

core::Result<std::vector<RolloutInfo>> Client::rollouts(const std::string& key_prefix) {
  COMMENSAL_ASSIGN(const core::Bytes body, get("/v1/rollouts?key=" + escaped_path(key_prefix)));
  COMMENSAL_ASSIGN(std::vector<RolloutInfo> list, read_rollouts(body));
  // A gateway that knows no such query lists all.
  std::erase_if(list, [&](const RolloutInfo& one) { return !one.key.starts_with(key_prefix); });
  return list;
}

core::Result<void> Client::cancel_rollout(const core::Digest& id) { return remove(target_of(id)); }

core::Result<core::Bytes> Client::rollout_record(const core::Digest& id) {
  return get(target_of(id) + "/record");
}

core::Result<core::Bytes> Client::rollout_step(const core::Digest& id, std::uint64_t step) {
  return get(fmt::format("{}/steps/{}", target_of(id), step));
}

core::Result<core::Bytes> Client::take_audit(const crypto::Address& auditor) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/audits?auditor=" + crypto::to_text(auditor);
  COMMENSAL_ASSIGN(HttpResponse response, call(std::move(request)));
  return std::move(response.body);
}

core::Result<core::Bytes> Client::next_case(const crypto::Address& party,
                                            const std::optional<core::Digest>& subject) {
  const std::string text = crypto::to_text(party);
  if (!subject) return get("/v1/cases/next?accused=" + text);
  return get(fmt::format("/v1/cases/next?accuser={}&subject={}", text, core::to_hex(*subject)));
}

core::Result<void> Client::answer_audit(const protocol::AuditReport& report) {
  const std::string body = fmt::format(
      R"({{"root":"{}","auditor":"{}","signature":"{}"}})", core::to_hex(report.output_root),
      crypto::to_text(report.auditor), core::to_hex(report.signature.bytes));
  COMMENSAL_TRY(post("/v1/audits/" + core::to_hex(report.receipt_id), "application/json",
                     core::as_bytes(body)));
  return {};
}

}  // namespace commensal::client
