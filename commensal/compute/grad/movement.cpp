// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>

namespace commensal::grad::rules {

namespace shapes = kernels::shape_inference;
using shapes::slice_of;

namespace {

Value padded(Value x, const Dims& before, const Dims& after) {
  Dims pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return x;
  return x.maker->add("Pad", {x, x.maker->list(pads)});
}

/// Along one axis: entry i is x's at places[i], nothing where that is -1.
Value spread_along(Value x, std::int64_t axis, Dims places) {
  Dims room = x.dims();
  room[static_cast<std::size_t>(axis)] = 1;
  const tensor::Shape nothing = x.maker->shape(room);
  const Value longer = grad::concat({x, filled(*x.maker, 0, {x.type().dtype, nothing})}, axis);
  for (std::int64_t& place : places) {
    if (place < 0) place = longer.dim(static_cast<int>(axis)) - 1;
  }
  return x.maker->add("Gather", {longer, x.maker->list(places)}, attributes_of({{"axis", axis}}));
}

/// Where along an axis what is padded comes from.
Dims padded_places(shapes::PadMode mode, std::int64_t from, std::int64_t to, std::int64_t before) {
  Dims places = range(-before, to - before);
  for (std::int64_t& x : places) {
    if (mode == shapes::PadMode::kEdge) x = std::clamp<std::int64_t>(x, 0, from - 1);
    if (mode == shapes::PadMode::kReflect && x < 0) x = -x;
    if (mode == shapes::PadMode::kReflect && x >= from) x = 2 * (from - 1) - x;
    if (mode == shapes::PadMode::kWrap) x = (x % from + from) % from;
  }
  return places;
}

}  // namespace

void identity(Step& step) { step.give(0, step.dy()); }
void reshape(Step& step) { step.give(0, grad::reshape(step.dy(), step.x().dims())); }
void expand(Step& step) { step.give(0, step.dy()); }

void transpose(Step& step) {
  Dims order = step.integers("perm");
  const int rank = step.x().rank();
  if (order.empty()) {
    order = range(0, rank);
    std::ranges::reverse(order);
  }
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  step.give(0, grad::transpose(step.dy(), back));
}

void concat(Step& step) {
  const auto axis = tensor::normalise_axis(step.integer("axis", 1), step.y().rank());
  if (!axis) return step.refuse(axis.error().message);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < step.inputs(); ++i) {
    const std::int64_t length = step.x(i).dim(*axis);
    step.give(i, [&] { return grad::slice(step.dy(), {at}, {at + length}, {*axis}); });
    at += length;
  }
}

void split(Step& step) {
  const auto call = step.read_call([](const kernels::Call& c) { return shapes::split_of(c); });
  if (!step.maker().state()) return;
  std::vector<Value> parts;
  for (std::size_t i = 0; i < call.lengths.size(); ++i) {
    if (step.has_y(i)) {
      parts.push_back(step.dy(i));
      continue;
    }
    Dims dims = step.x().dims();
    dims[static_cast<std::size_t>(call.axis)] = call.lengths[i];
    parts.push_back(filled(step.maker(), 0, {step.x().type().dtype, step.maker().shape(dims)}));
  }
  step.give(0, grad::concat(parts, call.axis));
}

void slice(Step& step) {
  const auto call = step.read_call([](const kernels::Call& c) { return slice_of(c); });
  if (!step.maker().state()) return;
  Value dy = step.dy();
  Dims before, after;
  for (int axis = 0; axis < dy.rank(); ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t length = call.from.shape[axis], count = dy.dim(axis);
    if (call.step[d] == 1 || count == 0) {
      before.push_back(count == 0 ? 0 : call.start[d]);
      after.push_back(length - count - before.back());
      continue;
    }
    if (!step.maker().has_room_for(length, tensor::DType::kInt64)) return;
    Dims places(static_cast<std::size_t>(length), -1);
    for (std::int64_t i = 0; i < count; ++i)
      places[static_cast<std::size_t>(call.start[d] + i * call.step[d])] = i;
    dy = spread_along(dy, axis, std::move(places));
    before.push_back(0);
    after.push_back(0);
  }
  step.give(0, padded(dy, before, after));
}

