// SPDX-License-Identifier: Apache-2.0
// What is found by comparing elements along an axis: ArgMax, ArgMin, TopK; and CumSum,
// which goes along one too.
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

std::int64_t axis_of(const NodeCall& call, std::int64_t fallback) {
  return normal_axis(call.node.integer("axis", fallback), call.inputs[0].rank());
}
Operand count(std::int64_t value) { return constant(static_cast<std::uint64_t>(value)); }

// ---- ArgMax, ArgMin ---------------------------------------------------------------------

TypeResult arg_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && is_ordered(call.inputs[0]);
  const std::int64_t axis = there ? axis_of(call, 0) : -1;
  if (axis < 0) return unsupported("no program for this element type");
  Dims dims = dims_of(call.inputs[0]);
  if (dims[static_cast<std::size_t>(axis)] == 0) return unsupported("an empty axis");
  dims[static_cast<std::size_t>(axis)] = 1;
  if (call.node.integer("keepdims", 1) == 0) dims.erase(dims.begin() + axis);
  return shaped(static_cast<std::uint8_t>(Element::kInt64), dims);
}

// The position of the first extreme along a row (the last of those that tie, if so asked: with a
// NaN all that come after it do).
template <class At>
Operand position_of_extreme(const Emitter& emit, bool largest, bool last, std::int64_t length,
                            At&& at) {
  const Operand first = emit.put(Op::kCopy, {at(0)});
  Operand best[] = {first, emit.put(Op::kCopy, {count(0)})};
  emit.steps.fold(length - 1, best, [&](std::int64_t i, std::span<Operand> state) {
    const Operand next = emit.put(Op::kCopy, {at(i + 1)});
    const Operand is_better = emit.before(largest, next, state[0]);
    Operand wins = is_better;
    if (last) {
      const Operand is_worse = emit.before(largest, state[0], next);
      wins = emit.select(is_worse, constant(0), constant(1));
      if (emit.ops.is_float) {
        const Operand is_number = emit.equal(state[0], state[0]);
        wins = emit.select(is_number, wins, constant(1));
      }
    }
    state[0] = emit.select(is_better, next, state[0]);
    state[1] = emit.select(wins, count(i + 1), state[1]);
  });
  return best[1];
}

template <bool kLargest>
void arg_extreme(const NodeCall& call, std::size_t output, std::int64_t element,
                 StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const AxisView view = view_of(dims_of(call.inputs[0]), axis_of(call, 0));
  const std::int64_t outer = element / view.inner_size, inner = element % view.inner_size;
  const bool last = call.node.integer("select_last_index", 0) != 0;
  position_of_extreme(emit, kLargest, last, view.length, [&](std::int64_t i) {
    return element_of(0, view.position(outer, i, inner));
  });
}

// ---- TopK -------------------------------------------------------------------------------

