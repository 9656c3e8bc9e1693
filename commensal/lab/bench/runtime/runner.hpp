// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/runtime/channel.hpp>
#include <commensal/lab/bench/statistics.hpp>

namespace commensal::lab::bench {

/// An input, or an output, as a file of its elements alone, little-endian.
struct InputFile {
  std::string name;
  std::string dtype;  // as tensor::DTypeTraits::name
  std::vector<std::int64_t> shape;
  std::string path;
};

/// Who times runs of a runtime that is driven from another language, which hands inputs and outputs
/// over: that language; the same less what it takes, measured when the model is loaded and, where
/// it is more than a hundredth or outputs are large, again after each block; or the runtime itself,
/// whose profiler adds to its time: some 20 us to a run, some to each node.
enum class Clock { kLanguage, kNet, kOwn };

struct Loading {
  double session_s = 0;  // from the call until the session is made
  double answer_s = 0;   // from the call until the first answer is there: some is made on demand
  /// With Clock::kNet, of later runs, medians; 0 of a runtime that has but one clock.
  double run_s = 0;        // by its language's clock
  double language_s = 0;   // of them
  double own_s = 0;        // by its own clock, with the profiler's share
  double operators_s = 0;  // of them in operators alone
};

/// A runtime in another process, driven by one JSON object a line:
///   {"do": "feed", "inputs": [{"name", "dtype", "shape", "file"}]}   -> {}
///   {"do": "load", "model", "threads", "clock"} -> {"session_seconds", "answer_seconds"}, and, if
///       clock is "net", "run_seconds", "language_seconds", "own_seconds", "operator_seconds"
///   {"do": "run", "count"}                   -> {"seconds": [...], "cpu_seconds": [...]}, likewise
///       "language_seconds", which were taken off each
///   {"do": "outputs", "folder"}              -> {"outputs": [as inputs above]}, written there
/// Any answer may be {"error": "one line"} instead. `load` runs the model once; who has but one
/// clock ignores which is asked for.
/// serve.hpp is the other end for our runtime, tests/peer/bench_subject.mjs for ONNX Runtime.
/// Builds are compared with older ones: what is asked and answered stays as it is.
class Runner {
 public:
  explicit Runner(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  /// Errors: kUnavailable (the process), kInternal (what it says).
  core::Result<void> feed(const std::vector<InputFile>& inputs);
  core::Result<Loading> load(const core::Path& model, int threads, Clock clock = Clock::kLanguage);
  core::Result<std::vector<Timing>> run(int count);
  /// Of one run more. Older builds have none.
  core::Result<std::vector<InputFile>> outputs(const core::Path& folder);
  core::Result<std::int64_t> peak_bytes() const { return channel_->peak_bytes(); }
  void keep_to_one_cpu(int turn) { channel_->keep_to_one_cpu(turn); }

 private:
  std::unique_ptr<Channel> channel_;
};

}  // namespace commensal::lab::bench
