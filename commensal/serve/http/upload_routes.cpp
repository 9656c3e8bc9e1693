// SPDX-License-Identifier: Apache-2.0
// Models' files in pieces, as tus 1.0 has it (tus.io): core, creation, expiration, termination.
#include <algorithm>
#include <charconv>
#include <commensal/base/core/base64.hpp>
#include <commensal/base/core/disk_full.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <commensal/serve/http/push.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using gateway::Upload;

constexpr std::string_view kTusVersion = "1.0.0";
constexpr int kNoContent = 204, kMade = 201, kOtherVersion = 412, kTooLarge = 413, kOtherType = 415;

Response with_version(Response response) {
  response.headers.emplace_back("Tus-Resumable", kTusVersion);
  return response;
}

std::string field_of(const Call& call, std::string_view name) {
  const auto found = call.fields.find(name);
  return found == call.fields.end() ? "" : found->second;
}

/// Why a request of another version, or of none, is refused. `is_needed`: it has to say which.
std::optional<Response> refuse_version(const Call& call, bool is_needed = true) {
  const std::string said = field_of(call, "tus-resumable");
  if (said == kTusVersion || (said.empty() && !is_needed)) return std::nullopt;
  Response response = with_version(
      error_response(kOtherVersion, fmt::format("Tus-Resumable: expected {}", kTusVersion)));
  response.headers.emplace_back("Tus-Version", kTusVersion);
  return response;
}

core::Result<std::int64_t> number_in(const Call& call, std::string_view name,
                                     std::string_view shown) {
  const std::string text = field_of(call, name);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value <= std::uint64_t{1} << 62)
    return static_cast<std::int64_t>(value);
  return core::fail(ErrorCode::kInvalidArgument, "{}: expected a number of bytes", shown);
}

/// Upload-Metadata: names, each with its value in base64, between commas.
core::Result<Params> metadata_of(const Call& call) {
  const std::string all = field_of(call, "upload-metadata");
  const auto refuse = [] {
    return core::fail(ErrorCode::kInvalidArgument,
                      "Upload-Metadata: expected NAME BASE64,NAME BASE64...");
  };
  if (all.size() > limits::kUploadMetadataBytesMax) return refuse();
  Params said;
  for (std::string_view rest = all; !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const std::size_t space = part.find(' ');
    const auto value =
        core::from_base64(space == std::string_view::npos ? "" : part.substr(space + 1));
    if (part.empty() || !value) return refuse();
    if (!said.emplace(part.substr(0, space), *value).second) return refuse();
  }
  return said;
}

struct Announced {
  std::string model;
  core::Digest content{};
  std::int64_t bytes = 0;
  gateway::PushOptions options;
};

core::Result<Announced> announced(const Call& call) {
  Announced made;
  COMMENSAL_ASSIGN(made.bytes, number_in(call, "upload-length", "Upload-Length"));
  COMMENSAL_ASSIGN(Params said, metadata_of(call));
  for (const char* ignored : {"filename", "filetype"}) said.erase(ignored);  // clients' habit
  auto model = said.extract("model");
  auto digest = said.extract("sha256");
  const auto content =
      digest ? core::digest_from_hex(digest.mapped())
             : core::Result<core::Digest>(core::fail(ErrorCode::kInvalidArgument, "none"));
  if (!model || !content)
    return core::fail(ErrorCode::kInvalidArgument,
                      "Upload-Metadata: expected model (OWNER/MODEL) and sha256 (64 hexadecimal "
                      "digits of the whole file), each in base64");
  made.model = std::move(model.mapped());
  made.content = *content;
  COMMENSAL_ASSIGN(made.options, push_options(said));
  return made;
}

