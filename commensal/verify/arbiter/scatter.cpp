// SPDX-License-Identifier: Apache-2.0
// ScatterElements, ScatterND, MaxUnpool: every update that may lie at an element's place is gone
// through in order; whether it does, its index says.
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

Operand number(std::int64_t value) { return constant(static_cast<std::uint64_t>(value)); }

// old and update as `reduction` joins them, each result stored.
Operand joined(const NodeCall& call, StepBuilder& steps, Operand old, Operand update) {
  const std::string join = call.node.text("reduction", "none");
  const Kit* kit = kit_of(call.inputs[0]);
  if (join == "none" || call.inputs[0].is(Element::kBool)) return update;
  const Emitter emit{steps, *kit->ops, kit->lowest, kit->highest};
  const auto loaded = [&](Operand x) { return kit->load ? emit.put(*kit->load, {x}) : x; };
  const Operand a = loaded(old), b = loaded(update);
  Operand made;
  if (join == "add") made = emit.add(a, b);
  if (join == "mul") made = emit.mul(a, b);
  if (join == "max") made = emit.maximum(a, b);
  if (join == "min") made = emit.minimum(a, b);
  return kit->store ? emit.put(*kit->store, {made}) : made;
}
bool can_join(const NodeCall& call) {
  const std::string join = call.node.text("reduction", "none");
  return join == "none" || (is_ordered(call.inputs[0]) &&
                            (join == "add" || join == "mul" || join == "max" || join == "min"));
}

// turn(i) -> whether update i lies here, and which it is.
struct Update {
  Operand is_here, value;
};
template <class Turn>
void apply(const NodeCall& call, StepBuilder& steps, Operand old, std::int64_t count, Turn&& turn) {
  Operand state[] = {steps.put(Op::kCopy, {old})};
  steps.fold(count, state, [&](std::int64_t i, std::span<Operand> now) {
    const Update update = turn(i);
    const Operand changed = joined(call, steps, now[0], update.value);
    now[0] = steps.put(Op::kSelect, {update.is_here, changed, now[0]});
  });
}

TypeResult scatter_elements_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.inputs.size() == 3 && call.has(0) && call.has(1) &&
                     is_index(call.inputs[1]) && can_join(call) &&
                     call.inputs[2] == shaped(call.inputs[0].dtype, dims_of(call.inputs[1])) &&
                     call.inputs[1].rank() == call.inputs[0].rank();
  const std::int64_t axis =
      there ? normal_axis(call.node.integer("axis", 0), call.inputs[0].rank()) : -1;
  if (axis < 0) return unsupported("inputs that do not fit, or another reduction");
  return call.inputs[0];
}
void scatter_elements(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims x = dims_of(call.inputs[0]), from = dims_of(call.inputs[1]);
  const auto axis =
      static_cast<std::size_t>(normal_axis(call.node.integer("axis", 0), call.inputs[0].rank()));
  Dims at = split(element, x);
  const std::int64_t along = at[axis];
  std::int64_t count = from[axis];
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (d != axis && at[d] >= from[d]) count = 0;
  }
  apply(call, steps, element_of(0, element), count, [&](std::int64_t i) {
    at[axis] = i;
    const std::int64_t update = join(at, from);
    const Operand index = index_at(call, steps, update, x[axis]);
    return Update{steps.put(Op::kEqualInteger, {index, number(along)}), element_of(2, update)};
  });
}

