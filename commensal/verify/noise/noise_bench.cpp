// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <commensal/verify/noise/noise.hpp>

namespace commensal::noise {
namespace {

// A picture of 224 x 224: the input of most networks that pictures go into.
void BM_NoiseOnPicture(benchmark::State& state) {
  const std::vector<float> pixels(3 * 224 * 224, 0.25f);
  const tensor::Tensor picture = tensor::Tensor::of<float>({1, 3, 224, 224}, pixels);
  core::Digest seed{};
  for (auto _ : state) {
    ++seed[0];
    benchmark::DoNotOptimize(add(picture, seed, 0, 12));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(pixels.size() * 4));
}
BENCHMARK(BM_NoiseOnPicture);

}  // namespace
}  // namespace commensal::noise
