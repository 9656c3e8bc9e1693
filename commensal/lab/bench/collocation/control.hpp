// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/lab/bench/collocation/guest.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace commensal::lab::bench::collocation {

/// Done again and again while the slices of an arm last, on a thread of its own: each time after
/// the seconds that it returned last.
using Job = std::function<double()>;

/// A rule at work on one guest. It lives through all slices of its arm, and nothing is called
/// between them.
class Control {
 public:
  virtual ~Control() = default;
  /// Called at the beginning of a slice, before the jobs.
  virtual void begin() = 0;
  virtual std::vector<Job> jobs() { return {}; }
  /// For the record; any thread.
  virtual std::string said() const { return {}; }
};

/// What rules see; all of it outlives them.
struct ControlDependencies {
  const core::Clock& clock;
  core::Rng& rng;
  probe::Probe& probe;
  Guest& guest;
};
std::unique_ptr<Control> make_control(Law law, const ControlDependencies& deps);

}  // namespace commensal::lab::bench::collocation
