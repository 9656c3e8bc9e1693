// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/joint_runs.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/provider/engine.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::provider {

using Answers = std::vector<core::Result<tensor::NamedTensors>>;

namespace {

class SessionEngine final : public Engine {
 public:
  SessionEngine(graph::Session session, receipt::ModelRoots roots)
      : session_(std::move(session)), roots_(roots) {}

  const receipt::ModelRoots& roots() const override { return roots_; }

  core::Result<tensor::NamedTensors> run(const tensor::NamedTensors& inputs) override {
    const graph::Graph& graph = session_.graph();
    COMMENSAL_ASSIGN(const auto ordered, receipt::order_inputs(graph, inputs));
    COMMENSAL_ASSIGN(auto outputs, session_.run(ordered));
    return receipt::name_tensors(graph, graph.outputs, std::move(outputs));
  }

  Answers run_all(std::span<const tensor::NamedTensors* const> requests) override {
    const graph::Graph& graph = session_.graph();
    Answers answers;
    std::vector<graph::JointRuns::Request> ordered;
    for (const tensor::NamedTensors* inputs : requests) {
      auto one = receipt::order_inputs(graph, *inputs);
      if (one) ordered.push_back(*one);
      answers.push_back(one.map([](auto&&) { return tensor::NamedTensors(); }));
    }
    auto runs = joint_.run(ordered);
    auto run = runs.begin();
    for (auto& answer : answers) {
      if (!answer) continue;
      answer = std::move(*run++).map([&](std::vector<tensor::Tensor>&& outputs) {
        return receipt::name_tensors(graph, graph.outputs, std::move(outputs));
      });
    }
    return answers;
  }

 private:
  graph::Session session_;
  graph::JointRuns joint_{session_};
  receipt::ModelRoots roots_;
};

}  // namespace

Answers Engine::run_all(std::span<const tensor::NamedTensors* const> requests) {
  Answers answers;
  for (const tensor::NamedTensors* inputs : requests) answers.push_back(run(*inputs));
  return answers;
}

core::Result<std::unique_ptr<chain::Engine>> EngineFactory::load_chain(
    const core::Path&, const std::vector<protocol::Feed>&) {
  return core::fail(core::ErrorCode::kUnsupported, "this provider computes no chains");
}

core::Result<std::unique_ptr<chain::Engine>> SessionEngineFactory::load_chain(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model_file));
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(graph, options_, feeds));
  return std::make_unique<chain::SessionEngine>(std::move(session), receipt::model_roots(*graph));
}

core::Result<std::unique_ptr<Engine>> SessionEngineFactory::load(const core::Path& model_file) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model_file));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(graph, options_));
  return std::make_unique<SessionEngine>(std::move(session), receipt::model_roots(*graph));
}

}  // namespace commensal::provider
