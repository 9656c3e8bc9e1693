// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/bench/worker/worker_bench.hpp>
#include <commensal/serve/worker/process_engine.hpp>

namespace commensal::lab::bench::worker {
namespace {

using commensal::worker::ProcessEngineFactory;
using core::Result;
using receipt::Values;

constexpr double kRatioMax = 1.01;
constexpr double kExtraUsMax = 50;
constexpr double kUsPerS = 1e6;

Values inputs_of(const graph::Graph& graph) {
  Values inputs;
  for (const graph::ValueId id : graph.inputs) {
    std::vector<std::int64_t> dims = graph.values[static_cast<std::size_t>(id)].declared.dims;
    for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    const tensor::Shape shape = tensor::Shape::of(dims).value_or(tensor::Shape());
    std::vector<float> elements(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = core::counter_symmetric_f32(1, inputs.size(), i);
    }
    inputs.push_back(tensor::Tensor::of<float>(shape, elements));
  }
  return inputs;
}

/// Seconds of one run, by round: the medians of each side.
struct Sides {
  std::vector<double> thread_s;
  std::vector<double> process_s;
};

Result<double> time_of(rollout::Engine& engine, const Values& inputs, const core::Clock& clock) {
  const std::int64_t begin_ns = clock.monotonic_ns();
  COMMENSAL_TRY(engine.run(1, inputs, std::nullopt));
  return static_cast<double>(clock.monotonic_ns() - begin_ns) * 1e-9;
}

Result<Sides> measure(const WorkerBenchOptions& options, const core::Path& model, int runs,
                      const core::Clock& clock) {
  const graph::SessionOptions session{.threads = options.threads};
  rollout::SessionEngineFactory threads(session);
  ProcessEngineFactory processes({.session = session});
  COMMENSAL_ASSIGN(const auto here, threads.load(model, {}));
  COMMENSAL_ASSIGN(const auto there, processes.load(model, {}));
  const Values inputs = inputs_of(here->graph());
  Sides sides;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
    std::vector<double> here_s, there_s;
    for (int i = 0; i < runs; ++i) {
      COMMENSAL_ASSIGN(here_s.emplace_back(), time_of(*here, inputs, clock));
      COMMENSAL_ASSIGN(there_s.emplace_back(), time_of(*there, inputs, clock));
    }
    if (round < 0) continue;
    sides.thread_s.push_back(median(here_s));
    sides.process_s.push_back(median(there_s));
  }
  return sides;
}

template <class Of>
std::vector<double> by_round(const Sides& sides, const Of& of) {
  std::vector<double> made;
  for (std::size_t i = 0; i < sides.thread_s.size(); ++i) {
    made.push_back(of(sides.thread_s[i], sides.process_s[i]));
  }
  return made;
}

/// Ratio and difference, of which one has a limit.
void add_rows(std::vector<Row>& rows, const std::string& name, const Sides& sides,
              std::optional<double> ratio_max, std::optional<double> extra_us_max) {
  const std::string how = fmt::format("median of {} rounds", sides.thread_s.size());
  rows.push_back(row_at_most(name + "_thread_us", {},
                             by_round(sides, [](double a, double) { return a * kUsPerS; }), how));
  rows.push_back(row_at_most(name + "_process_us", {},
                             by_round(sides, [](double, double b) { return b * kUsPerS; }), how));
  rows.push_back(row_at_most(name + "_process_over_thread", ratio_max,
                             by_round(sides, [](double a, double b) { return b / a; }), how));
  rows.push_back(
      row_at_most(name + "_process_extra_us", extra_us_max,
                  by_round(sides, [](double a, double b) { return (b - a) * kUsPerS; }), how));
}

}  // namespace

Result<Report> run_worker_bench(const WorkerBenchOptions& options, const core::Clock& clock) {
  COMMENSAL_ASSIGN(const Sides large, measure(options, options.large, options.large_runs, clock));
  COMMENSAL_ASSIGN(const Sides small, measure(options, options.small, options.small_runs, clock));
  std::vector<Row> rows;
  add_rows(rows, "resnet50", large, kRatioMax, {});
  add_rows(rows, "digits", small, {}, kExtraUsMax);
  return report_of(std::move(rows));
}

}  // namespace commensal::lab::bench::worker
