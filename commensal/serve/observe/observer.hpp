// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/observe/batches.hpp>
#include <commensal/serve/observe/calls.hpp>
#include <commensal/serve/observe/metrics.hpp>
#include <commensal/serve/observe/tracer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace commensal::observe {

struct Options {
  bool triton_metrics = false;                     // nv_inference_... too
  std::function<void(std::string_view)> log = {};  // each inference, in a line of JSON; null: none
  TraceOptions trace = {};
};

/// What operators see of the requests of consumers: figures, a log, traces. One place hears of each
/// inference that has ended; nobody who tells it waits. Thread-safety: any thread.
class Observer {
 public:
  /// `clock` and `rng`, which any thread may use, outlive it.
  Observer(const core::Clock& clock, core::Rng& rng, const Options& options);

  /// As tag_of(), of a request that comes now.
  RequestTag tag(std::string_view request_id, std::string_view traceparent);
  void ended(const Ended& ended);
  void answered(const HttpCall& call);
  void answered(const GrpcCall& call);
  /// As Metrics::text(); its uptime and what was dropped are known here.
  std::string metrics(Readings now);

 private:
  const core::Clock& clock_;
  core::Rng& rng_;
  const std::int64_t begun_ns_;
  Metrics metrics_;
  std::unique_ptr<Batches<Ended>> log_;  // null: not wanted
  std::unique_ptr<Tracer> tracer_;       // likewise
};

}  // namespace commensal::observe
