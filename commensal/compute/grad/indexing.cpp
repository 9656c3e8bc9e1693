// SPDX-License-Identifier: Apache-2.0
// What picks elements: its gradient adds up, row-major over what was picked, in the order of
// ScatterND and ScatterElements.
#include <commensal/compute/grad/rules.hpp>

namespace commensal::grad::rules {

namespace {

kernels::Attributes adding() { return attributes_of({{"reduction", std::string("add")}}); }

Value zeros_like(Value x) { return filled(*x.maker, 0, x.type()); }

/// "none" or "add"; else it refuses.
bool adds(Step& step, bool& known) {
  const std::string reduction = step.text("reduction", "none");
  known = reduction == "none" || reduction == "add";
  if (!known) step.refuse(fmt::format("its reduction '{}' has no gradient", reduction));
  return reduction == "add";
}

/// Places of one batch entry, each behind its own.
Value with_batch(Value indices, std::int64_t batch_dims) {
  Maker& maker = *indices.maker;
  Dims one = indices.dims();
  one.back() = 1;
  std::vector<Value> parts;
  for (std::int64_t d = 0; d < batch_dims; ++d) {
    Dims beside(one.size(), 1);
    beside[static_cast<std::size_t>(d)] = one[static_cast<std::size_t>(d)];
    const std::int64_t length = one[static_cast<std::size_t>(d)];
    if (!maker.has_room_for(length, tensor::DType::kInt64)) return indices;
    const Value count = maker.list(range(0, length));
    parts.push_back(expand(reshape(count, beside), one));
  }
  parts.push_back(indices);
  return concat(parts, -1);
}

}  // namespace

void gather(Step& step) {
  Maker& maker = step.maker();
  const Value x = step.x(), indices = step.x(1), dy = step.dy();
  const auto axis = tensor::normalise_axis(step.integer("axis", 0), x.rank());
  if (!axis) return step.refuse(axis.error().message);
  // The axis first, in x and in what was picked.
  Dims order = {*axis}, back;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != *axis) order.push_back(d);
  }
  back.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  Dims picked = range(*axis, *axis + indices.rank());
  for (int d = 0; d < dy.rank(); ++d) {
    if (d < *axis || d >= *axis + indices.rank()) picked.push_back(d);
  }
  Dims dims;
  for (const std::int64_t d : order) dims.push_back(x.dim(static_cast<int>(d)));
  Dims places = indices.dims();
  places.push_back(1);
  const Value zeros = filled(maker, 0, {x.type().dtype, maker.shape(dims)});
  const Value each = grad::cast(grad::reshape(indices, places), tensor::DType::kInt64);
  step.give(
      0, grad::transpose(
             maker.add("ScatterND", {zeros, each, grad::transpose(dy, picked)}, adding()), back));
}

void gather_elements(Step& step) {
  kernels::Attributes attributes = adding();
  attributes.set("axis", step.integer("axis", 0));
  step.give(0, step.maker().add("ScatterElements", {zeros_like(step.x()), step.x(1), step.dy()},
                                attributes));
}

void gather_nd(Step& step) {
  const std::int64_t batch_dims = step.integer("batch_dims", 0);
  if (batch_dims > 0) {
    const Value places = with_batch(step.x(1), batch_dims);
    return step.give(0, [&] {
      return step.maker().add("ScatterND", {zeros_like(step.x()), places, step.dy()}, adding());
    });
  }
  step.give(0,
            step.maker().add("ScatterND", {zeros_like(step.x()), step.x(1), step.dy()}, adding()));
}

/// Its places are all different ones.
void top_k(Step& step) {
  const Value places = step.y_or_more(1, {tensor::DType::kInt64, step.y().type().shape});
  const std::int64_t axis = step.integer("axis", -1);
  step.give(0, [&] {
    return step.maker().add("ScatterElements", {zeros_like(step.x()), places, step.dy()},
                            attributes_of({{"axis", axis}}));
  });
}

void reverse_sequence(Step& step) {  // its own inverse
  step.give(0, [&] {
    return step.maker().add("ReverseSequence", {step.dy(), step.x(1)},
                            attributes_of({{"batch_axis", step.integer("batch_axis", 1)},
                                           {"time_axis", step.integer("time_axis", 0)}}));
  });
}

void scatter_elements(Step& step) {
  bool known = false;
  const bool added = adds(step, known);
  if (!known) return;
  const auto axis = attributes_of({{"axis", step.integer("axis", 0)}});
  step.give(0, [&] {
    return added ? step.dy()
                 : step.maker().add("ScatterElements",
                                    {step.dy(), step.x(1), zeros_like(step.x(2))}, axis);
  });
  step.give(2, [&] { return step.maker().add("GatherElements", {step.dy(), step.x(1)}, axis); });
}

void scatter_nd(Step& step) {
  bool known = false;
  const bool added = adds(step, known);
  if (!known) return;
  step.give(0, [&] {
    return added ? step.dy()
                 : step.maker().add("ScatterND", {step.dy(), step.x(1), zeros_like(step.x(2))});
  });
  step.give(2, [&] { return step.maker().add("GatherND", {step.dy(), step.x(1)}); });
}

}  // namespace commensal::grad::rules
