// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/lab/bench/serve/batching.hpp>
#include <commensal/lab/bench/serve/stage.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <sstream>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;
using Network = BatchingOptions::Network;

/// How a provider runs models.
struct Way {
  const char* name;
  int threads;
  std::size_t at_once;
};
// Of 16 that wait 8 are run while the other 8 are on their way.
constexpr Way kWays[] = {{"alone_1_thread", 1, 1}, {"alone_2_threads", 2, 1}, {"joined", 2, 8}};
constexpr std::size_t kJoined = 2;

std::string request(const std::string& model) {
  constexpr std::size_t kFloats = 3 * 224 * 224;
  return grpc_request(model, {{.name = "image",
                               .datatype = "FP32",
                               .shape = {1, 3, 224, 224},
                               .bytes = std::string(kFloats * sizeof(float), '\x3c')}});
}

/// A gateway and its provider; the last first, as they end.
struct Stack {
  StackOptions options;
  std::vector<Part> parts;
  GatewayPlace place;
  std::unique_ptr<Load> load;
};

Result<Stack> start(const core::Path& folder, const Way& way) {
  Stack stack;
  stack.options.folder = folder;
  stack.options.threads = way.threads;
  stack.options.at_once = way.at_once;
  stack.options.audit_probability = 0;
  COMMENSAL_ASSIGN(Part first, Part::start("gateway", [&](const Part::Side& side) {
                     return gateway(side, stack.options);
                   }));
  stack.parts.push_back(std::move(first));
  COMMENSAL_ASSIGN(stack.place, GatewayPlace::read(stack.parts[0].said()));
  COMMENSAL_ASSIGN(Part second, Part::start("provider", [&](const Part::Side& side) {
                     return provider(side, stack.options, stack.place);
                   }));
  stack.parts.push_back(std::move(second));
  return stack;
}

/// Ends it. How many requests shared a run on the average, as its provider has written.
double end(Stack& stack) {
  while (!stack.parts.empty()) stack.parts.pop_back();
  const auto said = core::read_file(runs_file(stack.options), 64);
  if (!said) return 0;
  std::istringstream words{std::string(core::as_text(*said))};
  double runs = 0, tasks = 0;
  words >> runs >> tasks;
  return runs > 0 ? tasks / runs : 0;
}

}  // namespace

struct BatchingBench::State {
  using Stacks = std::vector<Stack>;  // as kWays

  Result<void> open(Stack& stack, const Network& network) const;
  Result<void> measure(const Network& network, Stacks& stacks, Report& report) const;

  const BatchingOptions options;
  const core::Clock& clock;
  std::vector<Stacks> all;  // as options.networks
};

BatchingBench::BatchingBench(BatchingOptions options, const core::Clock& clock)
    : state_(std::make_unique<State>(State{std::move(options), clock, {}})) {}
BatchingBench::~BatchingBench() = default;

Result<void> BatchingBench::begin() {
  for (const Network& network : state_->options.networks) {
    auto& stacks = state_->all.emplace_back();
    for (const Way& way : kWays) {
      const core::Path folder = state_->options.folder / network.name / way.name;
      COMMENSAL_TRY(make_folder(folder));
      COMMENSAL_ASSIGN(Stack stack, start(folder, way));
      stacks.push_back(std::move(stack));
    }
  }
  return {};
}

/// Until a first request is answered: the provider fetches and plans the model.
Result<void> BatchingBench::State::open(Stack& stack, const Network& network) const {
  const std::string model = "operator/" + network.name;
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(network.file, limits::kModelBytesMax));
  COMMENSAL_TRY(push(stack.place, model, bytes));
  stack.load = grpc_load(question_at(stack.place, request(model)), clock);
  return wait_for(*stack.load);
}

Result<void> BatchingBench::State::measure(const Network& network, Stacks& stacks,
                                           Report& report) const {
  for (Stack& stack : stacks) COMMENSAL_TRY(open(stack, network));
  constexpr std::size_t kCount = std::size(kWays);
  std::array<std::vector<double>, kCount> rates, p50_ms;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
    for (std::size_t k = 0; k < kCount; ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(round + 1)) % kCount;
      COMMENSAL_ASSIGN(const Loaded loaded,
                       stacks[i].load->run(options.concurrency, options.slice_ms));
      if (round < 0) continue;
      rates[i].push_back(loaded.rate());
      p50_ms[i].push_back(loaded.p50_us * 1e-3);
    }
  }
  const std::string how = fmt::format("concurrency {}, {} slices of {} ms", options.concurrency,
                                      options.rounds, options.slice_ms);
  const std::string name = "batching_" + network.name;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string row = fmt::format("{}_{}", name, kWays[i].name);
    stacks[i].load.reset();
    report.rows.push_back(row_at_least(row + "_per_s", {}, rates[i], how));
    report.rows.push_back(row_at_least(row + "_p50_ms", {}, p50_ms[i], how));
    report.rows.push_back(row_at_least(row + "_requests_a_run", {}, {end(stacks[i])}, how));
  }
  const auto& best = median(rates[0]) > median(rates[1]) ? rates[0] : rates[1];
  std::vector<double> ratios;
  for (std::size_t k = 0; k < best.size(); ++k) ratios.push_back(rates[kJoined][k] / best[k]);
  report.rows.push_back(row_at_least(name, network.limit, std::move(ratios), how));
  return {};
}

Result<void> BatchingBench::measure(Report& report) {
  for (std::size_t i = 0; i < state_->all.size(); ++i)
    COMMENSAL_TRY(state_->measure(state_->options.networks[i], state_->all[i], report));
  return {};
}

}  // namespace commensal::lab::bench::serve
