// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/rollout_engines.hpp>
#include <limits>

namespace commensal::attack {

using receipt::Values;
using tensor::Tensor;

Result<Values> RolloutEngine::run(std::uint64_t step, const Values& inputs,
                                  const std::optional<noise::Noise>& noise,
                                  const graph::RunOptions& options) {
  if (options.tracer != nullptr) return models_.letters().run(inputs, noise, options);
  COMMENSAL_ASSIGN(auto made, answer(step, inputs, noise));
  auto& [values, was_computed] = made;
  cost_ += was_computed ? price::kStep : price::kGarbage;
  COMMENSAL_ASSIGN(const Values right, models_.letters().run(inputs, noise));
  const bool is_right =
      receipt::outputs_root(graph(), values) == receipt::outputs_root(graph(), right);
  bad_ += is_right ? 0 : 1;
  return std::move(values);
}

Result<std::pair<Values, bool>> HonestEngine::answer(std::uint64_t, const Values& inputs,
                                                     const std::optional<noise::Noise>& noise) {
  COMMENSAL_ASSIGN(auto values, models_.letters().run(inputs, noise));
  return std::pair(std::move(values), true);
}

Values MemoEngine::state(Target target) {
  constexpr float kConstant = 0.5f;
  const float value = target == Target::kZeros      ? 0
                      : target == Target::kConstant ? kConstant
                                                    : std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::int64_t> letter = {0};
  const std::vector<float> state(160, value);
  return {Tensor::of<std::int64_t>({1}, letter), Tensor::of<float>({1, 160}, state)};
}

Result<void> MemoEngine::follow(Values state, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    COMMENSAL_ASSIGN(memory_.emplace_back(), models_.letters().run(state, std::nullopt));
    const Values& outputs = memory_.back();
    for (const protocol::Feed& feed : Models::letters_feeds()) {
      state[feed.input] = outputs[feed.output];
    }
  }
  return {};
}

Result<MemoEngine> MemoEngine::from_inputs(Models& models, std::uint64_t steps) {
  MemoEngine engine(models);
  Values inputs;
  for (const auto& item : Models::letters_inputs()) inputs.push_back(item.value);
  COMMENSAL_TRY(engine.follow(std::move(inputs), steps));
  return engine;
}

Result<MemoEngine> MemoEngine::into(Models& models, Target target, std::uint64_t steps) {
  MemoEngine engine(models);
  // Steps 1 and 2, then what follows. The leap has the shapes of an answer, and the target in the
  // places that are fed back.
  const Values leap = state(target);
  COMMENSAL_ASSIGN(Values answer, models.letters().run(leap, std::nullopt));
  for (const protocol::Feed& feed : Models::letters_feeds()) {
    answer[feed.output] = leap[feed.input];
  }
  engine.memory_ = {{}, std::move(answer)};
  COMMENSAL_TRY(engine.follow(leap, steps));
  return engine;
}

Result<MemoEngine> MemoEngine::always(Models& models, Target target) {
  MemoEngine engine(models);
  engine.memory_ = {{}};
  COMMENSAL_TRY(engine.follow(state(target), 1));
  return engine;
}

Result<std::pair<Values, bool>> MemoEngine::answer(std::uint64_t step, const Values& inputs,
                                                   const std::optional<noise::Noise>& noise) {
  if (step > 1) {
    const std::size_t place = std::min<std::size_t>(step, memory_.size()) - 1;
    return std::pair(memory_[place], false);
  }
  COMMENSAL_ASSIGN(auto values, models_.letters().run(inputs, noise));
  return std::pair(std::move(values), true);
}

}  // namespace commensal::attack
