// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/trace_options.hpp>
#include <apps/common/log.hpp>
#include <array>
#include <commensal/serve/client/transport.hpp>
#include <memory>

namespace commensal::apps {
namespace {

constexpr std::int64_t kWaitMs =
    2'000;  // for each step of a message: a gateway that ends waits too
constexpr std::string_view kPath = "/v1/traces";

/// Where spans are sent, and whether the last ones arrived. One thread at a time.
class Collector {
 public:
  Collector(client::Url url, std::string target, std::string where)
      : transport_(std::move(url), kWaitMs, {}, {}, "the collector"),
        target_(std::move(target)),
        where_(std::move(where)) {}

  bool send(const std::string& body) {
    const core::Result<void> sent = try_to_send(body);
    const bool is_news = is_failing_ == sent.has_value();
    is_failing_ = !sent;
    if (is_news && sent) say(fmt::format("spans reach {} again", where_));
    if (is_news && !sent)
      say(fmt::format("spans do not reach {}, and are counted as dropped: {}", where_,
                      sent.error().message));
    return sent.has_value();
  }

 private:
  core::Result<void> try_to_send(const std::string& body) {
    const std::array parts = {core::as_bytes(body)};
    const client::HttpRequest request{.method = "POST",
                                      .target = target_,
                                      .token = {},
                                      .content_type = "application/json",
                                      .json_bytes = {},
                                      .parts = parts,
                                      .progress = {},
                                      .received = {}};
    const bool was_connected = transport_.is_connected();
    auto response = transport_.send(request);
    // It may have closed just then what it kept open: spans may arrive twice.
    const bool is_lost = !response && response.error().code == core::ErrorCode::kUnavailable;
    if (is_lost && was_connected) response = transport_.send(request);
    if (!response) return tl::unexpected(response.error());
    if (response->status >= 200 && response->status < 300) return {};
    return core::fail(core::ErrorCode::kUnavailable, "it answers {}", response->status);
  }

  client::Transport transport_;
  const std::string target_;
  const std::string where_;
  bool is_failing_ = false;
};

}  // namespace

void TraceOptions::declare(CLI::App& app, observe::TraceOptions& trace) {
  app.add_option("--otlp-endpoint", endpoint,
                 "http://HOST:PORT or https://... of a collector that takes OTLP over HTTP: spans "
                 "of requests go there, as JSON, to /v1/traces")
      ->envname("OTEL_EXPORTER_OTLP_ENDPOINT");
  app.add_option("--otlp-service", trace.service, "Name of this service in them")
      ->envname("OTEL_SERVICE_NAME")
      ->capture_default_str();
  app.add_option("--otlp-sample", trace.sample,
                 "Share of the requests that have spans, where the client's traceparent does not "
                 "say whether one has")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

core::Result<std::function<bool(const std::string&)>> TraceOptions::sender() const {
  if (endpoint.empty()) return nullptr;
  const std::size_t scheme = endpoint.find("://");
  const std::size_t path =
      scheme == std::string::npos ? scheme : endpoint.find('/', scheme + std::string("://").size());
  auto url = client::Url::parse(endpoint.substr(0, path));
  std::string target = path == std::string::npos ? "" : endpoint.substr(path);
  const bool is_path = target.find_first_of(" ?#\r\n") == std::string::npos;
  if (scheme == std::string::npos || !url || !is_path) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "--otlp-endpoint '{}', expected http://HOST:PORT or https://HOST:PORT of a "
                      "collector, perhaps with a path",
                      endpoint);
  }
  while (target.ends_with('/')) target.pop_back();
  target += kPath;
  const auto collector = std::make_shared<Collector>(*std::move(url), std::move(target), endpoint);
  return [collector](const std::string& body) { return collector->send(body); };
}

}  // namespace commensal::apps
