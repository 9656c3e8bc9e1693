// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/train/optimiser.hpp>
#include <numbers>

namespace commensal::train {

using grad::Maker;
using grad::Value;
using tensor::DType;

namespace {

constexpr const char* kSteps = "commensal.steps";

Value scalar(Maker& maker, double value) { return maker.number(value, DType::kFloat32); }

/// Of step t: a number of float32.
Value rate_of(Maker& maker, Value t, const StepRequest& request) {
  const Schedule& schedule = request.schedule;
  Value factor = scalar(maker, 1);
  if (schedule.kind != Schedule::Kind::kConstant) {
    const double length = std::max(1.0, static_cast<double>(request.steps) - schedule.warmup);
    Value part = (t - schedule.warmup) / length;  // 0 to 1
    part = maker.add("Clip", {part, scalar(maker, 0), scalar(maker, 1)});
    const Value left = schedule.kind == Schedule::Kind::kLinear
                           ? 1.0 - part
                           : (apply("Cos", part * std::numbers::pi) + 1.0) * 0.5;
    factor = left * (1 - schedule.end) + schedule.end;
  }
  if (schedule.warmup > 0) {
    const Value rising = t / schedule.warmup;
    factor = select(greater(scalar(maker, schedule.warmup), t), rising, factor);
  }
  return factor * request.optimiser.rate;
}

/// What gradients are multiplied by, so that together they are no longer than `clip`.
Value clip_factor(Maker& maker, const std::vector<Weight>& weights, double clip) {
  Value squares;
  for (const Weight& weight : weights) {
    const Value each = maker.add("ReduceSumSquare", {cast(weight.gradient, DType::kFloat32)},
                                 grad::attributes_of({{"keepdims", std::int64_t{0}}}));
    squares = squares.maker == nullptr ? each : squares + each;
  }
  const Value length = apply("Sqrt", squares);
  return maker.add("Min", {scalar(maker, clip) / (length + 1e-6), scalar(maker, 1)});
}

struct Moving {
  Value rate, t;
};

/// What its optimiser computes in: formats of 16 bits have no room for the squares of gradients,
/// for epsilon or for numbers as close to 1 as beta2 is.
Value widened(Value x) {
  const bool is_wide = x.type().dtype == DType::kFloat64;
  return is_wide ? x : cast(x, DType::kFloat32);
}

Value adam_w(Maker& maker, const Optimiser& how, const std::string& name, Value w, Value g,
             const Moving& now, std::vector<Update::Kept>& kept) {
  const DType dtype = w.type().dtype;
  const Value m = maker.input("commensal.m." + name, w.type());
  const Value v = maker.input("commensal.v." + name, w.type());
  const Value m_next = m * how.beta1 + g * (1 - how.beta1);
  const Value v_next = v * how.beta2 + (g * g) * (1 - how.beta2);
  const auto settled = [&](double beta) {
    return cast(1.0 - maker.add("Pow", {scalar(maker, beta), now.t}), dtype);
  };
  const Value first = m_next / settled(how.beta1);
  const Value second = apply("Sqrt", v_next / settled(how.beta2)) + how.epsilon;
  Value move = first / second;
  if (how.decay != 0) move = move + w * how.decay;
  kept.push_back({"commensal.m." + name, m_next});
  kept.push_back({"commensal.v." + name, v_next});
  return w - move * cast(now.rate, dtype);
}

Value descent(Maker& maker, const Optimiser& how, const std::string& name, Value w, Value g,
              const Moving& now, std::vector<Update::Kept>& kept) {
  if (how.decay != 0) g = g + w * how.decay;
  if (how.kind == OptimiserKind::kMomentum || how.kind == OptimiserKind::kNesterov) {
    const Value v = maker.input("commensal.v." + name, w.type());
    const Value next = v * how.momentum + g;
    g = how.kind == OptimiserKind::kNesterov ? g + next * how.momentum : next;
    kept.push_back({"commensal.v." + name, next});
  }
  if (how.kind == OptimiserKind::kAdagrad) {
    const Value v = maker.input("commensal.v." + name, w.type());
    const Value next = v + g * g;
    g = g / (apply("Sqrt", next) + how.epsilon);
    kept.push_back({"commensal.v." + name, next});
  }
  return w - g * cast(now.rate, w.type().dtype);
}

}  // namespace

Update add_update(Maker& maker, const std::vector<Weight>& weights, const StepRequest& request) {
  const Optimiser& how = request.optimiser;
  Update made;
  Value factor;
  if (how.clip > 0) factor = clip_factor(maker, weights, how.clip);
  // Its input comes last: the others are added first.
  const std::size_t place = maker.graph().inputs.size();
  const Value done = maker.input(kSteps, {DType::kFloat32, {}});
  const Value t = done + 1.0;
  const Moving now{rate_of(maker, t, request), t};
  for (const Weight& weight : weights) {
    const Value w = widened(weight.value);
    Value g = widened(weight.gradient);
    if (factor.maker != nullptr) g = g * cast(factor, g.type().dtype);
    const Value next = how.kind == OptimiserKind::kAdamW
                           ? adam_w(maker, how, weight.name, w, g, now, made.kept)
                           : descent(maker, how, weight.name, w, g, now, made.kept);
    made.weights.push_back(cast(next, weight.value.type().dtype));
  }
  made.kept.push_back({kSteps, t});
  auto& inputs = maker.graph().inputs;
  std::rotate(inputs.begin() + static_cast<std::ptrdiff_t>(place),
              inputs.begin() + static_cast<std::ptrdiff_t>(place) + 1, inputs.end());
  return made;
}

}  // namespace commensal::train
