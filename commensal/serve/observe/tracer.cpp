// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/tracer.hpp>
#include <cstdlib>
#include <utility>

namespace commensal::observe {
namespace {

constexpr std::int64_t kSendEveryMs = 1'000;
constexpr std::int64_t kJumpNs = 20'000'000;
constexpr std::size_t kIdBytes = 8;
constexpr std::string_view kService = "inference.GRPCInferenceService";

std::int64_t offset_of(const core::Clock& clock) {
  return clock.wall_ms() * 1'000'000 - clock.monotonic_ns();
}

std::string random_id(core::Rng& rng, std::size_t bytes) {
  core::Bytes random(bytes);
  rng.fill(random);
  return core::to_hex(random);
}

/// Which answers over gRPC are a server's fault (OpenTelemetry, "Semantic conventions for gRPC").
bool is_failure(int code) {
  constexpr std::array kFailures = {2, 4, 12, 13, 14, 15};
  return std::ranges::find(kFailures, code) != kFailures.end();
}

/// Sends batches as `options` say.
std::function<bool(std::vector<Span>)> sender(core::Rng& rng, const TraceOptions& options) {
  return [send = options.send, source = SpanSource{options.service, random_id(rng, 2 * kIdBytes)}](
             const std::vector<Span>& spans) { return send(otlp_text(source, spans)); };
}

}  // namespace

Tracer::Tracer(const core::Clock& clock, core::Rng& rng, const TraceOptions& options)
    : clock_(clock),
      rng_(rng),
      sample_(options.sample),
      offset_ns_(offset_of(clock)),
      spans_({.waiting_max = limits::kSpansMax,
              .at_once_max = limits::kSpansAtOnceMax,
              .every_ms = kSendEveryMs},
             sender(rng, options)) {}

bool Tracer::is_drawn(std::string_view trace_id) const {
  constexpr std::size_t kDigits = 14;  // the random ones, whoever has made it
  constexpr double kAll = 0x1p56;
  std::uint64_t number = 0;
  const std::string_view last =
      trace_id.substr(trace_id.size() - std::min(trace_id.size(), kDigits));
  std::from_chars(last.data(), last.data() + last.size(), number, 16);
  return static_cast<double>(number) < sample_ * kAll;
}

std::string Tracer::new_id() { return random_id(rng_, kIdBytes); }

std::int64_t Tracer::offset_ns() {
  const std::int64_t now = offset_of(clock_);
  const std::int64_t kept = offset_ns_.load(std::memory_order_relaxed);
  if (std::abs(now - kept) < kJumpNs) return kept;
  offset_ns_.store(now, std::memory_order_relaxed);
  return now;
}

Span Tracer::begin_call(const RequestTag& tag, std::string name) {
  const std::int64_t offset = offset_ns();
  return {.trace_id = tag.trace_id,
          .id = tag.span_id,
          .parent_id = tag.parent_id,
          .name = std::move(name),
          .kind = Span::Kind::kServer,
          .begun_ns = tag.since_ns + offset,
          .ended_ns = now_ns() + offset,
          .attributes = {{"commensal.request_id", tag.id}}};
}

void Tracer::add(const HttpCall& call) {
  if (!call.tag.is_sampled || call.tag.span_id.empty()) return;
  const bool has_route = call.route != kNoRoute;
  const std::string method(has_route ? call.method : "_OTHER");
  Span span = begin_call(call.tag, has_route ? method + " " + std::string(call.route) : "HTTP");
  span.attributes.emplace_back("http.request.method", method);
  if (has_route) span.attributes.emplace_back("http.route", std::string(call.route));
  span.attributes.emplace_back("http.response.status_code", std::int64_t{call.status});
  if (call.status >= 500) span.error = "";
  spans_.push(std::move(span));
}

void Tracer::add(const GrpcCall& call) {
  if (!call.tag.is_sampled || call.tag.span_id.empty()) return;
  const std::string method(call.method == kNoRoute ? "_OTHER" : call.method);
  Span span = begin_call(call.tag, std::string(kService) + "/" + method);
  span.attributes.emplace_back("rpc.system", "grpc");
  span.attributes.emplace_back("rpc.service", std::string(kService));
  span.attributes.emplace_back("rpc.method", method);
  span.attributes.emplace_back("rpc.grpc.status_code", std::int64_t{call.code});
  if (is_failure(call.code)) span.error = "";
  spans_.push(std::move(span));
}

void Tracer::add(const Ended& ended) {
  const RequestTag& tag = ended.tag;
  if (!tag.is_sampled || tag.span_id.empty()) return;
  const std::int64_t offset = offset_ns();
  const std::int64_t ended_ns = ended.begun_ns + ended.queued_ns + ended.inferred_ns;
  const std::string id = new_id();
  const auto push = [&](const char* name, Span::Kind kind, std::int64_t begun, std::int64_t end,
                        auto attributes) {
    spans_.push({.trace_id = tag.trace_id,
                 .id = new_id(),
                 .parent_id = id,
                 .name = name,
                 .kind = kind,
                 .begun_ns = begun + offset,
                 .ended_ns = std::max(begun, end) + offset,
                 .attributes = std::move(attributes)});
  };
  using Attributes = decltype(Span::attributes);
  const Attributes none;
  const std::int64_t offered = ended.offered_ns, committed = ended.committed_ns;
  push("queue", Span::Kind::kInternal, ended.begun_ns, offered > 0 ? offered : ended_ns, none);
  if (offered > 0) {
    push("compute", Span::Kind::kClient, offered, committed > 0 ? committed : ended_ns,
         Attributes{{"commensal.provider", ended.provider},
                    {"commensal.offers", std::int64_t{ended.offers}}});
  }
  if (committed > 0) push("deliver", Span::Kind::kInternal, committed, ended_ns, none);
  Span whole{.trace_id = tag.trace_id,
             .id = id,
             .parent_id = tag.span_id,
             .name = "infer",
             .begun_ns = ended.begun_ns + offset,
             .ended_ns = ended_ns + offset,
             .attributes = {{"commensal.request_id", tag.id},
                            {"commensal.account", ended.account},
                            {"commensal.model", ended.model},
                            {"commensal.version", std::int64_t{ended.version}},
                            {"commensal.code", std::string(ended.code)},
                            {"commensal.receipt", ended.receipt}}};
  if (!ended.is_success) whole.error = std::string(ended.code);
  spans_.push(std::move(whole));
}

}  // namespace commensal::observe
