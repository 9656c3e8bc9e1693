// SPDX-License-Identifier: Apache-2.0
// Layers of known networks, one thread, constants packed: GFLOP/s of the direct sum's 2 M N K
// operations, so that what Winograd saves shows as speed.
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/cpu/testing/bench_layers.hpp>

namespace commensal::kernels {
namespace {

using cpu::testing::Layer;
using tensor::Shape;

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  std::vector<float> data(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = core::counter_symmetric_f32(seed, 0, i);
  return Tensor::of<float>(shape, data);
}

double multiply_adds(const Layer& layer, const Shape& y) {
  if (!layer.is_conv()) return static_cast<double>(y.elements() * layer.w[1]);
  return static_cast<double>(y.elements() * layer.w.elements(1, layer.w.rank()));
}

Attributes attributes_of(const Layer& layer) {
  if (layer.is_conv()) return layer.attributes();
  Attributes transposed;
  transposed.set("transB", std::int64_t{1});
  return transposed;
}

void run_layer(benchmark::State& state, const Layer& layer, Isa isa) {
  cpu::testing::run_call(state, layer.op, attributes_of(layer),
                         {random_tensor(layer.x, 1), random_tensor(layer.w, 2)}, 1, isa, "GFLOP/s",
                         [&](const Shape& y) { return 2 * multiply_adds(layer, y); });
}

const Layer kLayers[] = {
    {"stem 7x7/2", "Conv", {1, 3, 224, 224}, {64, 3, 7, 7}, 2, 3},
    {"1x1 64->256 at 56", "Conv", {1, 64, 56, 56}, {256, 64, 1, 1}},
    {"1x1 256->64 at 56", "Conv", {1, 256, 56, 56}, {64, 256, 1, 1}},
    {"1x1 512->128 at 28", "Conv", {1, 512, 28, 28}, {128, 512, 1, 1}},
    {"1x1 256->1024 at 14", "Conv", {1, 256, 14, 14}, {1024, 256, 1, 1}},
    {"1x1 2048->512 at 7", "Conv", {1, 2048, 7, 7}, {512, 2048, 1, 1}},
    {"3x3/2 64->128 at 56", "Conv", {1, 64, 56, 56}, {128, 64, 3, 3}, 2, 1},
    {"3x3/2 256->512 at 14", "Conv", {1, 256, 14, 14}, {512, 256, 3, 3}, 2, 1},
    {"5x5 64->192 at 27", "Conv", {1, 64, 27, 27}, {192, 64, 5, 5}, 1, 2},
    {"3x3 in 2 groups at 28", "Conv", {1, 128, 28, 28}, {128, 64, 3, 3}, 1, 1, 2},
    {"depthwise 3x3 at 56", "Conv", {1, 144, 56, 56}, {144, 1, 3, 3}, 1, 1, 144},
    {"depthwise 3x3/2 at 56", "Conv", {1, 144, 56, 56}, {144, 1, 3, 3}, 2, 1, 144},
    {"Winograd 64 at 56", "Conv", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1},
    {"Winograd 128 at 28", "Conv", {1, 128, 28, 28}, {128, 128, 3, 3}, 1, 1},
    {"Winograd 256 at 14", "Conv", {1, 256, 14, 14}, {256, 256, 3, 3}, 1, 1},
    {"Winograd 512 at 7", "Conv", {1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1},
    {"Winograd 512 at 7, batch 8", "Conv", {8, 512, 7, 7}, {512, 512, 3, 3}, 1, 1},
    {"Gemm 128x768x3072", "Gemm", {128, 768}, {3072, 768}},
    {"Gemm 1x9216x4096", "Gemm", {1, 9216}, {4096, 9216}},
};

/// The most that the machine's multiply-add units give: a product that stays in the first cache.
const Layer kPeak = {"peak: Gemm 256x256x48", "Gemm", {256, 256}, {48, 256}};

void register_all() {
  for (const Isa isa : available_isas()) {
    const auto add = [isa](const Layer& layer) {
      cpu::testing::add_bench(isa, layer.name,
                              [=](benchmark::State& state) { run_layer(state, layer, isa); });
    };
    add(kPeak);
    for (const Layer& layer : kLayers) add(layer);
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace commensal::kernels
