// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/bench/worker/worker_bench.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <filesystem>
#include <fstream>

namespace commensal::lab::bench::worker {
namespace {

using commensal::worker::ProcessEngineFactory;
using core::Result;
using receipt::Values;

constexpr double kRatioMax = 1.01;
constexpr double kExtraUsMax = 50;
constexpr double kUsPerS = 1e6;
constexpr double kSPerNs = 1e-9;

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

/// Seconds of one run.
struct Took {
  double wall_s = 0;
  double cpu_s = 0;  // of all processors, of this process and of the worker's
};

/// By round: the medians of each side.
struct Sides {
  std::vector<Took> thread;
  std::vector<Took> process;
};

/// The one that there is, by proc(5).
int pid_of_worker() {
  int pid = 0;
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
    if (std::ifstream(thread.path() / "children") >> pid) return pid;
  }
  return pid;
}

class Stopwatch {
 public:
  Stopwatch(const core::Clock& clock, int worker) : clock_(clock), worker_(worker) {}

  Result<Took> time(rollout::Engine& engine, const Values& inputs) const {
    const std::int64_t cpu_ns = now_cpu_ns(), wall_ns = clock_.monotonic_ns();
    COMMENSAL_TRY(engine.run(1, inputs, std::nullopt));
    return Took{static_cast<double>(clock_.monotonic_ns() - wall_ns) * kSPerNs,
                static_cast<double>(now_cpu_ns() - cpu_ns) * kSPerNs};
  }

 private:
  std::int64_t now_cpu_ns() const { return core::process_cpu_ns() + core::child_cpu_ns(worker_); }

  const core::Clock& clock_;
  int worker_;
};

Took median_of(const std::vector<Took>& runs) {
  std::vector<double> wall_s, cpu_s;
  for (const Took& run : runs) {
    wall_s.push_back(run.wall_s);
    cpu_s.push_back(run.cpu_s);
  }
  return {median(wall_s), median(cpu_s)};
}

Result<Sides> measure(const WorkerBenchOptions& options, const core::Path& model, int runs,
                      const core::Clock& clock) {
  const graph::SessionOptions session{.threads = options.threads};
  rollout::SessionEngineFactory threads(session);
  ProcessEngineFactory processes({.session = session});
  COMMENSAL_ASSIGN(const auto here, threads.load(model, {}));
  COMMENSAL_ASSIGN(const auto there, processes.load(model, {}));
  const Stopwatch stopwatch(clock, pid_of_worker());
  const Values inputs = inputs_of(here->graph());
  Sides sides;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
    std::vector<Took> of_thread, of_process;
    for (int i = 0; i < runs; ++i) {
      COMMENSAL_ASSIGN(of_thread.emplace_back(), stopwatch.time(*here, inputs));
      COMMENSAL_ASSIGN(of_process.emplace_back(), stopwatch.time(*there, inputs));
    }
    if (round < 0) continue;
    sides.thread.push_back(median_of(of_thread));
    sides.process.push_back(median_of(of_process));
  }
  return sides;
}

template <class Of>
std::vector<double> by_round(const Sides& sides, const Of& of) {
  std::vector<double> made;
  for (std::size_t i = 0; i < sides.thread.size(); ++i) {
    made.push_back(of(sides.thread[i], sides.process[i]));
  }
  return made;
}

/// Both times of either side, their ratio and their difference, of which one has a limit.
void add_rows(std::vector<Row>& rows, const std::string& name, const Sides& sides,
              std::optional<double> ratio_max, std::optional<double> extra_us_max) {
  const std::string how = fmt::format("median of {} rounds", sides.thread.size());
  constexpr std::pair<const char*, double Took::*> kTimes[] = {{"", &Took::wall_s},
                                                               {"cpu_", &Took::cpu_s}};
  for (const auto& [time, of] : kTimes) {
    const auto row = [&](const char* what, std::optional<double> limit, const auto& value) {
      const auto of_both = [&, of = of](const Took& thread, const Took& process) {
        return value(thread.*of, process.*of);
      };
      rows.push_back(row_at_most(fmt::format(fmt::runtime(what), name, time), limit,
                                 by_round(sides, of_both), how));
    };
    row("{}_thread_{}us", {}, [](double a, double) { return a * kUsPerS; });
    row("{}_process_{}us", {}, [](double, double b) { return b * kUsPerS; });
    row("{}_process_over_thread_{}ratio", ratio_max, [](double a, double b) { return b / a; });
    row("{}_process_extra_{}us", extra_us_max,
        [](double a, double b) { return (b - a) * kUsPerS; });
  }
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
