// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/bench/runtime/bench.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <commensal/lab/bench/runtime/outputs.hpp>
#include <commensal/lab/bench/runtime/peer_clock.hpp>

namespace commensal::lab::bench {

using core::Result;
using Inputs = std::vector<InputFile>;

namespace {

constexpr auto kNetworks = std::to_array<std::string_view>(
    {"alexnet", "squeezenet1_1", "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small",
     "vgg11", "densenet121", "googlenet", "inception_v3", "shufflenet_v2_x1_0", "mnasnet1_0",
     "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t", "bert_l4_h256"});

constexpr int kRunsBeforePeak = 3;

/// One model of the bench, with its inputs on disk.
class ModelBench {
 public:
  ModelBench(const BenchOptions& options, std::string model, const core::Path& scratch)
      : options_(options),
        model_(std::move(model)),
        file_(options.folder / (model_ + ".onnx")),
        scratch_(scratch) {}

  Result<void> measure(Comparison& report, std::size_t done) {
    done_ = done;
    COMMENSAL_ASSIGN(graph_, graph::onnx::import_file(file_));
    COMMENSAL_TRY(core::read_file(file_));  // into the page cache
    if (const std::string guessed = guessed_shapes(*graph_, 1, options_.shapes); !guessed.empty())
      report.notes.push_back(fmt::format(
          "{}: free dimensions taken for 1, where --shape says nothing: {}", model_, guessed));
    if (options_.load_repeats > 0) {
      COMMENSAL_TRY(load(report));
    }
    for (const std::int64_t batch : options_.repeats > 0 ? options_.batches : kNoBatches) {
      if (!has_free_batch(*graph_) && batch != options_.batches.front()) {
        report.notes.push_back(fmt::format("{} has a fixed batch: measured once", model_));
        break;
      }
      COMMENSAL_ASSIGN(const auto inputs, checked_inputs(batch));
      for (const int threads : options_.threads) {
        COMMENSAL_TRY(latency(inputs, threads, batch, report));
      }
    }
    return {};
  }

 private:
  static inline const std::vector<std::int64_t> kNoBatches;

  void show(const std::string& what) const {
    if (options_.progress) {
      options_.progress(fmt::format("{} {}", model_, what), done_, options_.models.size());
    }
  }

  Result<Inputs> checked_inputs(std::int64_t batch) const {
    COMMENSAL_ASSIGN(auto inputs, write_inputs(*graph_, batch, scratch_, options_.shapes));
    if (options_.check) COMMENSAL_TRY(options_.check(file_, inputs));
    return inputs;
  }

  Result<Pair> start(const Inputs& inputs) const {
    COMMENSAL_ASSIGN(Runner ours, options_.ours());
    COMMENSAL_ASSIGN(Runner theirs, options_.theirs());
    COMMENSAL_TRY(ours.feed(inputs));
    COMMENSAL_TRY(theirs.feed(inputs));
    return Pair{std::move(ours), std::move(theirs)};
  }

  struct Fresh {
    std::vector<double> session_s, answer_s, bytes;
    Loading loading() const { return {median(session_s), median(answer_s)}; }
    Side side() const {
      std::vector<std::optional<double>> blocks(answer_s.begin(), answer_s.end());
      return {median(answer_s), std::move(blocks), static_cast<int>(answer_s.size()), 0, false};
    }
  };

  Result<void> load_once(Runner runner, Fresh& into) const {
    COMMENSAL_ASSIGN(const std::int64_t before, runner.peak_bytes());
    COMMENSAL_ASSIGN(const Loading loading, runner.load(file_, 1));
    COMMENSAL_TRY(runner.run(kRunsBeforePeak));
    COMMENSAL_ASSIGN(const std::int64_t after, runner.peak_bytes());
    into.session_s.push_back(loading.session_s);
    into.answer_s.push_back(loading.answer_s);
    into.bytes.push_back(static_cast<double>(after - before));
    return {};
  }

  Result<void> load(Comparison& report) const {
    show("load");
    COMMENSAL_ASSIGN(const auto inputs, checked_inputs(1));
    Fresh ours, theirs;
    for (int i = 0; i < options_.load_repeats; ++i) {
      COMMENSAL_ASSIGN(Pair pair, start(inputs));
      COMMENSAL_TRY(load_once(std::move(pair.ours), ours));
      COMMENSAL_TRY(load_once(std::move(pair.theirs), theirs));
    }
    LoadRow row{model_, ours.loading(), theirs.loading(), ratio_of(ours.side(), theirs.side())};
    row.ours_bytes = median(ours.bytes);
    row.theirs_bytes = median(theirs.bytes);
    row.memory_ratio = row.ours_bytes / row.theirs_bytes;
    report.loads.push_back(std::move(row));
    return {};
  }

