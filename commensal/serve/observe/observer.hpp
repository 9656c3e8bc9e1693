// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/observe/batches.hpp>
#include <commensal/serve/observe/metrics.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace commensal::observe {

struct Options {
  bool triton_metrics = false;                     // nv_inference_... too
  std::function<void(std::string_view)> log = {};  // each inference, in a line of JSON; null: none
};

/// What operators see of the requests of consumers: figures, a log. One place hears of each
/// inference that has ended; nobody who tells it waits. Thread-safety: any thread.
class Observer {
 public:
  /// `clock` and `rng`, which any thread may use, outlive it.
  Observer(const core::Clock& clock, core::Rng& rng, const Options& options);

  /// As tag_of().
  RequestTag tag(std::string_view request_id, std::string_view traceparent) {
    return tag_of(request_id, traceparent, rng_);
  }
  void ended(const Ended& ended);
  /// As Metrics::count().
  void answered(std::string_view method, std::string_view route, int status) {
    metrics_.count(method, route, status);
  }
  /// As Metrics::text(); its uptime and what was dropped are known here.
  std::string metrics(Readings now);

 private:
  const core::Clock& clock_;
  core::Rng& rng_;
  const std::int64_t begun_ns_;
  Metrics metrics_;
  std::unique_ptr<Batches<Ended>> log_;  // null: not wanted
};

}  // namespace commensal::observe