TypeResult scatter_nd_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.inputs.size() == 3 && call.has(0) &&
                     call.inputs[1].is(Element::kInt64) && can_join(call) &&
                     call.inputs[1].rank() >= 1;
  if (!there) return unsupported("inputs that do not fit, or another reduction");
  const Dims x = dims_of(call.inputs[0]), at = dims_of(call.inputs[1]);
  if (at.back() < 1 || at.back() > call.inputs[0].rank())
    return unsupported("tuples of this length");
  Dims expected(at.begin(), at.end() - 1);
  expected.insert(expected.end(), x.begin() + at.back(), x.end());
  if (call.inputs[2] != shaped(call.inputs[0].dtype, expected)) {
    return unsupported("inputs that do not fit");
  }
  return call.inputs[0];
}
void scatter_nd(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims x = dims_of(call.inputs[0]);
  const std::int64_t depth = dims_of(call.inputs[1]).back();
  const Dims place = split(element, x);
  const std::int64_t slice = product(std::span(x).subspan(static_cast<std::size_t>(depth)));
  const std::int64_t tuples = call.inputs[1].elements() / depth;
  apply(call, steps, element_of(0, element), tuples, [&](std::int64_t t) {
    Operand is_here = constant(1);
    for (std::int64_t d = 0; d < depth; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const Operand index = index_at(call, steps, t * depth + d, x[axis]);
      const Operand fits = steps.put(Op::kEqualInteger, {index, number(place[axis])});
      is_here = steps.put(Op::kSelect, {is_here, fits, constant(0)});
    }
    return Update{is_here, element_of(2, t * slice + element % slice)};
  });
}

// The shape that MaxPool took to make X, by the attributes.
std::optional<Dims> pooled_from(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]);
  const std::size_t rank = x.size() - 2;
  Dims kernel = call.node.integers("kernel_shape"), strides = call.node.integers("strides"),
       pads = call.node.integers("pads");
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (kernel.size() != rank || strides.size() != rank || pads.size() != 2 * rank) return {};
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  Dims dims = {x[0], x[1]};
  for (std::size_t d = 0; d < rank; ++d) {
    for (const std::int64_t v : {kernel[d], strides[d], pads[d], pads[d + rank], x[d + 2]}) {
      if (v < 0 || v > kMost) return {};
    }
    dims.push_back((x[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + rank]);
    if (dims.back() < 1) return {};
  }
  const bool is_sane = shaped(call.inputs[0].dtype, dims).valid().has_value();
  return is_sane ? std::optional(dims) : std::nullopt;
}
TypeResult max_unpool_type(const NodeCall& call, std::size_t output) {
  const bool there =
      output == 0 && call.has(0) && call.has(1) && is_float(call.inputs[0]) &&
      call.inputs[0].rank() >= 3 &&
      call.inputs[1] == shaped(static_cast<std::uint8_t>(Element::kInt64), dims_of(call.inputs[0]));
  const auto pooled = there ? pooled_from(call) : std::nullopt;
  const auto stated = call.list("", 2, 9);
  if (!pooled || !stated) return unsupported("a shape that nobody can show");
  return shaped(call.inputs[0].dtype, call.has(2) ? *stated : *pooled);
}
void max_unpool(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims pooled = *pooled_from(call), at = split(element, dims_of(call.outputs[0]));
  bool inside = at.size() == pooled.size();
  for (std::size_t d = 0; inside && d < at.size(); ++d) inside = at[d] < pooled[d];
  const std::int64_t place = inside ? join(at, pooled) : -1;
  const std::int64_t count = inside ? call.inputs[0].elements() : 0;
  apply(call, steps, constant(0), count, [&](std::int64_t i) {
    const Operand index = index_at(call, steps, i, product(pooled));
    return Update{steps.put(Op::kEqualInteger, {index, number(place)}), element_of(0, i)};
  });
}

}  // namespace

std::span<const OperatorRow> scatter_rows() {
  constexpr std::string_view kAll = "all; with a reduction floats, integers but uint64";
  static constexpr OperatorRow kRows[] = {
      {"MaxUnpool", 9, 0, "floats", max_unpool_type, max_unpool},
      {"Scatter", 9, 10, kAll, scatter_elements_type, scatter_elements},
      {"ScatterElements", 11, 0, kAll, scatter_elements_type, scatter_elements},
      {"ScatterND", 11, 0, kAll, scatter_nd_type, scatter_nd},
  };
  return kRows;
}

}  // namespace commensal::arbiter
