// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/tuner/tuning.hpp>
#include <cstdint>
#include <functional>
#include <span>

namespace commensal::tuner {

/// A guest that runs a network one way, one answer after the other, while it is let. Thread-safety:
/// one thread.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void let(bool runs) = 0;
  /// So far. Errors: why there are no more.
  virtual core::Result<std::uint64_t> answers() = 0;
};

/// All outlive the tuning.
struct Dependencies {
  const core::Clock& clock;
  core::Rng& rng;
  probe::Probe& probe;
  /// False: it is to end.
  std::function<bool(double seconds)> wait;
};

struct TunerOptions {
  TuningRules rules{};
  double minute_max = 0.03;  // of any minute of the host's work
  double stretch_s = 1.8;    // at least; longer where the probe's own average is
  std::function<void(const Tuning& so_far)> progress = [](const Tuning&) {};
};

/// Of a stretch beside this probe, in seconds.
double stretch_of(const probe::Probe& probe, double at_least_s);

/// Tries the runners beside the probe's host in short alternation: each stretch with one is
/// compared with those without any before and after it, so that what drifts does not count. Rests
/// where a minute would lose more than it may, and leaves out what costs more than that in one
/// stretch: only the first of each way may. All runners stand still before and after.
/// Errors: kUnavailable (the host gives no signal, or does no work), kCancelled, the runners' own.
core::Result<Tuning> tune(const Dependencies& deps, std::span<Runner* const> runners,
                          const TunerOptions& options);

}  // namespace commensal::tuner
