// SPDX-License-Identifier: Apache-2.0
// Operators that copy elements, bits unchanged: one step, which names where the element came from.
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

void copy(StepBuilder& steps, int input, std::int64_t element) {
  steps.put(Op::kCopy, {element_of(input, element)});
}

// ---- in order ---------------------------------------------------------------------------

// As many elements, in the same order; the shape follows from data that nobody need show.
TypeResult as_agreed(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("no program for this output");
  if (call.outputs.empty()) return std::optional<Shaped>();
  const Shaped &from = call.inputs[0], &to = call.outputs[0];
  if (from.dtype != to.dtype || from.elements() != to.elements()) {
    return unsupported("{} made of {}", to.text(), from.text());
  }
  return std::optional<Shaped>();
}
TypeResult unchanged(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("no program for this output");
  return call.inputs[0];
}
// From opset 12 on an input says whether it trains.
TypeResult dropout_type(const NodeCall& call, std::size_t output) {
  const bool trains = call.has(2) && (!call.inputs[2].is(Element::kBool) || !call.lists[2] ||
                                      *call.lists[2] != std::vector<std::int64_t>{0});
  if (trains) return unsupported("a form that may train");
  if (output == 1 && call.has(0) && is_float(call.inputs[0])) {  // the mask: all stay
    const auto truth = static_cast<std::uint8_t>(Element::kBool);
    return shaped(call.node.opset < 10 ? call.inputs[0].dtype : truth, dims_of(call.inputs[0]));
  }
  return unchanged(call, output);
}
void dropout(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  if (output == 0) return copy(steps, 0, element);
  const Emitter emit = computing(call, output, steps);
  emit.put(Op::kCopy, {call.node.opset < 10 ? emit.one() : constant(1)});
}
TypeResult flatten_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("no program for this output");
  const Dims from = dims_of(call.inputs[0]);
  const auto rank = static_cast<std::int64_t>(from.size());
  const std::int64_t axis = call.node.integer("axis", 1);
  if (axis < -rank || axis > rank) return unsupported("an axis");
  const auto cut = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return shaped(call.inputs[0].dtype,
                {product(std::span(from).first(cut)), product(std::span(from).subspan(cut))});
}
void same_place(const NodeCall&, std::size_t, std::int64_t element, StepBuilder& steps) {
  copy(steps, 0, element);
}

// ---- elsewhere --------------------------------------------------------------------------

std::optional<Dims> order_of(const NodeCall& call) {
  const auto rank = call.inputs[0].rank();
  Dims perm = call.node.integers("perm");
  if (perm.empty()) {
    for (std::int64_t d = rank; d-- > 0;) perm.push_back(d);
  }
  for (std::int64_t& axis : perm) axis = normal_axis(axis, rank);
  Dims sorted = perm;
  std::ranges::sort(sorted);
  for (std::size_t d = 0; d < sorted.size(); ++d) {
    if (sorted[d] != static_cast<std::int64_t>(d)) return std::nullopt;
  }
  if (static_cast<std::int64_t>(perm.size()) != rank) return std::nullopt;
  return perm;
}
TypeResult transpose_type(const NodeCall& call, std::size_t output) {
  const auto order = output == 0 && call.has(0) ? order_of(call) : std::nullopt;
  if (!order) return unsupported("attribute 'perm'");
  Dims dims;
  for (const std::int64_t d : *order)
    dims.push_back(call.inputs[0].dim(static_cast<std::size_t>(d)));
  return shaped(call.inputs[0].dtype, dims);
}
void transpose(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims order = *order_of(call), at = split(element, dims_of(call.outputs[0]));
  Dims there(at.size());
  for (std::size_t d = 0; d < at.size(); ++d) there[static_cast<std::size_t>(order[d])] = at[d];
  copy(steps, 0, join(there, dims_of(call.inputs[0])));
}

TypeResult concat_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("no program for this output");
  Dims made = dims_of(call.inputs[0]);
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", 1), static_cast<std::int64_t>(made.size()));
  if (axis < 0) return unsupported("an axis");
  std::int64_t& length = made[static_cast<std::size_t>(axis)];
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Dims next = dims_of(call.inputs[i]);
    const bool fits = next.size() == made.size() && call.inputs[i].dtype == call.inputs[0].dtype;
    if (!fits) return unsupported("inputs that do not fit");
    length += next[static_cast<std::size_t>(axis)];
    next[static_cast<std::size_t>(axis)] = length;
    if (next != made) return unsupported("inputs that do not fit");
  }
  return shaped(call.inputs[0].dtype, made);
}
void concat(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims to = dims_of(call.outputs[0]);
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", 1), static_cast<std::int64_t>(to.size()));
  const AxisView view = view_of(to, axis);
  std::int64_t along = view.along(element);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const AxisView part = view_of(dims_of(call.inputs[i]), axis);
    if (along < part.length) {
      copy(steps, static_cast<int>(i),
           part.position(view.outer(element), along, view.inner(element)));
      return;
    }
    along -= part.length;
  }
}

