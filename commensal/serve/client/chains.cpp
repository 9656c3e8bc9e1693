// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/answers.hpp>
#include <commensal/serve/client/client.hpp>

namespace commensal::client {

namespace {

std::string target_of(const core::Digest& chain) { return "/v1/chains/" + core::to_hex(chain); }

}  // namespace

core::Result<ChainInfo> Client::start_chain(const ChainOrder& order) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/chains";
  request.content_type = "application/octet-stream";
  const std::string head = chain_head(order);
  request.json_bytes = head.size();
  std::vector<core::ByteView> parts = {core::as_bytes(head)};
  for (const tensor::NamedTensor& input : order.inputs) parts.push_back(input.value.bytes());
  request.parts = parts;
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return read_chain(response.body);
}

core::Result<ChainInfo> Client::chain(const core::Digest& id, std::uint64_t after,
                                      std::int64_t wait_ms) {
  COMMENSAL_ASSIGN(const core::Bytes body,
                   get(fmt::format("{}?after={}&wait_ms={}", target_of(id), after, wait_ms)));
  return read_chain(body);
}

core::Result<core::Bytes> Client::chain_record(const core::Digest& id) {
  return get(target_of(id) + "/record");
}

core::Result<core::Bytes> Client::chain_link(const core::Digest& id, std::uint64_t link) {
  return get(fmt::format("{}/links/{}", target_of(id), link));
}

core::Result<core::Bytes> Client::take_audit() {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/audits";
  COMMENSAL_ASSIGN(HttpResponse response, call(std::move(request)));
  return std::move(response.body);
}

core::Result<void> Client::answer_audit(const core::Digest& receipt, const core::Digest& root) {
  const std::string body = fmt::format(R"({{"root":"{}"}})", core::to_hex(root));
  COMMENSAL_TRY(post("/v1/audits/" + core::to_hex(receipt), "application/json",
                     core::as_bytes(body)));
  return {};
}

}  // namespace commensal::client
