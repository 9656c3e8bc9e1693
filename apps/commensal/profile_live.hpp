// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/result.hpp>
#include <string>

namespace commensal::apps {

/// What `commensal profile` looks at while it runs, and where the results go.
struct LiveProfile {
  int pid = 0;
  int gpu = 0;
  double seconds = 5;
  std::string out;  // a profile for the planner
  std::string svg;
  bool json = false;
};

/// Looks at a process of this machine for so long, prints what it uses and what is left.
core::Result<int> profile_process(const LiveProfile& options, const core::Clock& clock);
/// The same of a GPU, as far as its driver tells. Writes no profile: a driver tells of a card, not
/// of one program.
core::Result<int> profile_gpu(const LiveProfile& options);

}  // namespace commensal::apps