// The outputs before this one have been agreed on, so their lengths say where it begins.
TypeResult split_type(const NodeCall& call, std::size_t output) {
  if (!call.has(0)) return unsupported("an input is missing");
  Dims left = dims_of(call.inputs[0]);
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", 0), static_cast<std::int64_t>(left.size()));
  if (axis < 0) return unsupported("an axis");
  const auto at = static_cast<std::size_t>(axis);
  if (output >= call.outputs.size()) return std::optional<Shaped>();
  for (std::size_t o = 0; o <= output; ++o) {
    Dims part = dims_of(call.outputs[o]);
    if (part.size() != left.size() || part[at] > left[at])
      return unsupported("parts that do not fit");
    left[at] -= part[at];
    part[at] = left[at];
    if (part != left || call.outputs[o].dtype != call.inputs[0].dtype) {
      return unsupported("parts that do not fit");
    }
  }
  return std::optional<Shaped>();
}
void split_off(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Dims from = dims_of(call.inputs[0]);
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", 0), static_cast<std::int64_t>(from.size()));
  const AxisView whole = view_of(from, axis), part = view_of(dims_of(call.outputs[output]), axis);
  std::int64_t along = part.along(element);
  for (std::size_t o = 0; o < output; ++o) {
    along += call.outputs[o].dim(static_cast<std::size_t>(axis));
  }
  copy(steps, 0, whole.position(part.outer(element), along, part.inner(element)));
}

// Broadcast to a shape that follows from data.
TypeResult expand_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("no program for this output");
  if (call.outputs.empty()) return std::optional<Shaped>();
  const Dims to = dims_of(call.outputs[0]);
  if (call.outputs[0].dtype != call.inputs[0].dtype ||
      broadcast(dims_of(call.inputs[0]), to) != to) {
    return unsupported("{} made of {}", call.outputs[0].text(), call.inputs[0].text());
  }
  return std::optional<Shaped>();
}
void expand(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims to = dims_of(call.outputs[0]), from = dims_of(call.inputs[0]);
  copy(steps, 0, broadcast_source(element, to, from));
}

// ---- Slice ------------------------------------------------------------------------------

struct Slice {
  Dims to, start, step;
};
// Where a slice of a dimension begins, and how many elements it has (Python's rules).
std::int64_t cut(std::int64_t dim, std::int64_t& begin, std::int64_t end, std::int64_t& by) {
  by = std::clamp<std::int64_t>(by, -dim - 1, dim + 1);
  begin = std::clamp<std::int64_t>(begin, -dim - 1, dim);
  end = std::clamp<std::int64_t>(end, -dim - 1, dim);
  if (begin < 0) begin += dim;
  if (end < 0) end += dim;
  begin = std::clamp<std::int64_t>(begin, 0, by > 0 ? dim : dim - 1);
  if (by > 0) end = std::max<std::int64_t>(end, 0);
  const std::int64_t room = by > 0 ? end - begin : begin - end, stride = by > 0 ? by : -by;
  return room <= 0 ? 0 : (room + stride - 1) / stride;
}

std::optional<Slice> slice_of(const NodeCall& call) {
  const auto starts = call.list("starts", 1, 10), ends = call.list("ends", 2, 10);
  auto axes = call.list("axes", 3, 10), steps = call.list("steps", 4, 10);
  if (!starts || !ends || !axes || !steps) return std::nullopt;
  Slice s{dims_of(call.inputs[0]), Dims(call.inputs[0].dims.size()),
          Dims(call.inputs[0].dims.size(), 1)};
  const auto rank = static_cast<std::int64_t>(s.to.size());
  for (std::int64_t d = 0; axes->size() < starts->size() && d < rank; ++d) axes->push_back(d);
  if (steps->empty()) steps->assign(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    return std::nullopt;
  }
  std::vector<bool> seen(s.to.size());
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t axis = normal_axis((*axes)[i], rank);
    if (axis < 0 || (*steps)[i] == 0 || seen[static_cast<std::size_t>(axis)]) return std::nullopt;
    const auto d = static_cast<std::size_t>(axis);
    seen[d] = true;
    s.start[d] = (*starts)[i];
    s.step[d] = (*steps)[i];
    if (s.to[d] > 0) s.to[d] = cut(s.to[d], s.start[d], (*ends)[i], s.step[d]);
  }
  return s;
}

TypeResult slice_type(const NodeCall& call, std::size_t output) {
  const auto slice = output == 0 && call.has(0) ? slice_of(call) : std::nullopt;
  if (!slice) return unsupported("places that nobody can show");
  return shaped(call.inputs[0].dtype, slice->to);
}
void slice(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Slice s = *slice_of(call);
  Dims at = split(element, s.to);
  for (std::size_t d = 0; d < at.size(); ++d) at[d] = s.start[d] + at[d] * s.step[d];
  copy(steps, 0, join(at, dims_of(call.inputs[0])));
}

}  // namespace

std::span<const OperatorRow> movement_rows() {
  static constexpr OperatorRow kRows[] = {
      {"Concat", 4, 0, "all", concat_type, concat},
      {"Dropout", 7, 0, "all, where it does not train", dropout_type, dropout},
      {"Expand", 8, 0, "all", expand_type, expand},
      {"Flatten", 1, 0, "all", flatten_type, same_place},
      {"Identity", 1, 0, "all", unchanged, same_place},
      {"Reshape", 5, 0, "all", as_agreed, same_place},
      {"Slice", 1, 0, "all", slice_type, slice},
      {"Split", 2, 0, "all", split_type, split_off},
      {"Squeeze", 1, 0, "all", as_agreed, same_place},
      {"Transpose", 1, 0, "all", transpose_type, transpose},
      {"Unsqueeze", 1, 0, "all", as_agreed, same_place},
  };
  return kRows;
}

}  // namespace commensal::arbiter