nlohmann::ordered_json json_of(const Upload& upload) {
  nlohmann::ordered_json allowed = nlohmann::ordered_json::array();
  for (const crypto::Address& one : upload.allowed_providers)
    allowed.push_back(crypto::to_text(one));
  nlohmann::ordered_json made = {{"upload", upload.id},
                                 {"model", upload.model},
                                 {"private", upload.is_private},
                                 {"allowed_providers", std::move(allowed)},
                                 {"privacy_class", nullptr},
                                 {"sha256", core::to_hex(upload.content)},
                                 {"bytes", upload.bytes},
                                 {"received", upload.received},
                                 {"created_ms", upload.created_ms},
                                 {"expires_ms", upload.expires_ms()}};
  if (upload.privacy_class) made["privacy_class"] = *upload.privacy_class;
  return made;
}

Response about(const Upload& upload, int status) {
  Response response =
      with_version(status == kNoContent ? Response() : json_response(json_of(upload).dump()));
  response.status = status;
  response.headers.emplace_back("Upload-Offset", std::to_string(upload.received));
  response.headers.emplace_back("Upload-Length", std::to_string(upload.bytes));
  response.headers.emplace_back("Upload-Expires", http_date(upload.expires_ms()));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

/// `retry_s`: after which it may go better; 0: no time helps.
Response failed(gateway::Gateway& gateway, const core::Error& error, std::int64_t retry_s = 0) {
  if (core::is_disk_full(error)) gateway.report(error);
  return with_version(refusal_of_push(error, retry_s));
}

void show_options(const Services&, CallPtr, Reply reply) {
  Response response = with_version({});
  response.status = kNoContent;
  response.headers.emplace_back("Tus-Version", kTusVersion);
  response.headers.emplace_back("Tus-Extension", "creation,expiration,termination");
  response.headers.emplace_back("Tus-Max-Size", std::to_string(limits::kHttpBodyBytesMax));
  reply(std::move(response));
}

Response begin_upload(gateway::Gateway& gateway, const Call& call) {
  if (auto refusal = refuse_version(call)) return *std::move(refusal);
  const auto said = announced(call);
  if (!said) return failed(gateway, said.error());
  if (said->bytes > limits::kHttpBodyBytesMax) {
    return with_version(
        error_response(kTooLarge, fmt::format("Upload-Length: {}, at most {} are accepted here",
                                              said->bytes, limits::kHttpBodyBytesMax)));
  }
  const auto made = gateway.uploads().create(call.account, said->model, said->options,
                                             said->content, said->bytes);
  if (!made) return failed(gateway, made.error());
  Response response = about(*made, kMade);
  response.headers.emplace_back("Location", "/v1/uploads/" + made->id);
  return response;
}

Response list_uploads(gateway::Gateway& gateway, const Call& call) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Upload& upload : gateway.uploads().list(call.account.name))
    all.push_back(json_of(upload));
  return json_response(nlohmann::ordered_json({{"uploads", std::move(all)}}).dump());
}

Response show_upload(gateway::Gateway& gateway, const Call& call) {
  if (auto refusal = refuse_version(call, false)) return *std::move(refusal);
  const auto upload = gateway.uploads().find(call.account.name, call.params.at("upload"));
  return upload ? about(*upload, 200) : failed(gateway, upload.error());
}

Response drop_upload(gateway::Gateway& gateway, const Call& call) {
  if (auto refusal = refuse_version(call)) return *std::move(refusal);
  const auto dropped = gateway.uploads().drop(call.account.name, call.params.at("upload"));
  if (!dropped) return failed(gateway, dropped.error());
  Response response = with_version({});
  response.status = kNoContent;
  return response;
}

/// Room and offset are looked at on the loop, the bytes are written off it, then they count.
void write_piece(const Services& services, const CallPtr& call, const Reply& reply,
                 std::int64_t offset) {
  gateway::Gateway& gateway = services.gateway;
  const auto bytes = static_cast<std::int64_t>(call->body.size());
  const auto upload =
      gateway.uploads().begin_piece(call->account.name, call->params.at("upload"), offset, bytes);
  if (!upload) return reply(failed(gateway, upload.error()));
  services.pieces->post(call->line, [&services, call, reply, bytes, upload = *upload,
                                     file = gateway.uploads().path_of(upload->id)] {
    const auto written = gateway::Uploads::write(file, upload.received, call->body);
    call->body.clear();
    services.loop.post([&services, call, reply, bytes, upload, written] {
      const auto longer = services.gateway.uploads().end_piece(upload, bytes, written);
      reply(longer ? about(*longer, kNoContent) : failed(services.gateway, longer.error()));
    });
  });
}

