// SPDX-License-Identifier: Apache-2.0
// A large model goes in pieces, and on from where an earlier try has ended.
#include <commensal/base/core/base64.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/client/answers.hpp>
#include <commensal/serve/client/client.hpp>
#include <nlohmann/json.hpp>

namespace commensal::client {

namespace {

using Json = nlohmann::json;

const std::string kUploads = "/v1/uploads";

/// What the gateway shows of an upload that is this push's.
Json shown(const PushRequest& push, const core::Digest& content) {
  Json allowed = Json::array();
  for (const crypto::Address& one : push.allowed_providers) allowed.push_back(crypto::to_text(one));
  Json made = {{"model", push.model},
               {"sha256", core::to_hex(content)},
               {"bytes", push.bytes.size()},
               {"private", push.is_private},
               {"allowed_providers", std::move(allowed)},
               {"privacy_class", nullptr}};
  if (!push.privacy_class.empty()) made["privacy_class"] = push.privacy_class;
  return made;
}

bool has_all_of(const Json& upload, const Json& wanted) {
  if (!upload.is_object()) return false;
  for (const auto& [name, value] : wanted.items()) {
    if (!upload.contains(name) || upload[name] != value) return false;
  }
  return true;
}

std::string metadata_of(const PushRequest& push, const core::Digest& content) {
  std::string list = fmt::format("model {},sha256 {}", core::to_base64(push.model),
                                 core::to_base64(core::to_hex(content)));
  if (push.is_private) list += ",private " + core::to_base64("1");
  std::string allowed;
  for (const crypto::Address& one : push.allowed_providers) {
    allowed += (allowed.empty() ? "" : ",") + crypto::to_text(one);
  }
  if (!allowed.empty()) list += ",allow " + core::to_base64(allowed);
  if (!push.privacy_class.empty()) list += ",privacy_class " + core::to_base64(push.privacy_class);
  return list;
}

/// For who is told why it ended.
tl::unexpected<core::Error> goes_on(core::Error error, std::size_t received, std::size_t bytes) {
  error.message += fmt::format("; {} of {} bytes are there: the same push goes on with the others",
                               received, bytes);
  return tl::unexpected(std::move(error));
}

struct Begun {
  std::string id;
  std::size_t received = 0;
};

core::Result<Begun> read_begun(const Json& upload, std::size_t bytes) {
  const bool is_whole = upload.is_object() && upload.contains("upload") &&
                        upload["upload"].is_string() && upload.contains("received") &&
                        upload["received"].is_number_unsigned();
  Begun begun;
  if (is_whole) begun = {upload["upload"], upload["received"]};
  constexpr std::string_view kHex = "0123456789abcdef";
  if (!begun.id.empty() && begun.id.find_first_not_of(kHex) == std::string::npos &&
      begun.received <= bytes)
    return begun;
  return core::fail(core::ErrorCode::kDataLoss, "the gateway's answer about an upload is wrong");
}

}  // namespace

core::Result<HttpResponse> Client::call_about_upload(std::string_view method,
                                                     const std::string& target,
                                                     HttpRequest request) {
  request.method = method;
  request.target = target;
  request.headers.emplace_back("Tus-Resumable", "1.0.0");
  return call(std::move(request));
}

core::Result<ModelInfo> Client::push_in_pieces(const PushRequest& push) {
  const core::Digest content = crypto::sha256(push.bytes);
  const auto list = get(kUploads);
  const bool is_older = !list && list.error().code == core::ErrorCode::kNotFound;
  if (is_older) return push_whole(push);  // it knows no uploads
  COMMENSAL_TRY(list);
  const Json all = Json::parse(core::as_text(*list), nullptr, false);
  const Json wanted = shown(push, content);
  Json found;
  if (all.is_object() && all.contains("uploads")) {
    for (const Json& upload : all["uploads"]) {
      if (has_all_of(upload, wanted)) found = upload;
    }
  }
  if (found.is_null()) {
    HttpRequest request;
    request.headers = {{"Upload-Length", std::to_string(push.bytes.size())},
                       {"Upload-Metadata", metadata_of(push, content)}};
    COMMENSAL_ASSIGN(const HttpResponse made,
                     call_about_upload("POST", kUploads, std::move(request)));
    found = Json::parse(core::as_text(made.body), nullptr, false);
  }
  COMMENSAL_ASSIGN(Begun upload, read_begun(found, push.bytes.size()));
  const std::string target = kUploads + "/" + upload.id;
  while (upload.received < push.bytes.size()) {
    const std::size_t size =
        std::min<std::size_t>(limits::kUploadPieceBytesMax, push.bytes.size() - upload.received);
    const core::ByteView piece = push.bytes.subspan(upload.received, size);
    HttpRequest request;
    request.content_type = "application/offset+octet-stream";
    request.headers = {{"Upload-Offset", std::to_string(upload.received)}};
    request.parts = {&piece, 1};
    if (push.progress) {
      request.progress = [&](std::size_t done, std::size_t) {
        push.progress(upload.received + done, push.bytes.size());
      };
    }
    const auto sent = call_about_upload("PATCH", target, std::move(request));
    if (!sent) return goes_on(sent.error(), upload.received, push.bytes.size());
    upload.received += size;
  }
  COMMENSAL_ASSIGN(const HttpResponse pushed, call_about_upload("POST", target + "/push", {}));
  return read_model(pushed.body);
}

}  // namespace commensal::client
