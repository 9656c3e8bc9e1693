// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/stubborn.hpp>

namespace commensal::sim {
namespace {

using core::Result;
using receipt::Values;
using tensor::DType;
using tensor::Tensor;

Tensor round_to_bf16(const Tensor& exact) {
  if (exact.dtype() != DType::kFloat32) return exact;
  std::vector<float> rounded;
  for (const float value : exact.data<float>()) {
    rounded.push_back(tensor::to_float(tensor::to_bfloat16(value)));
  }
  return Tensor::of<float>(exact.shape(), rounded);
}

/// Appends Cast(to) of `from` and returns the new value.
Result<graph::ValueId> add_cast(graph::Graph& graph, graph::ValueId from, DType to,
                                graph::ValueId into = graph::kAbsent) {
  constexpr int kOpset = 13;
  COMMENSAL_ASSIGN(const auto* cast, kernels::find_operator("", "Cast", kOpset));
  if (into == graph::kAbsent) {
    into = static_cast<graph::ValueId>(graph.values.size());
    graph.values.push_back({});
  }
  graph::Node node;
  node.name = "cheat";
  node.op = cast;
  node.opset = kOpset;
  node.inputs = {from};
  node.outputs = {into};
  node.attributes.set("to", static_cast<std::int64_t>(to));
  graph.nodes.push_back(std::move(node));
  return into;
}

/// The same network, with its weights and what each product layer gives held in bfloat16.
Result<std::shared_ptr<const graph::Graph>> in_bf16(const graph::Graph& exact) {
  auto cheap = std::make_shared<graph::Graph>(exact);
  for (auto& [id, value] : cheap->initialisers) value = round_to_bf16(value);
  std::vector<graph::Node> nodes = std::move(cheap->nodes);
  cheap->nodes.clear();
  for (graph::Node& node : nodes) {
    if (node.op->kind != kernels::Kind::kDotProduct) {
      cheap->nodes.push_back(std::move(node));
      continue;
    }
    const graph::ValueId result = node.outputs[0];
    const auto precise = static_cast<graph::ValueId>(cheap->values.size());
    cheap->values.push_back({});
    node.outputs[0] = precise;
    cheap->nodes.push_back(std::move(node));
    COMMENSAL_ASSIGN(const auto half, add_cast(*cheap, precise, DType::kBfloat16));
    COMMENSAL_TRY(add_cast(*cheap, half, DType::kFloat32, result));
  }
  return cheap;
}

using Loaded = Result<std::unique_ptr<rollout::Engine>>;
using Feeds = std::vector<protocol::Feed>;

class Bf16Engine final : public rollout::Engine {
 public:
  Bf16Engine(noise::NoisySession session, std::shared_ptr<const receipt::ModelLeaves> leaves,
             std::shared_ptr<const graph::Graph> exact)
      : session_(std::move(session)),
        roots_(receipt::model_roots(*leaves)),
        stubborn_(std::move(exact), std::move(leaves),
                  [this](const Values& inputs) { return run(1, inputs, std::nullopt, {}); }) {}

  const receipt::ModelRoots& roots() const override { return roots_; }
  const graph::Graph& graph() const override { return session_.graph(); }

  /// Noise onto a value inside the graph it leaves out.
  Result<Values> run(std::uint64_t, const Values& inputs, const std::optional<noise::Noise>& noise,
                     const graph::RunOptions& options) override {
    Values given = inputs;
    if (noise) {
      COMMENSAL_ASSIGN(given, session_.disturbed(inputs, *noise));
    }
    for (Tensor& value : given) value = round_to_bf16(value);
    return session_.run(given, std::nullopt, options);
  }
  Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                 const graph::RunOptions& options) override {
    return stubborn_.argue(argument, options);
  }

 private:
  noise::NoisySession session_;
  receipt::ModelRoots roots_;  // of the model it was asked to run
  Stubborn stubborn_;
};

class Bf16Factory final : public rollout::EngineFactory {
 public:
  Loaded load(const core::Path& model_file, const Feeds& feeds, const std::stop_token&) override {
    COMMENSAL_ASSIGN(const auto exact, graph::onnx::import_file(model_file));
    COMMENSAL_ASSIGN(const auto cheap, in_bf16(*exact));
    COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(cheap, {}, feeds));
    auto leaves = std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*exact));
    return std::make_unique<Bf16Engine>(std::move(session), std::move(leaves), exact);
  }
};

}  // namespace

std::unique_ptr<rollout::EngineFactory> make_bf16_cheat() {
  return std::make_unique<Bf16Factory>();
}

}  // namespace commensal::sim
