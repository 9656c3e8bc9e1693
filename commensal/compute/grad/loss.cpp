// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/grad/rules.hpp>

namespace commensal::grad::rules {

using tensor::DType;

namespace {

/// How much of the gradient each place's loss has, [N, 1, D...] beside the scores: its weight, and
/// its part of a mean. Places that are ignored have nothing.
struct Places {
  Value targets;  // each a class, the ignored ones too
  Value share;
};

Places places_of(Step& step) {
  Maker& maker = step.maker();
  const DType dtype = step.x().type().dtype;
  Value targets = step.x(1);
  const std::string reduction = step.text("reduction", "mean");
  Value weight = filled(maker, 1, {dtype, targets.type().shape});
  Value ignored;
  if (step.attributes().has("ignore_index")) {
    const Value index = cast(maker.list({step.integer("ignore_index", 0)}), targets.type().dtype);
    ignored = maker.add("Equal", {targets, index});
    targets = select(ignored, cast(maker.list({0}), targets.type().dtype), targets);
  }
  if (step.has(2)) {
    weight = maker.add("Gather", {step.x(2), targets}, attributes_of({{"axis", std::int64_t{0}}}));
  }
  if (ignored.maker != nullptr) weight = select(ignored, maker.number(0, dtype), weight);
  Value share = step.has_dy(0) ? weight * step.dy(0) : weight * 0.0;
  if (reduction == "mean") share = share / sum(weight, range(0, weight.rank()), false);
  Dims dims = targets.dims();
  dims.insert(dims.begin() + 1, 1);
  return {targets, reshape(share, dims)};
}

Value ones_at(Step& step, Value targets) {
  Maker& maker = step.maker();
  const Value depth = maker.list({step.x().dim(1)});
  const DType dtype = step.x().type().dtype;
  const Value pair =
      grad::concat({reshape(maker.number(0, dtype), {1}), reshape(maker.number(1, dtype), {1})}, 0);
  return maker.add("OneHot", {targets, depth, pair}, attributes_of({{"axis", std::int64_t{1}}}));
}

bool weighs_by_constants(Step& step) {
  if (!step.wants(2)) return true;
  step.refuse("the weights of its classes have no gradient");
  return false;
}

}  // namespace

void cross_entropy(Step& step) {
  if (!weighs_by_constants(step)) return;
  const Places places = places_of(step);
  const Value chances =
      step.maker().add("Softmax", {step.x()}, attributes_of({{"axis", std::int64_t{1}}}));
  Value made = (chances - ones_at(step, places.targets)) * places.share;
  if (step.has_dy(1)) made = made + (step.dy(1) - chances * sum(step.dy(1), {1}, true));
  step.give(0, made);
}

void negative_log_likelihood(Step& step) {
  if (!weighs_by_constants(step)) return;
  const Places places = places_of(step);
  step.give(0, -(ones_at(step, places.targets) * places.share));
}

}  // namespace commensal::grad::rules
