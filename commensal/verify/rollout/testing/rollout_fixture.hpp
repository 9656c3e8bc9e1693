// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/rollout/client.hpp>
#include <commensal/verify/rollout/provider.hpp>
#include <map>

/// A small recurrent network, and both parties of a rollout of it: for tests only.
namespace commensal::rollout::testing {

using tensor::DType;
using tensor::Tensor;

/// letter int64[1], state float32[1,4] -> next letter, next state.
inline std::shared_ptr<const graph::Graph> recurrent(float gate = 0.5f) {
  graph::testing::GraphMaker maker;
  const auto letter = maker.input({1}, DType::kInt64);
  const auto state = maker.input({1, 4});
  std::vector<float> table, gates;
  for (std::uint64_t i = 0; i < 12; ++i) table.push_back(core::counter_symmetric_f32(1, 1, i));
  for (std::uint64_t i = 0; i < 16; ++i) {
    gates.push_back(gate * 4 * core::counter_symmetric_f32(1, 2, i));
  }
  const auto row = maker.node("Gather", {maker.constant(Tensor::of<float>({3, 4}, table)), letter});
  const auto product =
      maker.node("MatMul", {state, maker.constant(Tensor::of<float>({4, 4}, gates))});
  const auto made = maker.node("Tanh", {maker.node("Add", {row, product})});
  kernels::Attributes last;
  last.set("axis", std::int64_t{1});
  last.set("keepdims", std::int64_t{0});
  const auto largest = maker.node("ArgMax", {made}, last, 13);
  const auto next = maker.node("Mod", {largest, maker.integers({3})}, {}, 13);
  maker.output(next);
  maker.output(made);
  const auto declare = [&](graph::ValueId id, DType dtype, std::vector<std::int64_t> dims) {
    auto& declared = maker.graph().values[static_cast<std::size_t>(id)].declared;
    declared.dtype = dtype;
    declared.ranked = true;
    declared.symbols.assign(dims.size(), "");
    declared.dims = std::move(dims);
  };
  declare(next, DType::kInt64, {1});
  declare(made, DType::kFloat32, {1, 4});
  return maker.finish();
}

inline const std::vector<protocol::Feed> kFeeds = {{0, 0}, {1, 1}};

inline std::unique_ptr<SessionEngine> engine_of(const std::shared_ptr<const graph::Graph>& graph) {
  auto session = noise::NoisySession::create(graph, {}, kFeeds);
  core::check(session.has_value(), "a session of a test's graph");
  return std::make_unique<SessionEngine>(
      *std::move(session),
      std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*graph)));
}

/// Both parties' keys, and the job that they agree on.
class RolloutTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSteps = 5;

  RolloutTest() {
    const std::vector<std::int64_t> letter = {1};
    const std::vector<float> state(4, 0.25f);
    record_.inputs = {{graph_->name_of(graph_->inputs[0]), Tensor::of<std::int64_t>({1}, letter)},
                      {graph_->name_of(graph_->inputs[1]), Tensor::of<float>({1, 4}, state)}};
    record_.input_salt = rng_.next_digest();
    protocol::Job& job = record_.job;
    const receipt::ModelRoots roots = receipt::model_roots(*graph_);
    job.kind = protocol::JobKind::kRollout;
    job.graph_root = roots.graph;
    job.weight_root = roots.weights;
    job.numerics_version = kernels::kNumericsVersion;
    job.input_commitment =
        protocol::commit_input(receipt::state_root(record_.inputs), record_.input_salt);
    job.steps = kSteps;
    job.client = client_key_.address();
    job.provider = provider_key_.address();
    job.noise = protocol::NoisePolicy::kCalibrated;
    job.noise_exponent = 12;
    job.noise_anchor = noise_chain(noise_key_, kSteps).anchor();
    job.states = protocol::StateRule::kMovable;
    job.feeds = kFeeds;
  }

  ClientJob::Dependencies client_deps(core::Store& store) const {
    return {client_key_, graph_, noise_key_, &store};
  }
  ProviderJob::Dependencies provider_deps(core::Store& store) {
    return {rng_, provider_key_, &store};
  }

  core::CounterRng rng_{5};
  crypto::SecretKey client_key_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_key_ = crypto::SecretKey::generate(rng_);
  core::Digest noise_key_ = rng_.next_digest();
  std::shared_ptr<const graph::Graph> graph_ = recurrent();
  std::unique_ptr<Engine> engine_ = engine_of(graph_);
  JobRecord record_;
  store::MemoryStore client_store_, provider_store_;
};

/// One step, in order. Error: the first refusal.
inline core::Result<void> make_step(ClientJob& client, ProviderJob& provider, Engine& engine) {
  auto pending = client.pending();
  if (!pending) {
    COMMENSAL_ASSIGN(const auto begin, client.begin());
    COMMENSAL_ASSIGN(const auto commit, provider.begin(begin, engine, 7));
    COMMENSAL_ASSIGN(pending, client.on_commit(commit));
  }
  COMMENSAL_ASSIGN(const auto delivery, provider.countersign(*pending));
  return client.on_deliver(delivery);
}

template <class T>
std::string refusal(const core::Result<T>& result) {
  return result ? "accepted" : result.error().message;
}

}  // namespace commensal::rollout::testing
