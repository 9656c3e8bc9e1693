// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit codes, one thread, constants packed: GOP/s of 2 M N K operations. Beside them
// the products alone, out of the first-level cache, on every set of kernels: what can be reached.
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/testing/bench_layers.hpp>

namespace commensal::kernels {
namespace {

using cpu::testing::add_bench;
using cpu::testing::Layer;
using cpu::testing::run_call;
using tensor::DType;
using tensor::Shape;

Tensor random_codes(DType type, const Shape& shape, std::uint64_t seed) {
  core::CounterRng rng(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape.elements()));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng.next_u32());
  return Tensor::copy_of({type, shape}, bytes);
}
template <class T>
Tensor one(T value) {
  return Tensor::of<T>({}, std::span<const T>(&value, 1));
}
Tensor random_floats(const Shape& shape) {
  std::vector<float> data(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = core::counter_symmetric_f32(1, 0, i);
  return Tensor::of<float>(shape, data);
}

double operations(const Layer& layer, const Shape& y) {
  const std::int64_t depth = layer.is_conv() ? layer.w.elements(1, layer.w.rank()) : layer.w[0];
  return 2 * static_cast<double>(y.elements() * depth);
}

/// uint8 x, int8 w.
std::vector<Tensor> inputs_of(const Layer& layer) {
  const Tensor codes = random_codes(DType::kUint8, layer.x, 1),
               weights = random_codes(DType::kInt8, layer.w, 2);
  const Tensor zero = one<std::uint8_t>(117), none = one<std::int8_t>(0);
  if (layer.op.ends_with("Integer")) return {codes, weights, zero, none};
  return {codes, one(0.01f), zero, weights, one(0.02f), none, one(0.7f), zero};
}

void run_layer(benchmark::State& state, const Layer& layer, Isa isa) {
  const std::vector<Tensor> inputs = inputs_of(layer);
  const Attributes attributes = layer.is_conv() ? layer.attributes() : Attributes{};
  run_call(state, layer.op, attributes, inputs, inputs.size() == 4 ? 1 : 3, isa, "GOP/s",
           [&](const Shape& y) { return operations(layer, y); });
}

/// A product out of the first-level cache: 64 rows, 64 words, all columns of a tile.
void run_peak(benchmark::State& state, const cpu::CodeKernels& kernels) {
  constexpr std::int64_t kRows = 64, kWords = 64;
  const std::int64_t width = kernels.tile_columns, height = kernels.tile_rows;
  std::vector<float> a(static_cast<std::size_t>(kRows * kWords * kernels.left_parts)),
      b(static_cast<std::size_t>(kWords * width));
  std::vector<std::int32_t> c(static_cast<std::size_t>(kRows * width));
  const cpu::CodePanel panel{.a = a.data(),
                             .a_panel_step = height * kWords * kernels.left_parts,
                             .a_step = height,
                             .b = b.data(),
                             .b_step = width,
                             .c = c.data(),
                             .rows = kRows,
                             .depth = kWords,
                             .columns = static_cast<int>(width)};
  for (auto _ : state) {
    kernels.product(panel);
    benchmark::ClobberMemory();
  }
  state.counters["GOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(kRows * kWords * cpu::kCodesInWord * width),
                         benchmark::Counter::kIsIterationInvariantRate);
}

const Layer kLayers[] = {
    {"stem 7x7/2", "QLinearConv", {1, 3, 224, 224}, {64, 3, 7, 7}, 2, 3},
    {"3x3 64 at 56", "QLinearConv", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1},
    {"3x3 128 at 28", "QLinearConv", {1, 128, 28, 28}, {128, 128, 3, 3}, 1, 1},
    {"3x3 256 at 14", "QLinearConv", {1, 256, 14, 14}, {256, 256, 3, 3}, 1, 1},
    {"3x3 512 at 7", "QLinearConv", {1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1},
    {"3x3/2 64->128 at 56", "QLinearConv", {1, 64, 56, 56}, {128, 64, 3, 3}, 2, 1},
    {"1x1 64->256 at 56", "QLinearConv", {1, 64, 56, 56}, {256, 64, 1, 1}},
    {"1x1 1024->256 at 14", "QLinearConv", {1, 1024, 14, 14}, {256, 1024, 1, 1}},
    {"depthwise 3x3 144 at 56", "QLinearConv", {1, 144, 56, 56}, {144, 1, 3, 3}, 1, 1, 144},
    {"ConvInteger 3x3 128 at 28", "ConvInteger", {1, 128, 28, 28}, {128, 128, 3, 3}, 1, 1},
    {"MatMulInteger 128x768x3072", "MatMulInteger", {128, 768}, {768, 3072}},
    {"MatMulInteger 128x3072x768", "MatMulInteger", {128, 3072}, {3072, 768}},
    {"MatMulInteger 1x4096x4096", "MatMulInteger", {1, 4096}, {4096, 4096}},
    {"QLinearMatMul 128x768x768", "QLinearMatMul", {128, 768}, {768, 768}},
};

void register_linear(Isa isa) {
  const auto add = [isa](const char* op, std::vector<Tensor> inputs) {
    add_bench(isa, fmt::format("{} of 150528", op), [=](benchmark::State& state) {
      run_call(state, op, {}, inputs, 0, isa, "GOP/s",
               [](const Shape& y) { return static_cast<double>(y.elements()); });
    });
  };
  const Tensor x = random_floats({1, 3, 224, 224}), zero = one<std::uint8_t>(117);
  add("QuantizeLinear", {x, one(0.01f), zero});
  add("DequantizeLinear", {random_codes(DType::kUint8, {1, 3, 224, 224}, 1), one(0.01f), zero});
  add("DynamicQuantizeLinear", {x});
}

void register_all() {
  for (const cpu::CodeKernels* kernels : cpu::available_code_kernels()) {
    benchmark::RegisterBenchmark(fmt::format("peak: {}", kernels->name).c_str(),
                                 [kernels](benchmark::State& s) { run_peak(s, *kernels); })
        ->Unit(benchmark::kMicrosecond);
  }
  for (const Isa isa : available_isas()) {
    for (const Layer& layer : kLayers) {
      add_bench(isa, layer.name, [=](benchmark::State& state) { run_layer(state, layer, isa); });
    }
    register_linear(isa);
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace commensal::kernels
