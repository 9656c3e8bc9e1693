// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <functional>
#include <string>
#include <vector>

/// For benches: layers of known networks, one thread, constants packed.
namespace commensal::kernels::cpu::testing {

struct Layer {
  std::string name;
  std::string_view op;
  tensor::Shape x, w;
  std::int64_t stride = 1, pad = 0, group = 1;

  bool is_conv() const { return op.find("Conv") != std::string_view::npos; }
  /// Of a convolution.
  Attributes attributes() const {
    Attributes made;
    made.set("strides", std::vector<std::int64_t>(2, stride));
    made.set("pads", std::vector<std::int64_t>(4, pad));
    made.set("group", group);
    return made;
  }
};

/// Runs an operator of opset 13 for as long as the bench wants; its input `constant` is one.
/// `operations` says how many there are in a run that makes an output of that shape; `unit` is what
/// a thousand million of them in a second are called.
inline void run_call(benchmark::State& state, std::string_view name, const Attributes& attributes,
                     const std::vector<Tensor>& tensors, std::size_t constant, Isa isa,
                     const char* unit,
                     const std::function<double(const tensor::Shape& y)>& operations) {
  std::vector<const Tensor*> inputs, constants(tensors.size(), nullptr);
  for (const Tensor& tensor : tensors) inputs.push_back(&tensor);
  const Operator& op = **find_operator("", name, 13);
  Call call{.opset = 13, .attributes = &attributes, .inputs = constants, .outputs = {}};
  std::shared_ptr<const Packed> packed;
  if (op.pack != nullptr) {
    constants[constant] = inputs[constant];
    packed = *op.pack(call, isa);
  }
  call.inputs = inputs;
  call.outputs = *op.judge->infer(call);
  tensor::Arena arena(std::int64_t{1} << 32);
  ThreadPool threads(1);
  std::vector<Tensor> outputs = {*Tensor::allocate(arena, call.outputs[0])};
  Workspace ws{arena, threads, isa, packed.get()};
  for (auto _ : state) {
    core::check(op.cpu(call, outputs, ws).has_value(), "the call runs");
    benchmark::ClobberMemory();
  }
  state.counters[unit] = benchmark::Counter(1e-9 * operations(outputs[0].shape()),
                                            benchmark::Counter::kIsIterationInvariantRate);
}

/// Shows `run` as a bench of `isa`, timed in microseconds.
inline void add_bench(Isa isa, const std::string& name,
                      const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(fmt::format("{}/{}", name_of(isa), name).c_str(), run)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace commensal::kernels::cpu::testing
