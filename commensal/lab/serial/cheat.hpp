// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/rollout/engine.hpp>
#include <map>
#include <set>
#include <string>

namespace commensal::serial {

/// By step: which weight of the model is another one there.
using Lies = std::map<std::uint64_t, std::string>;

/// A provider's engine that computes some steps with another network: one of its weights is a
/// little larger. Thread-safety: one thread.
class CheatEngine final : public rollout::Engine {
 public:
  /// Errors: kInvalidArgument (no such float32 weight), those of NoisySession::create.
  static core::Result<std::unique_ptr<CheatEngine>> create(
      const std::shared_ptr<const graph::Graph>& graph, const graph::SessionOptions& options,
      const std::vector<protocol::Feed>& feeds, Lies lies);

  const receipt::ModelRoots& roots() const override { return roots_; }
  const graph::Graph& graph() const override { return sessions_.at("").graph(); }
  const graph::Graph& graph_of(std::uint64_t step) const override {
    return sessions_.at(weight_of(step)).graph();
  }
  core::Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                                    const std::optional<noise::Noise>& noise,
                                    const graph::RunOptions& options) override {
    return sessions_.at(weight_of(step)).run(inputs, noise, options);
  }

 private:
  CheatEngine(const receipt::ModelRoots& roots, Lies lies)
      : roots_(roots), lies_(std::move(lies)) {}
  std::string weight_of(std::uint64_t step) const {
    const auto lie = lies_.find(step);
    return lie == lies_.end() ? std::string() : lie->second;
  }

  receipt::ModelRoots roots_;
  Lies lies_;
  std::map<std::string, noise::NoisySession> sessions_;  // by weight; "": as it should be
};

/// `count` steps of 1..steps, from a seed. Precondition: count <= steps.
std::set<std::uint64_t> drawn_steps(std::uint64_t steps, std::uint64_t count, std::uint64_t seed);

}  // namespace commensal::serial