void take_piece(const Services& services, CallPtr call, Reply reply) {
  if (auto refusal = refuse_version(*call)) return reply(*std::move(refusal));
  if (field_of(*call, "content-type") != "application/offset+octet-stream") {
    return reply(with_version(
        error_response(kOtherType, "Content-Type: expected application/offset+octet-stream")));
  }
  const auto offset = number_in(*call, "upload-offset", "Upload-Offset");
  if (!offset) return reply(with_version(error_response(offset.error())));
  services.turns->post(call->line, [&services, call, reply = std::move(reply), offset = *offset] {
    write_piece(services, call, reply, offset);
  });
}

/// What would fail again goes: a file has bounds that it never comes to fit, while those of an
/// account or a model, which count once it is staged, may have room later.
bool is_over(const core::Result<gateway::ModelVersion>& pushed, bool is_staged) {
  if (pushed) return true;
  using enum ErrorCode;
  const ErrorCode code = pushed.error().code;
  if (code == kDataLoss || code == kInternal || core::is_disk_full(pushed.error())) return false;
  return !is_staged || (code != kResourceExhausted && code != kUnavailable);
}

void push_whole(const Services& services, const CallPtr& call, const Reply& reply) {
  gateway::Gateway& gateway = services.gateway;
  const std::string& id = call->params.at("upload");
  const auto begun = gateway.uploads().begin_push(call->account, id);
  if (!begun) {
    const std::int64_t retry_s = gateway.uploads().retry_s(call->account.name, id);
    return reply(failed(gateway, begun.error(), retry_s));
  }
  const Upload& upload = *begun;
  const auto open = [upload,
                     path = gateway.uploads().path_of(upload.id)]() -> core::Result<FileBytes> {
    COMMENSAL_TRY(gateway::Uploads::check(path, upload));
    const auto file = core::MappedFile::open(path);
    if (!file) return core::fail(ErrorCode::kDataLoss, "upload '{}' cannot be read", upload.id);
    return FileBytes{(*file)->bytes(), *file};
  };
  const auto done = [&gateway, upload](const core::Result<gateway::ModelVersion>& pushed,
                                       bool is_staged) {
    const auto ended = gateway.uploads().end_push(upload, is_over(pushed, is_staged));
    if (!ended) gateway.report(ended.error());
  };
  push_file(services, call, reply, {upload.model, upload.options(), open, done});
}

void push_upload(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    push_whole(services, call, reply);
  });
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kPiece = limits::kUploadPieceBytesMax;

constexpr Route kRoutes[] = {
    {"OPTIONS", "/v1/uploads", Auth::kNone, Scope::kAny, kSmall, show_options},
    {"POST", "/v1/uploads", Auth::kAccount, Scope::kModels, kSmall, on_loop<begin_upload>},
    {"GET", "/v1/uploads", Auth::kAccount, Scope::kModels, kSmall, on_loop<list_uploads>},
    {"GET", "/v1/uploads/{upload}", Auth::kAccount, Scope::kModels, kSmall, on_loop<show_upload>},
    {"PATCH", "/v1/uploads/{upload}", Auth::kAccount, Scope::kModels, kPiece, take_piece},
    {"DELETE", "/v1/uploads/{upload}", Auth::kAccount, Scope::kModels, kSmall,
     on_loop<drop_upload>},
    {"OPTIONS", "/v1/uploads/{upload}", Auth::kNone, Scope::kAny, kSmall, show_options},
    {"POST", "/v1/uploads/{upload}/push", Auth::kAccount, Scope::kModels, kSmall, push_upload},
};

}  // namespace

std::span<const Route> upload_routes() { return kRoutes; }

}  // namespace commensal::http
