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
      log_(new_log(options)) {}

void Observer::ended(const Ended& ended) {
  metrics_.count(ended);
  if (log_) log_->push(ended);
}

std::string Observer::metrics(Readings now) {
  now.uptime_s = static_cast<double>(clock_.monotonic_ns() - begun_ns_) * 1e-9;
  if (log_) now.log_lines_dropped = log_->dropped();
  return metrics_.text(now);
}

}  // namespace commensal::observe