struct TopK {
  AxisView from, to;
  Dims dims;
};
std::optional<TopK> top_k_of(const NodeCall& call) {
  const std::int64_t axis = axis_of(call, -1);
  const auto list = call.list("", 1, 1);
  if (axis < 0 || (call.node.opset >= 10 && (!list || list->size() != 1))) return std::nullopt;
  const std::int64_t k = call.node.opset >= 10 ? (*list)[0] : call.node.integer("k", -1);
  TopK made;
  made.dims = dims_of(call.inputs[0]);
  made.from = view_of(made.dims, axis);
  if (k < 0 || k > made.from.length || made.from.length > INT32_MAX) return std::nullopt;
  made.dims[static_cast<std::size_t>(axis)] = k;
  made.to = view_of(made.dims, axis);
  return made;
}
bool has_key(const Shaped& type) {
  return is_binary32(type) || (is_ordered(type) && element_bytes(type.dtype) <= 4 &&
                               !type.is(Element::kUint32) && !is_float(type));
}
TypeResult top_k_type(const NodeCall& call, std::size_t output) {
  const bool there = output < 2 && call.has(0) && has_key(call.inputs[0]);
  const auto top = there ? top_k_of(call) : std::nullopt;
  if (!top) return unsupported("no program for this element type, or a k that nobody can show");
  return shaped(output == 0 ? call.inputs[0].dtype : static_cast<std::uint8_t>(Element::kInt64),
                top->dims);
}
// All keys of the row, then one pass for each place up to the element's: the largest key below that
// of the place before.
void top_k(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const TopK top = *top_k_of(call);
  const std::int64_t outer = top.to.outer(element), inner = top.to.inner(element);
  const Kit& kit = *kit_of(call.inputs[0]);
  const bool largest = call.node.integer("largest", 1) != 0;
  const Op key = kit.ops->is_float ? (largest ? Op::kTopKey32 : Op::kBottomKey32)
                                   : (largest ? Op::kTopKeyInteger : Op::kBottomKeyInteger);
  const Turns keys = steps.each(top.from.length, [&](std::int64_t i) {
    Operand x = element_of(0, top.from.position(outer, i, inner));
    if (kit.load) x = steps.put(*kit.load, {x});
    return std::vector<Operand>{steps.put(key, {x, count(i)})};
  });
  constexpr auto kNone = std::uint64_t{1} << 63;  // below all keys, as a signed number
  Operand found[] = {constant(~kNone)};
  steps.fold(top.to.along(element) + 1, found, [&](std::int64_t, std::span<Operand> before) {
    Operand best[] = {steps.put(Op::kCopy, {constant(kNone)})};
    steps.fold(top.from.length, best, [&](std::int64_t i, std::span<Operand> state) {
      const Operand one = keys.at(i);
      const Operand is_left = steps.put(Op::kLessInteger, {one, before[0]});
      const Operand counts = steps.put(Op::kSelect, {is_left, one, state[0]});
      state[0] = steps.put(Op::kMaximumInteger, {counts, state[0]});
    });
    before[0] = steps.put(Op::kCopy, {best[0]});
  });
  const Operand position = steps.put(Op::kPositionOfKey, {found[0]});
  if (output == 1) return;
  const Operand place = steps.put(Op::kMulAddInteger, {position, count(top.from.inner_size),
                                                       count(top.from.position(outer, 0, inner))});
  steps.put(Op::kCopy, {element_at(0, place)});
}

// ---- CumSum -----------------------------------------------------------------------------

std::int64_t summed_axis(const NodeCall& call) {
  const auto list = call.list("", 1, 1);
  return list && list->size() == 1 ? normal_axis((*list)[0], call.inputs[0].rank()) : -1;
}
TypeResult cum_sum_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && has_kit(call.inputs[0]);
  if (!there || summed_axis(call) < 0) return unsupported("an axis that nobody can show");
  return call.inputs[0];
}
void cum_sum(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const AxisView view = view_of(dims_of(call.inputs[0]), summed_axis(call));
  const bool reverse = call.node.integer("reverse", 0) != 0;
  const std::int64_t outer = view.outer(element), inner = view.inner(element);
  const std::int64_t along = view.along(element);
  const std::int64_t terms = (reverse ? view.length - along : along + 1) -
                             (call.node.integer("exclusive", 0) != 0 ? 1 : 0);
  Operand sum[] = {emit.put(Op::kCopy, {emit.zero()})};
  steps.fold(terms, sum, [&](std::int64_t i, std::span<Operand> state) {
    const std::int64_t at = reverse ? view.length - 1 - i : i;
    state[0] = emit.add(state[0], element_of(0, view.position(outer, at, inner)));
  });
}

}  // namespace

std::span<const OperatorRow> order_rows() {
  constexpr std::string_view kO = "floats, integers but uint64";
  static constexpr OperatorRow kRows[] = {
      {"ArgMax", 1, 0, kO, arg_type, arg_extreme<true>},
      {"ArgMin", 1, 0, kO, arg_type, arg_extreme<false>},
      {"CumSum", 11, 0, "floats, integers", cum_sum_type, cum_sum},
      {"TopK", 1, 0, "float32, float16, bfloat16, integers of at most 32 bits but uint32",
       top_k_type, top_k},
  };
  return kRows;
}

}  // namespace commensal::arbiter