  /// Of the other side's outputs. In networks of 8 bits a rounding may fall on the other side of a
  /// step.
  double tolerance() const {
    const bool is_quantized = std::ranges::any_of(graph_->nodes, [](const graph::Node& node) {
      return node.op->name.find("Quantize") != std::string_view::npos ||
             node.op->name.starts_with("QLinear") || node.op->name.ends_with("Integer");
    });
    return is_quantized ? 0.05 : 1e-3;
  }

  Result<void> latency(const Inputs& inputs, int threads, std::int64_t batch,
                       Comparison& report) const {
    show(fmt::format("threads {}", threads));
    COMMENSAL_ASSIGN(Pair pair, start(inputs));
    COMMENSAL_TRY(pair.ours.load(file_, threads));
    COMMENSAL_ASSIGN(const Loading theirs, pair.theirs.load(file_, threads, Clock::kNet));
    LatencyRow row;
    row.model = model_;
    row.threads = threads;
    row.batch = batch;
    row.guessed = guessed_shapes(*graph_, batch, options_.shapes);
    if (options_.peer == Peer::kOtherRuntime) {
      COMMENSAL_ASSIGN(const std::string difference, difference_of(pair, scratch_, tolerance()));
      if (!difference.empty()) {
        report.faults.push_back(
            fmt::format("{}, threads {}, batch {}: {}", model_, threads, batch, difference));
        return {};
      }
    }
    row.clock = clock_for(theirs);
    row.not_measurable = doubt_of(theirs);
    if (row.clock == Clock::kOwn) COMMENSAL_TRY(pair.theirs.load(file_, threads, Clock::kOwn));
    COMMENSAL_ASSIGN(row.compared, take_turns(pair, threads, {.repeats = options_.repeats}));
    if (row.clock == Clock::kNet && row.not_measurable.empty())
      row.not_measurable = doubt_of(row.compared.theirs);
    report.latency.push_back(std::move(row));
    return {};
  }

  const BenchOptions& options_;
  std::string model_;
  core::Path file_;
  core::Path scratch_;
  std::size_t done_ = 0;
  std::shared_ptr<const graph::Graph> graph_;
};

using Ratios = std::vector<Ratio>;

Ratios latency_of(const Comparison& report, std::optional<int> threads = std::nullopt) {
  Ratios ratios;
  for (const LatencyRow& row : report.latency) {
    if (!row.not_measurable.empty()) continue;
    if (!threads || row.threads == *threads) ratios.push_back(row.compared.ratio);
  }
  return ratios;
}

void add_bar(std::vector<Row>& bars, const char* name, const char* over, double limit,
             const Ratios& ratios, double (*together)(std::span<const double>) = geometric_mean) {
  if (ratios.empty()) return;
  const auto of = [&](double Ratio::*member) {
    std::vector<double> values;
    for (const Ratio& ratio : ratios) values.push_back(ratio.*member);
    return together(values);
  };
  bars.push_back({name, of(&Ratio::value), of(&Ratio::low), of(&Ratio::high), limit, over, true});
}

double largest(std::span<const double> values) { return *std::ranges::max_element(values); }

}  // namespace

std::span<const std::string_view> bench_networks() { return kNetworks; }

std::vector<Row> bars_of(const Comparison& report) {
  std::vector<Row> bars;
  if (report.peer == Peer::kOlderBuild) {
    add_bar(bars, "latency_geomean", "all rows", 1.02, latency_of(report));
    return bars;
  }
  Ratios loads, memory;
  for (const LoadRow& row : report.loads) {
    loads.push_back(row.ratio);
    memory.push_back({row.memory_ratio, row.memory_ratio, row.memory_ratio});
  }
  add_bar(bars, "latency_geomean_1t", "rows of 1 thread, all batches", 0.85, latency_of(report, 1));
  add_bar(bars, "latency_geomean_2t", "rows of 2 threads, all batches", 0.90,
          latency_of(report, 2));
  add_bar(bars, "latency_worst", "all rows", 1.10, latency_of(report), largest);
  add_bar(bars, "load_geomean", "all models", 1.00, loads);
  add_bar(bars, "peak_memory_geomean", "all models", 1.00, memory);
  return bars;
}

Result<Comparison> run_bench(const BenchOptions& options) {
  Comparison report;
  report.peer = options.peer;
  COMMENSAL_ASSIGN(const auto scratch, core::TemporaryFolder::make("commensal-bench"));
  for (std::size_t i = 0; i < options.models.size(); ++i) {
    ModelBench bench(options, options.models[i], scratch.path());
    auto done = bench.measure(report, i);
    if (!done) return core::in_context(options.models[i], done.error());
  }
  return report;
}

}  // namespace commensal::lab::bench
