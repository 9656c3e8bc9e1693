// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/lab/bench/promise/simulated_host.hpp>
#include <string>
#include <vector>

namespace commensal::lab::bench::promise {

/// How fast a real host worked, as its probe said, while nothing of ours ran beside it.
struct Trace {
  std::string host;  // the probe's spec
  std::string unit;
  double averaging_s = 0;                  // of the probe
  std::vector<probe::RateSample> samples;  // times from the first one on
};

/// A JSON object a line: what was recorded, then the samples.
std::string to_text(const Trace& trace);
/// Errors: kInvalidArgument with the line's number, those of reading.
core::Result<Trace> read_trace(const core::Path& path);

/// Looks at the probe for so long. Errors: kUnavailable (no figure came), those of open().
core::Result<Trace> record(const std::string& spec, const core::Clock& clock, double seconds);

/// A host that works like that, noise and all, and begins anew at the trace's end; what a guest
/// costs it is made up. Precondition: it has two samples.
SimulatedHost host_of(const Trace& trace, double cost);

}  // namespace commensal::lab::bench::promise
