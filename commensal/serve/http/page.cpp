// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_page.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/page.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;

constexpr std::string_view kIndex = "index.html";

struct Ending {
  std::string_view ending;
  std::string_view content_type;
};
constexpr Ending kEndings[] = {{".html", "text/html; charset=utf-8"},
                               {".js", "text/javascript; charset=utf-8"},
                               {".css", "text/css; charset=utf-8"},
                               {".json", "application/json"},
                               {".txt", "text/plain; charset=utf-8"},
                               {".svg", "image/svg+xml"},
                               {".png", "image/png"},
                               {".wasm", "application/wasm"}};

/// Nothing of anybody else's, no script but the folder's own, in no frame. WebAssembly is what the
/// browser computes answers again with; pictures that a visitor chose are data: and blob:.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

core::Result<PageFile> read_page_file(const core::Path& path, std::int64_t bytes_max) {
  const std::string ending = path.extension().string();
  const auto* const known = std::ranges::find(kEndings, ending, &Ending::ending);
  if (known == std::end(kEndings))
    return core::fail(ErrorCode::kInvalidArgument,
                      "'{}' is no file of a page: expected .html, .js, .css, .json, .txt, .svg, "
                      ".png or .wasm",
                      path.string());
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(path, bytes_max));
  PageFile file{known->content_type, std::string(core::as_text(bytes)), "",
                core::to_hex(crypto::sha256(bytes))};
  core::MemoryBudget::Lease nobodys;
  file.gzip = compress(Coding::kGzip, file.plain, nobodys).value_or("");
  return file;
}

/// Of an If-None-Match (RFC 9110, section 13.1.2), whichever coding it had been.
bool is_known(std::string_view if_none_match, const PageFile& file) {
  return if_none_match.find(file.hash) != std::string_view::npos;
}

/// Caches may keep it and ask each time: after an upgrade nobody sees a mixture for long.
Response page_response(const std::shared_ptr<const Page>& page, const PageFile& file,
                       const Call& call) {
  const bool is_encoded = call.accepted == Coding::kGzip && !file.gzip.empty();
  Response response;
  response.content_type = file.content_type;
  response.headers = {
      {"ETag", fmt::format("\"{}{}\"", file.hash, is_encoded ? "-gzip" : "")},
      {"Cache-Control", "no-cache"},
      {"Vary", "Accept-Encoding"},
      {"Content-Security-Policy", std::string(kPolicy)},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
  };
  if (is_known(call.if_none_match, file)) {
    response.status = 304;
    return response;
  }
  if (is_encoded) response.headers.emplace_back("Content-Encoding", "gzip");
  response.rest = core::as_bytes(is_encoded ? file.gzip : file.plain);
  response.owner = page;
  response.is_file = true;  // held once, for all who ask
  return response;
}

/// Nothing of it is the loop's.
void show(const CallPtr& call, std::string_view name, const Reply& reply) {
  if (call->page == nullptr)
    return reply(error_response(
        {ErrorCode::kNotFound,
         "this gateway shows no page: it was started without --page (docs/page.md)"}));
  const PageFile* const file = call->page->find(name);
  if (file == nullptr)
    return reply(error_response({ErrorCode::kNotFound, "the page has no file of this name"}));
  reply(page_response(call->page, *file, *call));
}

void show_index(const Services&, CallPtr call, Reply reply) { show(call, kIndex, reply); }
void show_file(const Services&, CallPtr call, Reply reply) {
  show(call, call->params.at("file"), reply);
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/", Auth::kNone, Scope::kAny, kSmall, show_index},
    {"GET", "/page/{file}", Auth::kNone, Scope::kAny, kSmall, show_file},
};

}  // namespace

core::Result<std::shared_ptr<const Page>> Page::read(const core::Path& folder) {
  std::error_code error;
  auto page = std::make_shared<Page>();
  std::int64_t left = limits::kPageBytesMax;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (!entry->is_regular_file(gone)) continue;
    if (page->files_.size() == limits::kPageFilesMax)
      return core::fail(ErrorCode::kResourceExhausted, "'{}' has more than {} files",
                        folder.string(), limits::kPageFilesMax);
    COMMENSAL_ASSIGN(PageFile file, read_page_file(entry->path(), left));
    left -= static_cast<std::int64_t>(file.plain.size());
    page->files_.emplace(entry->path().filename().string(), std::move(file));
  }
  if (error)
    return core::fail(ErrorCode::kNotFound, "'{}' cannot be read: {}", folder.string(),
                      error.message());
  if (page->find(kIndex) == nullptr)
    return core::fail(ErrorCode::kNotFound,
                      "'{}' has no {}: expected what scripts/build-page makes", folder.string(),
                      kIndex);
  return page;
}

const PageFile* Page::find(std::string_view name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

std::span<const Route> page_routes() { return kRoutes; }

}  // namespace commensal::http
