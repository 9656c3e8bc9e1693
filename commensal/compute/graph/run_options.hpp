// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pacer.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <limits>
#include <stop_token>

namespace commensal::graph {

/// Any number of operations.
inline constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

/// What one run is told.
struct RunOptions {
  Tracer* tracer = nullptr;
  core::Pacer* pacer = nullptr;      // in the place of the session's
  std::stop_token cancel = {};       // once asked to stop, the run ends at its next yield
  std::int64_t ops_max = kNoBudget;  // its compute budget, in the operations of work.hpp
};

}  // namespace commensal::graph
