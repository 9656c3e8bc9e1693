// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/sim/stubborn.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <cstring>

namespace commensal::sim {
namespace {

using core::Result;
using receipt::Values;
using tensor::Tensor;

/// Puts an answer in the place of the graph's outputs before anybody else sees them.
class Overwriting final : public graph::Tracer {
 public:
  Overwriting(const graph::Graph& graph, const Values& answer, graph::Tracer& inner)
      : graph_(graph), answer_(answer), inner_(inner) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    for (std::size_t i = 0; i < graph_.outputs.size() && i < answer_.size(); ++i) {
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (node.outputs[o] == graph_.outputs[i] && outputs[o].type() == answer_[i].type() &&
            dispute::is_own(node, call, outputs[o])) {
          const core::ByteView lie = answer_[i].bytes();
          std::memcpy(const_cast<std::uint8_t*>(outputs[o].bytes().data()), lie.data(), lie.size());
        }
      }
    }
    inner_.after_node(node, call, outputs);
  }

 private:
  const graph::Graph& graph_;
  const Values& answer_;
  graph::Tracer& inner_;
};

}  // namespace

Stubborn::Stubborn(std::shared_ptr<const graph::Graph> exact,
                   std::shared_ptr<const receipt::ModelLeaves> leaves, Answer answer)
    : exact_(std::move(exact)),
      answer_(std::move(answer)),
      advocate_(
          *exact_, std::move(leaves), nullptr,
          [this](const Values& inputs, const graph::RunOptions& options) {
            return run(inputs, options);
          },
          [](dispute::Player&& player) {
            return std::make_unique<dispute::Liar>(std::move(player), std::nullopt);
          }) {}

Result<Values> Stubborn::run(const Values& inputs, const graph::RunOptions& options) {
  if (!session_) {
    COMMENSAL_ASSIGN(auto session, graph::Session::create(exact_, {}));
    session_ = std::move(session);
  }
  COMMENSAL_ASSIGN(const Values answer, answer_(inputs));
  Overwriting overwriting(*exact_, answer, *options.tracer);
  graph::RunOptions bent = options;
  bent.tracer = &overwriting;
  return session_->run(inputs, bent);
}

Result<rollout::Counsel> Stubborn::argue(const rollout::Argument& argument,
                                         const graph::RunOptions& options) {
  return advocate_.argue(argument, options);
}

}  // namespace commensal::sim
