// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because it sees Beast. A whole request as a client sends it: the
// parser under the server's bounds, the refusals of its head, then the body as inputs of an
// inference and as a rollout.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/head.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/http/rollout_body.hpp>
#include <commensal/serve/http/routes.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commensal;
  namespace beast = boost::beast;
  beast::http::request_parser<beast::http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits::kHttpHeaderBytesMax));
  parser.body_limit(1 << 20);
  parser.eager(true);
  beast::error_code error;
  parser.put(boost::asio::buffer(data, size), error);
  if (error) {
    const auto refusal = http::refusal_of(error);
    core::check(!refusal || http::reason_phrase(refusal->status) != "", "a status has a name");
    return 0;
  }
  if (const auto target = http::Target::parse(parser.get().target())) {
    http::Params params;
    for (const char* pattern : {"/v2/models/{model}/versions/{version}/infer", "/v1/{a}/{b}"}) {
      http::match_path(pattern, target->segments, params);
    }
  }
  if (!parser.is_header_done() || http::refusal_of(parser.get().base())) return 0;
  std::optional<std::string> json_bytes;
  const auto field = parser.get().find("Inference-Header-Content-Length");
  if (field != parser.get().end()) json_bytes = std::string(field->value());
  const http::Coding coding = http::request_of(parser.get().base()).coding;
  const std::string& sent = parser.get().body();
  core::GrowingBytes bytes;
  std::ranges::copy(sent, bytes.prepare(sent.size(), sent.size()).begin());
  bytes.commit(sent.size());
  core::MemoryBudget::Lease nobodys;
  if (!http::decompress(coding, bytes, 1 << 20, nobodys, {}).value_or(false)) return 0;
  const std::string_view body = core::as_text(bytes);
  const auto read = http::read_infer_body(core::as_bytes(body), json_bytes);
  core::check(read || read.error().message.find('\n') == std::string::npos, "an error is one line");
  const auto rollout = http::read_rollout_body(core::as_bytes(body), json_bytes);
  core::check(rollout || rollout.error().message.find('\n') == std::string::npos,
              "an error is one line");
  (void)http::read_report_body(core::as_bytes(body));
  return 0;
}
