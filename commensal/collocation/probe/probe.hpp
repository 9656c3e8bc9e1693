// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/probe/sample.hpp>
#include <memory>

/// Signals of a host's progress, read from outside: the host is never hooked, paused or changed.
namespace commensal::probe {

/// What probes live in. Both must outlive them.
struct Dependencies {
  const core::Clock& clock;
  core::Path proc = "/proc";
};

/// Thread-safety: one thread at a time.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual const Traits& traits() const = 0;
  /// Looks once. Blocks for kProbeWaitMs at most. What fails is told by the sample.
  virtual Sample sample() = 0;
};

/// A probe by its text, "KIND:WHERE" (spec.hpp has the grammar, kinds.hpp the kinds). Where the
/// host is a process of this machine that is named, or a miner on processors that listens on
/// loopback and whose files may be read, its samples tell the time it needed. Touches nothing yet.
/// Error: kInvalidArgument, one line that says what was expected.
core::Result<std::unique_ptr<Probe>> open(std::string_view spec, const Dependencies& deps);

}  // namespace commensal::probe
