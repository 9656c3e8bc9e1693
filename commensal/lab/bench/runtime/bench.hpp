// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <commensal/lab/bench/runtime/turns.hpp>
#include <functional>

/// Our runtime beside another one, in turn, on the same inputs, each in processes of its own.
namespace commensal::lab::bench {

/// The networks that the project compares itself on, as models/torchvision exports them.
std::span<const std::string_view> bench_networks();

/// Who is on the other side: it decides what the bars are.
enum class Peer { kOtherRuntime, kOlderBuild };

struct BenchOptions {
  Peer peer = Peer::kOtherRuntime;
  core::Path folder;                // of MODEL.onnx
  std::vector<std::string> models;  // names without .onnx
  std::vector<int> threads = {1, 2};
  std::vector<std::int64_t> batches = {1, 8};
  Shapes shapes;         // of inputs whose dimensions are free
  int repeats = 9;       // blocks of runs of each side, for latency; 0: none measured
  int load_repeats = 5;  // fresh processes of each side, for load time and memory; 0: likewise
  /// Start a fresh process of each side.
  std::function<core::Result<Runner>()> ours, theirs;
  /// Called with what is about to be measured; an error ends the bench. For sides that must agree.
  std::function<core::Result<void>(const core::Path& model, const std::vector<InputFile>&)> check;
  /// Called before each measurement; for progress bars.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress;
};

/// Seconds of one run on a loaded model.
struct LatencyRow {
  std::string model;
  int threads = 1;
  std::int64_t batch = 1;
  Compared compared;
  Clock clock = Clock::kNet;  // the other side's
  /// Why nothing that can be measured of the other side tells what it takes: then the ratio is in
  /// no mean and no bar. Empty: it is one.
  std::string not_measurable;
  std::string guessed;  // inputs that were taken to be small, as guessed_shapes says
};

/// On one thread, batch 1, medians over fresh processes; the file is in the page cache, nothing
/// else of the model is anywhere.
struct LoadRow {
  std::string model;
  Loading ours, theirs;
  Ratio ratio;  // of answer_s
  /// Growth of the most memory ever in RAM from before the load to after some runs.
  double ours_bytes = 0, theirs_bytes = 0;
  double memory_ratio = 0;
};

struct Comparison {
  Peer peer = Peer::kOtherRuntime;
  std::vector<LatencyRow> latency;
  std::vector<LoadRow> loads;
  std::vector<std::string> faults;  // where the sides' outputs differ: nothing is measured there
  std::vector<std::string> notes;   // what was left out, and why
};

/// The limits that the project sets itself, on ratios ours/theirs, where there are figures for
/// them; beside each the same of the rows' quartiles. Beside an older build: that nothing became
/// slower, within what two builds of the same source differ by.
std::vector<Row> bars_of(const Comparison& report);

/// Outputs are compared before a latency is measured: another runtime's may differ by roundings
/// (difference_of), an older build's are `check`'s to compare.
/// Errors: kNotFound (a model), those of Runner and of `check`, with the model's name.
core::Result<Comparison> run_bench(const BenchOptions& options);

}  // namespace commensal::lab::bench
