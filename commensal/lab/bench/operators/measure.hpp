// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/lab/bench/operators/cases.hpp>
#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/bench/runtime/turns.hpp>
#include <functional>

/// Each operator beside another runtime's, and beside what this machine can do.
namespace commensal::lab::bench::operators {

struct Options {
  std::vector<std::string> ops;  // none: all of the table
  bool firsts = false;           // the first row of each of them alone
  std::vector<int> threads = {1, 2};
  Turns turns{.repeats = 5, .block_s = 0.05, .rounds_max = 2};
  /// Start a fresh process of each side.
  std::function<core::Result<Runner>()> ours, theirs;
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress;
};

/// Measures them all in turn. A case that the peer refuses is a note; one that we refuse, or answer
/// otherwise, is a failed bar. Then ours alone on nodes of a few elements (small_nodes.hpp).
/// Errors: those of processes and files.
core::Result<Report> run_operators_bench(const Options& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::operators
