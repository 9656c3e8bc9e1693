// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/dispute/player.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <functional>

/// Disputes staged between an honest side and one that lies: what the laboratory and tests play.
namespace commensal::dispute {

inline crypto::SecretKey key_of(std::uint8_t which) {
  core::Digest secret{};
  secret.fill(which);
  return *crypto::SecretKey::from_bytes(secret);
}

/// What a liar changes in a run.
struct Lie {
  std::size_t node = 0, output = 0;
  std::int64_t element = 0;  // modulo their number
  std::uint8_t mask = 1;
  std::int64_t byte = 0;  // of the element, modulo its size, which the mask is for
};

/// Whether an output's bytes are its own and some are there. What moves values may hand on an
/// input's, and that may be a weight: whoever changed it would change the model, for everybody.
inline bool is_own(const graph::Node& node, const kernels::Call& call,
                   const tensor::Tensor& output) {
  if (output.elements() == 0) return false;
  const kernels::Kind kind = node.op->kind;
  if (kind == kernels::Kind::kElementwise || kind == kernels::Kind::kDotProduct ||
      kind == kernels::Kind::kReduction) {
    return true;
  }
  const std::uint8_t* const begin = output.bytes().data();
  for (const tensor::Tensor* input : call.inputs) {
    if (input == nullptr || input->elements() == 0) continue;
    const core::ByteView bytes = input->bytes();
    const std::less<> before;
    if (!before(begin, bytes.data()) && before(begin, bytes.data() + bytes.size())) return false;
  }
  return true;
}

/// Changes one element before anybody else sees it, where it is the output's own.
class Tampering final : public graph::Tracer {
 public:
  Tampering(const graph::Graph& graph, const Lie& lie, graph::Tracer& inner)
      : graph_(graph), lie_(lie), inner_(inner) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override {
    const bool is_here = &node == graph_.nodes.data() + lie_.node;
    if (is_here && is_own(node, call, outputs[lie_.output])) {
      const tensor::Tensor& output = outputs[lie_.output];
      const auto size = tensor::traits(output.dtype()).size;
      const std::int64_t element = lie_.element % output.shape().elements();
      const_cast<std::uint8_t*>(output.bytes().data())[element * size + lie_.byte % size] ^=
          lie_.mask;
    }
    inner_.after_node(node, call, outputs);
  }

 private:
  const graph::Graph& graph_;
  const Lie& lie_;
  graph::Tracer& inner_;
};

inline Rerun lying(const graph::Graph& graph, const Lie& lie, Rerun honest) {
  return [&graph, lie, honest](graph::Tracer& tracer, core::Pacer* pacer) {
    Tampering tampering(graph, lie, tracer);
    return honest(tampering, pacer);
  };
}

/// Claims steps that end in what it put out: right up to step `from`, then something else.
class Liar final : public Player {
 public:
  Liar(Player&& honest, std::optional<std::uint64_t> from)
      : Player(std::move(honest)), from_(from) {}

 protected:
  std::vector<std::uint64_t> values_of(const arbiter::Program& program, const NodeRun& node,
                                       std::uint64_t element) const override {
    auto values = Player::values_of(program, node, element);
    if (from_) {
      for (std::uint64_t k = *from_ % values.size(); k < values.size(); ++k) values[k] ^= k + 3;
    }
    values.back() = element;
    return values;
  }

 private:
  std::optional<std::uint64_t> from_;
};

/// A model, what it is asked, and the papers of one request.
struct Case {
  std::shared_ptr<const graph::Graph> graph;
  std::shared_ptr<const receipt::ModelLeaves> model;
  std::vector<tensor::Tensor> inputs;
  crypto::SecretKey provider = key_of(1), client = key_of(2), challenger = key_of(3);

  Case(std::shared_ptr<const graph::Graph> given, std::vector<tensor::Tensor> x)
      : graph(std::move(given)),
        model(std::make_shared<receipt::ModelLeaves>(receipt::model_leaves(*graph))),
        inputs(std::move(x)) {}

  Hand hand(arbiter::Side side, Rerun rerun) const {
    return {side,   side == arbiter::Side::kProvider ? &provider : &challenger,
            graph,  model,
            inputs, std::move(rerun)};
  }

  /// Of who runs the model as it is, on this session.
  Hand honest(arbiter::Side side, graph::Session& session) const {
    Hand made = hand(side, rerun_on(session, inputs));
    plan_on(session, made);
    return made;
  }

  /// The receipt of a provider that puts out `output_root`.
  arbiter::Setup setup(const core::Digest& output_root) const {
    core::CounterRng rng(5);
    arbiter::Setup made;
    made.input_salt = rng.next_digest();
    made.output_salt = rng.next_digest();
    made.input_root = receipt::state_root(receipt::name_tensors(*graph, graph->inputs, inputs));
    made.challenger = challenger.address();
    protocol::Receipt& receipt = made.receipt;
    const receipt::ModelRoots roots = receipt::model_roots(*model);
    receipt.job.graph_root = roots.graph;
    receipt.job.weight_root = roots.weights;
    receipt.job.numerics_version = arbiter::kNumericsOfPrograms;
    receipt.job.input_commitment = protocol::commit_input(made.input_root, made.input_salt);
    receipt.job.client = client.address();
    receipt.job.provider = provider.address();
    receipt.step = 1;
    receipt.commitment =
        protocol::commit_step(protocol::job_id(receipt.job), 1, output_root, made.output_salt);
    const std::vector<protocol::ReceiptBody> bodies = {receipt.body()};
    receipt.provider = protocol::sign_batch(provider, protocol::Role::kProvider, bodies)[0];
    receipt.client = protocol::sign_batch(client, protocol::Role::kClient, bodies)[0];
    return made;
  }
};

}  // namespace commensal::dispute
