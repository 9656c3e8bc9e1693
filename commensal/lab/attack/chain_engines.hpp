// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/attack.hpp>
#include <commensal/verify/chain/engine.hpp>

namespace commensal::attack {

/// What computes links of the letter network, with its bill. The auditor's run of a dispute
/// (ChainProvider::trace) is not on it. Thread-safety: one thread.
class ChainEngine : public chain::Engine {
 public:
  explicit ChainEngine(Models& models) : models_(models) {}
  const receipt::ModelRoots& roots() const override { return models_.letters_roots(); }
  const graph::Graph& graph() const override { return models_.letters().graph(); }
  Result<chain::Values> run(std::uint64_t step, const chain::Values& inputs,
                            const std::optional<noise::Noise>& noise,
                            graph::Tracer* tracer) override;

  double cost() const { return cost_; }
  /// Links whose answer was not F(X + noise).
  std::uint64_t bad() const { return bad_; }

 protected:
  /// The answer, and whether it was computed.
  virtual Result<std::pair<chain::Values, bool>> answer(
      std::uint64_t step, const chain::Values& inputs,
      const std::optional<noise::Noise>& noise) = 0;
  Models& models_;

 private:
  double cost_ = 0;
  std::uint64_t bad_ = 0;
};

class HonestEngine final : public ChainEngine {
 public:
  using ChainEngine::ChainEngine;

 protected:
  Result<std::pair<chain::Values, bool>> answer(std::uint64_t step, const chain::Values& inputs,
                                                const std::optional<noise::Noise>& noise) override;
};

/// Has links 2 to n from memory, where they were computed without noise. Link 1, which is always
/// audited, it does honestly.
class MemoEngine final : public ChainEngine {
 public:
  enum class Target { kZeros, kConstant, kNotANumber };

  /// What the client's own inputs lead to.
  static Result<MemoEngine> from_inputs(Models& models, std::uint64_t links);
  /// Link 2 is a leap into that state, the rest is what follows from it.
  static Result<MemoEngine> into(Models& models, Target target, std::uint64_t links);
  /// Every link is what follows from that state.
  static Result<MemoEngine> always(Models& models, Target target);

 protected:
  Result<std::pair<chain::Values, bool>> answer(std::uint64_t step, const chain::Values& inputs,
                                                const std::optional<noise::Noise>& noise) override;

 private:
  using ChainEngine::ChainEngine;
  static chain::Values state(Target target);
  Result<void> follow(chain::Values state, std::uint64_t links);

  std::vector<chain::Values> memory_;  // of links 1, 2, ...; the last one stands for all later
};

/// A provider without ChainProvider's conscience, link by link against a real client that forbids
/// states that noise cannot move. Caught: the client refuses one.
Result<Trial> play_past_provider(Models& models, ChainEngine& engine, std::uint64_t links,
                                 int exponent, std::uint64_t seed);

/// The naive protocol, for chosen inputs: for every ticket the provider commits to an input X_i of
/// its own and to F(X_i + N_i), N_i being the client's noise; an auditor of a winner checks just
/// that.
Result<Trial> play_naive(Models& models, std::uint64_t links, double win, double face, int exponent,
                         std::uint64_t seed);

}  // namespace commensal::attack
