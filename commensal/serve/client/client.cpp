// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/client/answers.hpp>
#include <commensal/serve/client/client.hpp>

namespace commensal::client {

namespace {

using core::ErrorCode;

/// One path segment, or two with their slash: all but RFC 3986's unreserved characters escaped.
std::string escape(std::string_view text) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string receipt_target(const core::Digest& id) { return "/v1/receipts/" + core::to_hex(id); }

std::string path_of(std::uint32_t version) {
  return version == 0 ? "" : fmt::format("/versions/{}", version);
}

}  // namespace

core::Result<Client> Client::create(const ClientOptions& options) {
  COMMENSAL_ASSIGN(Url url, Url::parse(options.url));
  const auto is_plain = [](char c) { return c > ' ' && c < 127; };
  if (!std::all_of(options.token.begin(), options.token.end(), is_plain))
    return core::fail(ErrorCode::kInvalidArgument, "a token is one word");
  return Client(Transport(std::move(url), options.wait_ms), options.token);
}

core::Result<HttpResponse> Client::call(HttpRequest request) {
  request.token = token_;
  COMMENSAL_ASSIGN(HttpResponse response, transport_.send(request));
  if (response.status < 200 || response.status > 299) return tl::unexpected(error_of(response));
  return response;
}

core::Result<core::Bytes> Client::get(const std::string& target) {
  HttpRequest request;
  request.method = "GET";
  request.target = target;
  COMMENSAL_ASSIGN(HttpResponse response, call(std::move(request)));
  return std::move(response.body);
}

core::Result<std::string> Client::get_json(const std::string& target) {
  COMMENSAL_ASSIGN(const core::Bytes body, get(target));
  return std::string(core::as_text(body));
}

core::Result<void> Client::live() {
  COMMENSAL_TRY(get("/v2/health/live"));
  return {};
}

core::Result<void> Client::ready() {
  COMMENSAL_TRY(get("/v2/health/ready"));
  return {};
}

core::Result<ModelInfo> Client::push(const PushRequest& push) {
  HttpRequest request;
  request.method = "PUT";
  request.target = "/v1/models/" + escape(push.model);
  if (push.is_private) request.target += "?private=1";
  for (std::size_t i = 0; i < push.allowed_providers.size(); ++i) {
    const char* separator = i > 0 ? "," : (push.is_private ? "&allow=" : "?allow=");
    request.target += separator + crypto::to_text(push.allowed_providers[i]);
  }
  request.content_type = "application/octet-stream";
  request.parts = {&push.bytes, 1};
  request.progress = push.progress;
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return read_model(response.body);
}

core::Result<std::vector<ModelInfo>> Client::models() {
  COMMENSAL_ASSIGN(const core::Bytes body, get("/v1/models"));
  return read_models(body);
}

core::Result<ModelInfo> Client::model(const std::string& name, std::uint32_t version) {
  COMMENSAL_ASSIGN(const core::Bytes body, get("/v1/models/" + escape(name) + path_of(version)));
  return read_model(body);
}

core::Result<core::Bytes> Client::model_content(const std::string& name, std::uint32_t version) {
  COMMENSAL_ASSIGN(const ModelInfo info, model(name, version));
  COMMENSAL_ASSIGN(core::Bytes bytes,
                   get("/v1/models/" + escape(name) + path_of(info.version) + "/content"));
  if (crypto::sha256(bytes) != info.content)
    return core::fail(ErrorCode::kDataLoss, "the file of '{}' has another SHA-256 than {}", name,
                      core::to_hex(info.content));
  return bytes;
}

core::Result<Answer> Client::infer(const std::string& model, std::uint32_t version,
                                   const tensor::NamedTensors& inputs) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v2/models/" + escape(model) + path_of(version) + "/infer";
  request.content_type = "application/octet-stream";
  const std::string head = infer_head(inputs);
  request.json_bytes = head.size();
  std::vector<core::ByteView> parts = {core::as_bytes(head)};
  for (const tensor::NamedTensor& input : inputs) parts.push_back(input.value.bytes());
  request.parts = parts;
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return read_answer(response);
}

core::Result<std::string> Client::post(const std::string& target, const std::string& content_type,
                                       core::ByteView body) {
  HttpRequest request;
  request.method = "POST";
  request.target = target;
  request.content_type = content_type;
  request.parts = {&body, 1};
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return std::string(core::as_text(response.body));
}

core::Result<AccountInfo> Client::create_account(const std::string& name, const std::string& role) {
  const std::string body = new_account(name, role);
  COMMENSAL_ASSIGN(const std::string made,
                   post("/v1/accounts", "application/json", core::as_bytes(body)));
  return read_account(core::as_bytes(made));
}

core::Result<std::vector<AccountInfo>> Client::accounts() {
  COMMENSAL_ASSIGN(const core::Bytes body, get("/v1/accounts"));
  return read_accounts(body);
}

core::Result<AccountInfo> Client::who_am_i() {
  COMMENSAL_ASSIGN(const core::Bytes body, get("/v1/account"));
  return read_account(body);
}

core::Result<std::vector<ReceiptInfo>> Client::receipts(std::size_t count) {
  COMMENSAL_ASSIGN(const core::Bytes body, get(fmt::format("/v1/receipts?count={}", count)));
  return read_receipts(body);
}

core::Result<ReceiptInfo> Client::receipt(const core::Digest& id) {
  COMMENSAL_ASSIGN(const core::Bytes body, get(receipt_target(id)));
  return read_receipt(body);
}

core::Result<core::Bytes> Client::opening(const core::Digest& id) {
  return get(receipt_target(id) + "/opening");
}

}  // namespace commensal::client
