// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/client/answers.hpp>
#include <commensal/serve/client/client.hpp>
#include <iterator>
#include <nlohmann/json.hpp>

namespace commensal::client {

namespace {

using core::ErrorCode;

std::string joined_addresses(const std::vector<crypto::Address>& addresses) {
  std::string list;
  for (const crypto::Address& address : addresses) {
    list += (list.empty() ? "" : ",") + crypto::to_text(address);
  }
  return list;
}

std::string receipt_target(const core::Digest& id) { return "/v1/receipts/" + core::to_hex(id); }

std::string config_body(const std::string& config,
                        const std::map<std::string, std::string>& files) {
  const nlohmann::json body = {{"config", config}, {"files", files}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string path_of(std::uint32_t version) {
  return version == 0 ? "" : fmt::format("/versions/{}", version);
}

}  // namespace

std::string escaped_path(std::string_view text) {
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

core::Result<Client> Client::create(const ClientOptions& options) {
  COMMENSAL_ASSIGN(Url url, Url::parse(options.url));
  const auto is_plain = [](char c) { return c > ' ' && c < 127; };
  if (!std::all_of(options.token.begin(), options.token.end(), is_plain))
    return core::fail(ErrorCode::kInvalidArgument,
                      "a token is one word: no spaces, no line breaks within{}",
                      options.token_source.empty() ? "" : " (from " + options.token_source + ")");
  Client made(Transport(std::move(url), options.wait_ms, options.trust, options.from),
              options.token);
  made.token_source_ = options.token_source;
  return made;
}

core::Result<HttpResponse> Client::call(HttpRequest request) {
  request.token = token_;
  COMMENSAL_ASSIGN(HttpResponse response, transport_.send(request));
  if (response.status >= 200 && response.status <= 299) return response;
  core::Error error = error_of(response);
  // The gateway tells those who write HTTP by hand which header to send.
  if (token_.empty() && error.message.find("Authorization: Bearer") != std::string::npos) {
    const bool is_operators = error.message.find("operator") != std::string::npos;
    error.message = fmt::format(
        "a token is needed{}, and there is none: --token-file FILE, $COMMENSAL_TOKEN or "
        "~/.config/commensal/token",
        is_operators ? ", an operator's (operator.token in the gateway's folder)" : "");
  }
  if (error.code == ErrorCode::kUnauthenticated && !token_source_.empty()) {
    error.message += fmt::format(" (from {})", token_source_);
  }
  return tl::unexpected(std::move(error));
}

core::Result<void> Client::remove(const std::string& target) {
  HttpRequest request;
  request.method = "DELETE";
  request.target = target;
  COMMENSAL_TRY(call(std::move(request)));
  return {};
}

core::Result<core::Bytes> Client::get(const std::string& target, const Progress& received) {
  HttpRequest request;
  request.method = "GET";
  request.target = target;
  request.received = received;
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
  const bool is_large = std::cmp_greater(push.bytes.size(), limits::kUploadPieceBytesMax);
  return is_large ? push_in_pieces(push) : push_whole(push);
}

core::Result<ModelInfo> Client::push_whole(const PushRequest& push) {
  HttpRequest request;
  request.method = "PUT";
  request.target = "/v1/models/" + escaped_path(push.model);
  char before = '?';
  const auto add = [&](const std::string& parameter) {
    request.target += std::exchange(before, '&') + parameter;
  };
  if (push.is_private) add("private=1");
  const std::string allowed = joined_addresses(push.allowed_providers);
  if (!allowed.empty()) add("allow=" + allowed);
  if (!push.privacy_class.empty()) add("privacy_class=" + escaped_path(push.privacy_class));
  request.content_type = "application/octet-stream";
  request.parts = {&push.bytes, 1};
  request.progress = push.progress;
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return read_model(response.body);
}

core::Result<std::vector<ModelInfo>> Client::models() {
  COMMENSAL_ASSIGN(const core::Bytes all, model_list());
  return read_models(all);
}

core::Result<core::Bytes> Client::model_list() {
  std::vector<core::Bytes> pages;
  std::string last;
  for (int i = 0; i < limits::kModelPagesMax; ++i) {
    COMMENSAL_ASSIGN(core::Bytes page,
                     get("/v1/models" + (last.empty() ? "" : "?after=" + escaped_path(last))));
    COMMENSAL_ASSIGN(const std::vector<ModelInfo> more, read_models(page));
    if (more.empty()) return join_models(pages);
    for (const ModelInfo& model : more) {
      if (model.name > last) last = model.name;
    }
    if (more.back().name != last) break;
    pages.push_back(std::move(page));
  }
  return core::fail(ErrorCode::kDataLoss, "the gateway's list of models does not end");
}

core::Result<ModelInfo> Client::model(const std::string& name, std::uint32_t version) {
  COMMENSAL_ASSIGN(const core::Bytes body,
                   get("/v1/models/" + escaped_path(name) + path_of(version)));
  return read_model(body);
}

core::Result<void> Client::remove_model(const std::string& name) {
  return remove("/v1/models/" + escaped_path(name));
}

core::Result<ModelInfo> Client::allow(const std::string& name,
                                      const std::vector<crypto::Address>& providers) {
  const std::string target = "/v1/models/" + escaped_path(name) + "/providers?allow=";
  COMMENSAL_ASSIGN(const std::string made,
                   post(target + joined_addresses(providers), "application/json", {}));
  return read_model(core::as_bytes(made));
}

core::Result<std::string> Client::configure(const std::string& name, std::uint32_t version,
                                            const std::string& config,
                                            const std::map<std::string, std::string>& files) {
  const std::string target = "/v1/models/" + escaped_path(name) + path_of(version) + "/config";
  const std::string body = config_body(config, files);
  return send("PUT", target, "application/json", core::as_bytes(body));
}

core::Result<void> Client::set_alias(const std::string& alias, const std::string& name) {
  const std::string body = nlohmann::json({{"model", name}}).dump();
  COMMENSAL_TRY(
      send("PUT", "/v1/aliases/" + escaped_path(alias), "application/json", core::as_bytes(body)));
  return {};
}

core::Result<core::Bytes> Client::model_content(const std::string& name, std::uint32_t version,
                                                const Progress& received) {
  COMMENSAL_ASSIGN(const ModelInfo info, model(name, version));
  COMMENSAL_ASSIGN(
      core::Bytes bytes,
      get("/v1/models/" + escaped_path(name) + path_of(info.version) + "/content", received));
  if (crypto::sha256(bytes) != info.content)
    return core::fail(ErrorCode::kDataLoss, "the file of '{}' has another SHA-256 than {}", name,
                      core::to_hex(info.content));
  return bytes;
}

core::Result<Answer> Client::infer(const std::string& model, std::uint32_t version,
                                   const tensor::NamedTensors& inputs,
                                   const core::Digest& draw_commitment,
                                   const std::string& privacy_class) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v2/models/" + escaped_path(model) + path_of(version) + "/infer";
  request.content_type = "application/octet-stream";
  const std::string head = infer_head(inputs, draw_commitment, privacy_class);
  request.json_bytes = head.size();
  std::vector<core::ByteView> parts = {core::as_bytes(head)};
  std::vector<tensor::Tensor> elements;
  for (const tensor::NamedTensor& input : inputs) {
    elements.push_back(tensor::encoded(input.value));
    parts.push_back(elements.back().bytes());
  }
  request.parts = parts;
  COMMENSAL_ASSIGN(const HttpResponse response, call(std::move(request)));
  return read_answer(response, privacy_class);
}

core::Result<std::string> Client::post(const std::string& target, const std::string& content_type,
                                       core::ByteView body) {
  return send("POST", target, content_type, body);
}

core::Result<std::string> Client::send(std::string_view method, const std::string& target,
                                       const std::string& content_type, core::ByteView body) {
  HttpRequest request;
  request.method = method;
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

core::Result<AccountInfo> Client::renew_token(const std::string& name) {
  const std::string target =
      name.empty() ? "/v1/account/token" : "/v1/accounts/" + escaped_path(name) + "/token";
  COMMENSAL_ASSIGN(const std::string made, post(target, "application/json", {}));
  COMMENSAL_ASSIGN(AccountInfo account, read_account(core::as_bytes(made)));
  if (name.empty()) token_ = account.token;
  return account;
}

core::Result<void> Client::remove_account(const std::string& name) {
  return remove("/v1/accounts/" + escaped_path(name));
}

core::Result<std::vector<AccountInfo>> Client::accounts() {
  std::vector<AccountInfo> all;
  for (int i = 0; i < limits::kAccountPagesMax; ++i) {
    const std::string after = all.empty() ? "" : "&after=" + escaped_path(all.back().name);
    COMMENSAL_ASSIGN(const core::Bytes body, get(fmt::format("/v1/accounts?count={}{}",
                                                             limits::kAccountsListedMax, after)));
    COMMENSAL_ASSIGN(std::vector<AccountInfo> page, read_accounts(body));
    if (page.empty()) return all;
    if (!all.empty() && page.front().name <= all.back().name) break;
    std::ranges::move(page, std::back_inserter(all));
  }
  return core::fail(ErrorCode::kDataLoss, "the gateway's list of accounts does not end");
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
  return read_receipt(body, id);
}

core::Result<core::Bytes> Client::opening(const core::Digest& id) {
  return get(receipt_target(id) + "/opening");
}

}  // namespace commensal::client
