// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/observer.hpp>
#include <commensal/serve/observe/request_log.hpp>

namespace commensal::observe {
namespace {

constexpr std::int64_t kLogEveryMs = 100;

std::unique_ptr<Batches<Ended>> new_log(const Options& options) {
  if (!options.log) return nullptr;
  return std::make_unique<Batches<Ended>>(
      Batches<Ended>::Terms{.waiting_max = limits::kLoggedRequestsMax,
                            .at_once_max = limits::kLoggedRequestsMax,
                            .every_ms = kLogEveryMs},
      [log = options.log](const std::vector<Ended>& batch) {
        for (const Ended& one : batch) log(log_line(one));
        return true;
      });
}

}  // namespace

Observer::Observer(const core::Clock& clock, core::Rng& rng, const Options& options)
    : clock_(clock),
      rng_(rng),
      begun_ns_(clock.monotonic_ns()),
      metrics_(options.triton_metrics),
      log_(new_log(options)),
      tracer_(options.trace.send ? std::make_unique<Tracer>(clock, rng, options.trace) : nullptr) {}

RequestTag Observer::tag(std::string_view request_id, std::string_view traceparent) {
  RequestTag tag = tag_of(request_id, traceparent, rng_);
  tag.since_ns = clock_.monotonic_ns();
  // Who comes with a trace has said whether it is recorded.
  if (tracer_ && tag.parent_id.empty()) tag.is_sampled = tracer_->is_drawn(tag.trace_id);
  return tag;
}

void Observer::ended(const Ended& ended) {
  metrics_.count(ended);
  if (log_) log_->push(ended);
  if (tracer_) tracer_->add(ended);
}

void Observer::answered(const HttpCall& call) {
  metrics_.count(call.method, call.route, call.status);
  if (tracer_) tracer_->add(call);
}

void Observer::answered(const GrpcCall& call) {
  metrics_.count_grpc(call.method, call.code, clock_.monotonic_ns() - call.tag.since_ns);
  if (tracer_) tracer_->add(call);
}

std::string Observer::metrics(Readings now) {
  now.uptime_s = static_cast<double>(clock_.monotonic_ns() - begun_ns_) * 1e-9;
  if (log_) now.log_lines_dropped = log_->dropped();
  if (tracer_) now.spans_dropped = tracer_->dropped();
  return metrics_.text(now);
}

}  // namespace commensal::observe
