// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/dispute/contest.hpp>
#include <commensal/verify/rollout/engine.hpp>

/// Disputes between engines, as daemons play them: for tests only.
namespace commensal::rollout::testing {

/// A side that changes an element, and stands by it.
class LyingEngine final : public Engine {
 public:
  LyingEngine(const dispute::Case& one, const dispute::Lie& lie)
      : graph_(one.graph),
        lie_(lie),
        session_(*graph::Session::create(graph_, {})),
        roots_(receipt::model_roots(*one.model)),
        advocate_(
            *graph_, one.model, nullptr,
            [this](const receipt::Values& inputs, const graph::RunOptions& options) {
              graph::Tracer nobody;
              dispute::Tampering tampering(*graph_, lie_,
                                           options.tracer != nullptr ? *options.tracer : nobody);
              graph::RunOptions bent = options;
              bent.tracer = &tampering;
              return session_.run(inputs, bent);
            },
            [](dispute::Player&& player) {
              return std::make_unique<dispute::Liar>(std::move(player), std::nullopt);
            }) {}
  const receipt::ModelRoots& roots() const override { return roots_; }
  const graph::Graph& graph() const override { return *graph_; }
  core::Result<receipt::Values> run(std::uint64_t, const receipt::Values& inputs,
                                    const std::optional<noise::Noise>&,
                                    const graph::RunOptions& options = {}) override {
    graph::Tracer nobody;
    dispute::Tampering tampering(*graph_, lie_, nobody);
    graph::RunOptions bent = options;
    bent.tracer = &tampering;
    return session_.run(inputs, bent);
  }
  core::Result<Counsel> argue(const Argument& argument,
                              const graph::RunOptions& options = {}) override {
    return advocate_.argue(argument, options);
  }

 private:
  std::shared_ptr<const graph::Graph> graph_;
  const dispute::Lie lie_;
  graph::Session session_;
  receipt::ModelRoots roots_;
  Advocate advocate_;
};

/// Both sides by argue() and sign_move(), each without the other's key.
struct Contest {
  const dispute::Case& one;
  Engine& provider;
  Engine& challenger;
  std::function<void(arbiter::Side)> before_move = {};
  std::vector<Said> moves = {};  // once it has been played

  /// What the provider signs its receipt about.
  core::Result<arbiter::Setup> setup() const {
    COMMENSAL_ASSIGN(const auto made, provider.run(1, one.inputs, std::nullopt));
    return one.setup(receipt::outputs_root(*one.graph, made));
  }
  Argument argument(const arbiter::Setup& setup, arbiter::Side side) const {
    return {setup, side, one.inputs, moves};
  }
  core::Result<arbiter::Outcome> play() {
    COMMENSAL_ASSIGN(const arbiter::Setup setup, this->setup());
    const core::ManualClock clock{};
    COMMENSAL_ASSIGN(auto referee, arbiter::Referee::open(setup, clock));
    while (!referee.outcome()) {
      for (const arbiter::Side side : {arbiter::Side::kProvider, arbiter::Side::kChallenger}) {
        if (!referee.owes(side)) continue;
        if (before_move) before_move(side);
        const bool is_provider = side == arbiter::Side::kProvider;
        Engine& engine = is_provider ? provider : challenger;
        COMMENSAL_ASSIGN(const Counsel counsel, engine.argue(argument(setup, side)));
        if (!counsel.move) return core::fail(core::ErrorCode::kInternal, "no move");
        COMMENSAL_ASSIGN(auto move, arbiter::sign_move(is_provider ? one.provider : one.challenger,
                                                       *counsel.move));
        COMMENSAL_TRY(referee.move(side, move));
        moves.push_back({side, std::move(move)});
      }
    }
    return *referee.outcome();
  }
};

/// Small numbers of these inputs' declared shapes.
inline receipt::Values drawn_inputs(const graph::Graph& graph) {
  receipt::Values made;
  for (const graph::ValueId id : graph.inputs) {
    auto dims = graph.values[static_cast<std::size_t>(id)].declared.dims;
    for (auto& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    const tensor::Shape shape = *tensor::Shape::of(dims);
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      values.push_back(core::counter_symmetric_f32(7, 1, static_cast<std::uint64_t>(i)));
    }
    made.push_back(tensor::Tensor::of<float>(shape, values));
  }
  return made;
}

}  // namespace commensal::rollout::testing