void pad(Step& step) {
  const auto call = step.read_call([](const kernels::Call& c) { return shapes::pad_of(c); });
  if (!step.maker().state()) return;
  if (call.mode != shapes::PadMode::kConstant) {
    return step.through([&](const std::vector<Value>& xs) -> std::vector<Value> {
      Value made = xs[0];
      for (int axis = 0; axis < made.rank(); ++axis) {
        const std::int64_t before = call.before[static_cast<std::size_t>(axis)];
        if (!step.maker().has_room_for(step.y().dim(axis), tensor::DType::kInt64)) return {};
        const Dims places = padded_places(call.mode, made.dim(axis), step.y().dim(axis), before);
        if (places == range(0, made.dim(axis))) continue;
        made = step.maker().add("Gather", {made, step.maker().list(places)},
                                attributes_of({{"axis", std::int64_t{axis}}}));
      }
      return {made};
    });
  }
  if (step.wants(2)) return step.refuse("its value has no gradient");
  Dims starts, ends, before, after;
  for (int axis = 0; axis < step.x().rank(); ++axis) {
    const std::int64_t from = step.x().dim(axis), to = step.y().dim(axis);
    const std::int64_t moved = call.before[static_cast<std::size_t>(axis)];
    starts.push_back(std::max<std::int64_t>(moved, 0));
    ends.push_back(std::max(starts.back(), std::min(from + moved, to)));
    before.push_back(std::max<std::int64_t>(-moved, 0));
    after.push_back(from - before.back() - (ends.back() - starts.back()));
  }
  step.give(0,
            padded(grad::slice(step.dy(), starts, ends, range(0, step.x().rank())), before, after));
}

void tile(Step& step) {
  Dims split, axes;
  for (int axis = 0; axis < step.x().rank(); ++axis) {
    const std::int64_t from = step.x().dim(axis), to = step.y().dim(axis);
    if (from != to && from != 0) {
      axes.push_back(static_cast<std::int64_t>(split.size()));
      split.push_back(to / from);
    }
    split.push_back(from);
  }
  step.give(0, grad::reshape(sum(grad::reshape(step.dy(), split), axes, false), step.x().dims()));
}

void trilu(Step& step) {
  std::vector<Value> inputs = {step.dy()};
  if (step.has(1)) inputs.push_back(step.x(1));
  const std::int64_t upper = step.integer("upper", 1);
  step.give(0, step.maker().add("Trilu", inputs, attributes_of({{"upper", upper}})));
}

void depth_to_space(Step& step) {
  const std::int64_t block = step.integer("blocksize", 0);
  const Value dy = step.dy(), x = step.x();
  if (step.text("mode", "DCR") == "DCR") {
    return step.give(0,
                     step.maker().add("SpaceToDepth", {dy}, attributes_of({{"blocksize", block}})));
  }
  const Value split =
      grad::reshape(dy, {x.dim(0), x.dim(1) / (block * block), x.dim(2), block, x.dim(3), block});
  step.give(0, grad::reshape(grad::transpose(split, {0, 1, 3, 5, 2, 4}), x.dims()));
}

void space_to_depth(Step& step) {
  const std::int64_t block = step.integer("blocksize", 0);
  step.give(0,
            step.maker().add("DepthToSpace", {step.dy()}, attributes_of({{"blocksize", block}})));
}

void dropout(Step& step) {
  Maker& maker = step.maker();
  const auto known = [&](std::size_t i) {
    return step.has(i) ? maker.constant(step.node().inputs[i]) : nullptr;
  };
  bool trains = step.opset() < 7 && step.integer("is_test", 0) == 0;
  if (step.has(2)) {
    if (known(2) == nullptr) return step.refuse("its training_mode is not known before it runs");
    trains = known(2)->elements() == 1 && known(2)->data<bool>()[0];
  }
  if (!trains) return step.give(0, step.dy());
  const tensor::DType dtype = step.x().type().dtype;
  const Value kept =
      step.y_or_more(1, {step.opset() < 10 ? dtype : tensor::DType::kBool, step.y().type().shape});
  const Value ratio = step.has(1)
                          ? grad::cast(grad::reshape(step.x(1), {}), tensor::DType::kFloat32)
                          : maker.number(step.opset() < 12 ? step.real("ratio", 0.5f) : 0.5,
                                         tensor::DType::kFloat32);
  const Value scale = grad::cast(apply("Reciprocal", 1.0 - ratio), dtype);
  const Value is_kept = step.opset() < 10 ? greater(kept, 0.0) : kept;
  step.give(0, select(is_kept, step.dy() * scale, 0.0));
}

}  // namespace commensal::grad::rules
