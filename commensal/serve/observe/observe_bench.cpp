// SPDX-License-Identifier: Apache-2.0
// What it costs an inference that it is looked at.
#include <benchmark/benchmark.h>

#include <commensal/serve/observe/observer.hpp>

namespace commensal::observe {
namespace {

void count_inference(benchmark::State& state) {
  Metrics metrics(state.range(0) != 0);
  const Ended ended{.is_success = true,
                    .queued_ns = 20'000,
                    .inferred_ns = 3'000'000,
                    .model = "alice/digits",
                    .version = 1,
                    .bytes_in = 256,
                    .bytes_out = 40};
  for (auto _ : state) metrics.count(ended);
}
BENCHMARK(count_inference)->ArgName("tritons")->Arg(0)->Arg(1);

void count_answer(benchmark::State& state) {
  Metrics metrics(false);
  for (auto _ : state) metrics.count("POST", "/v2/models/{model}/infer", 200);
}
BENCHMARK(count_answer);

void tag_request(benchmark::State& state) {
  core::SystemRng rng;
  for (auto _ : state) benchmark::DoNotOptimize(tag_of("", "", rng));
}
BENCHMARK(tag_request);

/// With as many models as have figures of their own.
void write_text(benchmark::State& state) {
  Metrics metrics(false);
  for (int i = 0; i < 1'000; ++i)
    metrics.count(Ended{.is_success = true, .model = "alice/" + std::to_string(i), .version = 1});
  for (auto _ : state) {
    const std::string text = metrics.text({});
    state.counters["bytes"] = static_cast<double>(text.size());
  }
}
BENCHMARK(write_text)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace commensal::observe
