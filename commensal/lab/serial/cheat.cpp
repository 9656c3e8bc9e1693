// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/serial/cheat.hpp>

namespace commensal::serial {
namespace {

using core::Result;
using tensor::Tensor;

/// `exact`, one weight of which is 1 + 2^-10 times as large.
Result<std::shared_ptr<const graph::Graph>> bent(const graph::Graph& exact,
                                                 const std::string& weight) {
  auto made = std::make_shared<graph::Graph>(exact);
  for (auto& [id, value] : made->initialisers) {
    if (exact.name_of(id) != weight || value.dtype() != tensor::DType::kFloat32) continue;
    std::vector<float> values(value.data<float>().begin(), value.data<float>().end());
    for (float& each : values) each *= 1.0009765625f;
    value = Tensor::of<float>(value.shape(), values);
    return std::shared_ptr<const graph::Graph>(std::move(made));
  }
  std::string names;
  for (const auto& [id, value] : exact.initialisers) {
    if (value.dtype() == tensor::DType::kFloat32) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", exact.name_of(id));
    }
  }
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "no float32 weight '{}' in the model; it has {}", weight, names);
}

}  // namespace

Result<std::unique_ptr<CheatEngine>> CheatEngine::create(
    const std::shared_ptr<const graph::Graph>& graph, const graph::SessionOptions& options,
    const std::vector<protocol::Feed>& feeds, Lies lies) {
  std::unique_ptr<CheatEngine> made(new CheatEngine(receipt::model_roots(*graph), std::move(lies)));
  COMMENSAL_ASSIGN(auto honest, noise::NoisySession::create(graph, options, feeds));
  made->sessions_.emplace("", std::move(honest));
  for (const auto& [step, weight] : made->lies_) {
    if (made->sessions_.contains(weight)) continue;
    COMMENSAL_ASSIGN(auto other, bent(*graph, weight));
    COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(std::move(other), options, feeds));
    made->sessions_.emplace(weight, std::move(session));
  }
  return made;
}

std::set<std::uint64_t> drawn_steps(std::uint64_t steps, std::uint64_t count, std::uint64_t seed) {
  core::check(count <= steps, "as many steps as the rollout has");
  core::CounterRng rng(seed);
  std::set<std::uint64_t> drawn;
  while (drawn.size() < count) drawn.insert(1 + rng.next_u64() % steps);
  return drawn;
}

}  // namespace commensal::serial
