// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/attack.hpp>
#include <commensal/verify/rollout/engine.hpp>

namespace commensal::attack {

/// What computes steps of the letter network, with its bill. The auditor's run of a dispute
/// (ProviderJob::trace) is not on it. Thread-safety: one thread.
class RolloutEngine : public rollout::Engine {
 public:
  explicit RolloutEngine(Models& models) : models_(models) {}
  const receipt::ModelRoots& roots() const override { return models_.letters_roots(); }
  const graph::Graph& graph() const override { return models_.letters().graph(); }
  Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                              const std::optional<noise::Noise>& noise,
                              const graph::RunOptions& options) override;

  double cost() const { return cost_; }
  /// Steps whose answer was not F(X + noise).
  std::uint64_t bad() const { return bad_; }

 protected:
  /// The answer, and whether it was computed.
  virtual Result<std::pair<receipt::Values, bool>> answer(
      std::uint64_t step, const receipt::Values& inputs,
      const std::optional<noise::Noise>& noise) = 0;
  Models& models_;

 private:
  double cost_ = 0;
  std::uint64_t bad_ = 0;
};

class HonestEngine final : public RolloutEngine {
 public:
  using RolloutEngine::RolloutEngine;

 protected:
  Result<std::pair<receipt::Values, bool>> answer(
      std::uint64_t step, const receipt::Values& inputs,
      const std::optional<noise::Noise>& noise) override;
};

/// Has steps 2 to n from memory, where they were computed without noise. Step 1, which is always
/// audited, it does honestly.
class MemoEngine final : public RolloutEngine {
 public:
  enum class Target { kZeros, kConstant, kNotANumber };

  /// What the client's own inputs lead to.
  static Result<MemoEngine> from_inputs(Models& models, std::uint64_t steps);
  /// Step 2 is a leap into that state, the rest is what follows from it.
  static Result<MemoEngine> into(Models& models, Target target, std::uint64_t steps);
  /// Every step is what follows from that state.
  static Result<MemoEngine> always(Models& models, Target target);

 protected:
  Result<std::pair<receipt::Values, bool>> answer(
      std::uint64_t step, const receipt::Values& inputs,
      const std::optional<noise::Noise>& noise) override;

 private:
  using RolloutEngine::RolloutEngine;
  static receipt::Values state(Target target);
  Result<void> follow(receipt::Values state, std::uint64_t steps);

  std::vector<receipt::Values> memory_;  // of steps 1, 2, ...; the last one stands for all later
};

/// A provider without ProviderJob's conscience, step by step against a real client that forbids
/// states that noise cannot move. Caught: the client refuses one.
Result<Trial> play_past_provider(Models& models, RolloutEngine& engine, std::uint64_t steps,
                                 int exponent, std::uint64_t seed);

/// The naive protocol, for chosen inputs: for every ticket the provider commits to an input X_i of
/// its own and to F(X_i + N_i), N_i being the client's noise; an auditor of a winner checks just
/// that.
Result<Trial> play_naive(Models& models, std::uint64_t steps, double win, double face, int exponent,
                         std::uint64_t seed);

}  // namespace commensal::attack
