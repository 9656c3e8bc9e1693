// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/lab/verify_bench/frauds.hpp>

namespace commensal::lab {
namespace {

using tensor::Tensor;

float in_bf16(float value) { return tensor::to_float(tensor::to_bfloat16(value)); }
float weight_in_bf16(std::size_t, float weight) { return in_bf16(weight); }
float cut(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) >> 4 << 4);
}
float cut_weight(std::size_t, float weight) { return cut(weight); }
float thinned(std::size_t place, float weight) { return place % 2 == 0 ? weight : 0; }

constexpr NamedFraud kDense[] = {
    {"bfloat16 weights and sums", weight_in_bf16, in_bf16},
    {"4 of 23 mantissa bits of each sum dropped", nullptr, cut},
    {"4 of 23 mantissa bits of each weight dropped", cut_weight, nullptr},
    {"half of the weights", thinned, nullptr},
};

/// Passes on the nodes of one graph as those of another with the same ones.
class Posing final : public graph::Tracer {
 public:
  Posing(const graph::Graph& own, const graph::Graph& exact, Fraud::OfOutput of_output,
         graph::Tracer& inner)
      : own_(own), exact_(exact), of_output_(of_output), inner_(inner) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    if (of_output_ != nullptr && node.op->kind == kernels::Kind::kDotProduct) {
      for (const Tensor& output : outputs) {
        if (output.dtype() != tensor::DType::kFloat32) continue;
        const auto values = output.data<float>();
        for (float& value : std::span(const_cast<float*>(values.data()), values.size())) {
          value = of_output_(value);
        }
      }
    }
    inner_.after_node(exact_.nodes[static_cast<std::size_t>(&node - own_.nodes.data())], call,
                      outputs);
  }

 private:
  const graph::Graph& own_;
  const graph::Graph& exact_;
  Fraud::OfOutput of_output_;
  graph::Tracer& inner_;
};

}  // namespace

std::span<const NamedFraud> dense_frauds() { return kDense; }

core::Result<Fraud> Fraud::make(std::shared_ptr<const graph::Graph> exact, OfWeight of_weight,
                                OfOutput of_output) {
  auto cheap = std::make_shared<graph::Graph>(*exact);
  for (auto& [id, value] : cheap->initialisers) {
    if (of_weight == nullptr || value.dtype() != tensor::DType::kFloat32) continue;
    std::vector<float> values(value.data<float>().begin(), value.data<float>().end());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = of_weight(i, values[i]);
    value = Tensor::of<float>(value.shape(), values);
  }
  COMMENSAL_ASSIGN(auto session, graph::Session::create(std::move(cheap), {.threads = 1}));
  return Fraud(std::move(exact), std::move(session), of_output);
}

dispute::Rerun Fraud::rerun(const std::vector<Tensor>& inputs) {
  return [this, &inputs](graph::Tracer& tracer, core::Pacer* pacer) {
    Posing posing(session_.graph(), *exact_, of_output_, tracer);
    return session_.run(inputs, &posing, pacer);
  };
}

}  // namespace commensal::lab
