// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/spot/auditor.hpp>
#include <commensal/verify/spot/prover.hpp>
#include <functional>

/// Sublinear audits of honest providers and of others, for tests and the laboratory.
namespace commensal::spot::testing {

using tensor::Tensor;

inline crypto::SecretKey key_of(std::uint8_t which) {
  core::Digest secret{};
  secret.fill(which);
  return *crypto::SecretKey::from_bytes(secret);
}

/// Changes what nodes put out before anybody else sees it.
using Change = std::function<void(std::size_t node, std::size_t output, const Tensor&)>;
class Meddling final : public graph::Tracer {
 public:
  Meddling(const graph::Graph& graph, const Change& change, graph::Tracer& inner)
      : graph_(graph), change_(change), inner_(inner) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      change_(static_cast<std::size_t>(&node - graph_.nodes.data()), o, outputs[o]);
    }
    inner_.after_node(node, call, outputs);
  }

 private:
  const graph::Graph& graph_;
  const Change& change_;
  graph::Tracer& inner_;
};
inline std::span<std::uint8_t> writable(const Tensor& tensor) {
  return {const_cast<std::uint8_t*>(tensor.bytes().data()), tensor.bytes().size()};
}
inline dispute::Rerun meddled(const graph::Graph& graph, Change change, dispute::Rerun honest) {
  return [&graph, change = std::move(change), honest = std::move(honest)](graph::Tracer& tracer,
                                                                          core::Pacer* pacer) {
    Meddling meddling(graph, change, tracer);
    return honest(meddling, pacer);
  };
}

/// A model, what it is asked, and the papers of one request.
struct AuditCase {
  static constexpr std::uint64_t kRound = 9;

  std::shared_ptr<const AuditModel> model;
  std::vector<Tensor> inputs;
  std::shared_ptr<const Survey> survey;
  crypto::SecretKey provider = key_of(1);
  AuditSetup papers;
  kernels::ThreadPool threads{1};

  AuditCase(std::shared_ptr<const graph::Graph> graph, std::vector<Tensor> x, const Terms& terms)
      : model(AuditModel::of(std::move(graph))), inputs(std::move(x)) {
    std::vector<tensor::TensorType> types;
    for (const Tensor& input : inputs) types.push_back(input.type());
    survey = *Survey::of(*model->graph, types);
    core::CounterRng rng(5);
    papers.model = model;
    papers.survey = survey;
    papers.terms = terms;
    papers.round = kRound;
    papers.input_salt = rng.next_digest();
    papers.output_salt = rng.next_digest();
    papers.job.graph_root = model->roots.graph;
    papers.job.weight_root = model->roots.weights;
    papers.job.provider = provider.address();
    papers.job.input_commitment = protocol::commit_input(
        receipt::state_root(receipt::name_tensors(*model->graph, model->graph->inputs, inputs)),
        papers.input_salt);
    papers.body = {protocol::job_id(papers.job), 1, {}, 3};
  }
  /// The provider commits to these outputs.
  void commit(const std::vector<Tensor>& outputs) {
    const auto root =
        receipt::state_root(receipt::name_tensors(*model->graph, model->graph->outputs, outputs));
    papers.body.commitment =
        protocol::commit_step(papers.body.job_id, 1, root, *papers.output_salt);
  }
  Prover prover(dispute::Rerun rerun) {
    return Prover({model, survey, papers.body, &provider, inputs, std::move(rerun)}, threads);
  }
};

struct Played {
  Audit::Phase phase = Audit::Phase::kAsked;
  std::optional<Finding> finding;
  std::size_t questions = 0, bytes = 0;  // of all messages
};
/// One audit from the request to the end. Errors: what either side refuses.
inline core::Result<Played> play(AuditCase& one, Prover& prover, const Digest& beacon,
                                 Scratch& scratch) {
  core::ManualClock clock;
  COMMENSAL_ASSIGN(auto audit, Audit::open(one.papers, clock, scratch));
  COMMENSAL_ASSIGN(const auto roots, prover.roots(audit.request(), AuditCase::kRound - 1));
  COMMENSAL_TRY(audit.roots(roots, AuditCase::kRound - 1));
  Played made{audit.phase(), audit.finding(), 0, audit.request().size() + roots.size()};
  if (audit.phase() == Audit::Phase::kDone) return made;
  COMMENSAL_TRY(audit.beacon(AuditCase::kRound, beacon));
  COMMENSAL_ASSIGN(const auto openings, prover.openings(AuditCase::kRound, beacon));
  COMMENSAL_TRY(audit.openings(openings));
  return Played{audit.phase(), audit.finding(), audit.questions().size(),
                made.bytes + openings.size()};
}

}  // namespace commensal::spot::testing
