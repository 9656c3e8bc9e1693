// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/lab/adversaries.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::lab {
namespace {

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
core::Result<graph::ValueId> add_cast(graph::Graph& graph, graph::ValueId from, DType to,
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
core::Result<std::shared_ptr<const graph::Graph>> in_bf16(const graph::Graph& exact) {
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

class Bf16Engine final : public provider::Engine {
 public:
  Bf16Engine(graph::Session session, receipt::ModelRoots roots)
      : session_(std::move(session)), roots_(roots) {}

  const receipt::ModelRoots& roots() const override { return roots_; }

  core::Result<tensor::NamedTensors> run(const tensor::NamedTensors& inputs) override {
    COMMENSAL_ASSIGN(auto ordered, receipt::order_inputs(session_.graph(), inputs));
    for (Tensor& value : ordered) value = round_to_bf16(value);
    COMMENSAL_ASSIGN(auto outputs, session_.run(ordered));
    return receipt::name_tensors(session_.graph(), session_.graph().outputs, std::move(outputs));
  }

 private:
  graph::Session session_;
  receipt::ModelRoots roots_;  // of the model it was asked to run
};

class Bf16Factory final : public provider::EngineFactory {
 public:
  core::Result<std::unique_ptr<provider::Engine>> load(const core::Path& model_file) override {
    COMMENSAL_ASSIGN(const auto exact, graph::onnx::import_file(model_file));
    COMMENSAL_ASSIGN(const auto cheap, in_bf16(*exact));
    COMMENSAL_ASSIGN(auto session, graph::Session::create(cheap, {}));
    return std::make_unique<Bf16Engine>(std::move(session), receipt::model_roots(*exact));
  }
};

/// Learns the outputs' types from one honest run, and never runs again for that shape.
class LazyEngine final : public provider::Engine {
 public:
  explicit LazyEngine(std::unique_ptr<provider::Engine> honest) : honest_(std::move(honest)) {}

  const receipt::ModelRoots& roots() const override { return honest_->roots(); }

  core::Result<tensor::NamedTensors> run(const tensor::NamedTensors& inputs) override {
    if (inputs.empty() || !(inputs[0].value.type() == seen_)) {
      COMMENSAL_ASSIGN(zeros_, honest_->run(inputs));
      seen_ = inputs[0].value.type();
      for (auto& item : zeros_) {
        const core::Bytes nothing(item.value.bytes().size(), 0);
        item.value = Tensor::copy_of(item.value.type(), nothing);
      }
    }
    return zeros_;
  }

 private:
  std::unique_ptr<provider::Engine> honest_;
  tensor::TensorType seen_;
  tensor::NamedTensors zeros_;
};

class LazyFactory final : public provider::EngineFactory {
 public:
  core::Result<std::unique_ptr<provider::Engine>> load(const core::Path& model_file) override {
    provider::SessionEngineFactory honest({});
    COMMENSAL_ASSIGN(auto engine, honest.load(model_file));
    return std::make_unique<LazyEngine>(std::move(engine));
  }
};

class ChainCheatFactory final : public provider::EngineFactory {
 public:
  explicit ChainCheatFactory(serial::Lies lies) : lies_(std::move(lies)) {}
  core::Result<std::unique_ptr<provider::Engine>> load(const core::Path& model_file) override {
    return provider::SessionEngineFactory({}).load(model_file);
  }
  core::Result<std::unique_ptr<chain::Engine>> load_chain(
      const core::Path& model_file, const std::vector<protocol::Feed>& feeds) override {
    COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model_file));
    COMMENSAL_ASSIGN(auto engine, serial::CheatEngine::create(graph, {}, feeds, lies_));
    return std::unique_ptr<chain::Engine>(std::move(engine));
  }

 private:
  serial::Lies lies_;
};

}  // namespace

std::unique_ptr<provider::EngineFactory> make_chain_cheat(serial::Lies lies) {
  return std::make_unique<ChainCheatFactory>(std::move(lies));
}

std::unique_ptr<provider::EngineFactory> make_bf16_cheat() {
  return std::make_unique<Bf16Factory>();
}

std::unique_ptr<provider::EngineFactory> make_lazy_cheat() {
  return std::make_unique<LazyFactory>();
}

}  // namespace commensal::lab
