// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>

/// What it costs that a training can be verified.
namespace commensal::lab::bench::segments {

struct SegmentsBenchOptions {
  core::Path plan;        // of a training, as docs/training.md has it
  std::int64_t each = 0;  // steps of a segment; 0: train::segment_length()
  int rounds = 5;
};

/// The state's root, and the replay of a segment by an auditor, beside the segment's steps as
/// `commensal train` makes them: processor time, one thread, in turn. Errors: those of the plan, of
/// the segment and of the runs.
core::Result<Report> run_segments_bench(const SegmentsBenchOptions& options);

}  // namespace commensal::lab::bench::segments
