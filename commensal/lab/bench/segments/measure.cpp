// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/train/segment.hpp>
#include <commensal/lab/bench/segments/segments_bench.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <functional>

namespace commensal::lab::bench::segments {
namespace {

using core::Result;

constexpr double kCommitShareMax = 0.001;
constexpr double kReplayRatioMax = 1.05;

Result<double> cpu_seconds(const std::function<Result<void>()>& work) {
  std::int64_t spent_ns = 0;
  Result<void> done;
  {
    const core::CpuMeter meter(spent_ns);
    done = work();
  }
  if (!done) return tl::unexpected(done.error());
  return static_cast<double>(spent_ns) * 1e-9;
}

/// A segment as its auditor sees it.
class Replay {
 public:
  static Result<Replay> of(const commensal::train::Trainer& trainer,
                           const commensal::train::Segment& segment) {
    const auto bytes = std::make_shared<const core::Bytes>(segment.model);
    COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_bytes(*bytes, bytes));
    receipt::StepTask task;
    protocol::Job& job = task.job;
    // Outputs after the losses are the inputs' next values, in their order.
    for (std::uint32_t i = 0; i < segment.state.size(); ++i) job.feeds.push_back({i + 1, i});
    COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(graph, {.threads = 1}, job.feeds));
    const receipt::ModelRoots roots = receipt::model_roots(*graph);
    task.inputs = commensal::train::segment_inputs(trainer);
    job.graph_root = roots.graph;
    job.weight_root = roots.weights;
    job.numerics_version = kernels::kNumericsVersion;
    job.input_commitment =
        protocol::commit_input(receipt::state_root(task.inputs), task.input_salt);
    return Replay{std::move(session), roots, std::move(task)};
  }
  Result<void> run() {
    COMMENSAL_TRY(receipt::replay(task, session, roots));
    return {};
  }

  noise::NoisySession session;
  receipt::ModelRoots roots;
  receipt::StepTask task;
};

}  // namespace

Result<Report> run_segments_bench(const SegmentsBenchOptions& options) {
  using commensal::train::Trainer;
  COMMENSAL_ASSIGN(auto plan, commensal::train::read_plan(options.plan));
  plan.checkpoint.clear();
  COMMENSAL_ASSIGN(Trainer trainer, Trainer::create(plan, {.threads = 1}));
  std::int64_t each = options.each;
  if (each == 0) {
    COMMENSAL_ASSIGN(each, commensal::train::segment_length(trainer));
  }
  COMMENSAL_ASSIGN(const auto segment, commensal::train::make_segment(trainer, each));
  COMMENSAL_ASSIGN(Replay replay, Replay::of(trainer, segment));
  const auto first = trainer.checkpoint();
  const std::function<Result<void>()> arms[] = {
      [&]() -> Result<void> {
        COMMENSAL_TRY(trainer.take(first));
        for (std::int64_t t = 0; t < each; ++t) COMMENSAL_TRY(trainer.step());
        return {};
      },
      [&] { return replay.run(); },
      [&]() -> Result<void> {
        (void)receipt::state_root(commensal::train::segment_inputs(trainer));
        return {};
      }};
  std::vector<double> commits, replays;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
    double seconds[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t arm = (i + static_cast<std::size_t>(round + 1)) % 3;
      COMMENSAL_ASSIGN(seconds[arm], cpu_seconds(arms[arm]));
    }
    if (round < 0) continue;
    replays.push_back(seconds[1] / seconds[0]);
    commits.push_back(seconds[2] / seconds[0]);
  }
  const std::string how = fmt::format("{}, {} steps of {} samples, one thread, {} rounds in turn",
                                      plan.model.stem().string(), each, plan.batch, options.rounds);
  return report_of({row_at_most("commit_share", kCommitShareMax, commits,
                                "the root of the state beside a segment's steps; " + how),
                    row_at_most("replay_ratio", kReplayRatioMax, replays,
                                "a segment's replay beside its steps; " + how)});
}

}  // namespace commensal::lab::bench::segments
