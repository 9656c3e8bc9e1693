// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/observe/batches.hpp>
#include <commensal/serve/observe/calls.hpp>
#include <commensal/serve/observe/ended.hpp>
#include <commensal/serve/observe/span.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace commensal::observe {

struct TraceOptions {
  /// Brings a body of otlp_text() to a collector; false: it did not arrive, which is for it to
  /// tell. Called on one thread, where it may take its time: the end waits for it. Null: no spans.
  std::function<bool(const std::string&)> send = {};
  std::string service = "commensal-gateway";
  double sample = 1;  // share that is recorded of the traces that begin here
};

/// Makes spans of calls and inferences, and has them sent, some at once. Who tells of one never
/// waits: what a collector is too slow for is left out and counted. Thread-safety: any thread.
class Tracer {
 public:
  /// `clock` and `rng`, which any thread may use, outlive it. `options.send` is there.
  Tracer(const core::Clock& clock, core::Rng& rng, const TraceOptions& options);

  /// Whether a trace that begins here is recorded: every gateway says the same of its id
  /// (OpenTelemetry, "TraceIdRatioBased").
  bool is_drawn(std::string_view trace_id) const;

  // What is not sampled is passed over.
  void add(const HttpCall& call);
  void add(const GrpcCall& call);
  /// The inference, a child of its call's span, and the children of that: what it waited, the time
  /// at its provider until that has committed, and the rest.
  void add(const Ended& ended);

  /// Spans that did not arrive.
  std::uint64_t dropped() const { return spans_.dropped(); }

 private:
  std::int64_t now_ns() const { return clock_.monotonic_ns(); }
  std::string new_id();
  /// What is to be added to the monotonic clock's time. It follows the wall clock's jumps, not its
  /// rounding, so that parents and children fit.
  std::int64_t offset_ns();
  /// Of a call; from here on its end.
  Span begin_call(const RequestTag& tag, std::string name);

  const core::Clock& clock_;
  core::Rng& rng_;
  const double sample_;
  std::atomic<std::int64_t> offset_ns_;
  Batches<Span> spans_;
};

}  // namespace commensal::observe
