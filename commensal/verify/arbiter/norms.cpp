// SPDX-License-Identifier: Apache-2.0
// LpNormalization and MeanVarianceNormalization (docs/numerics.md, "Sums").
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

std::int64_t axis_of(const NodeCall& call) {
  return normal_axis(call.node.integer("axis", -1), call.inputs[0].rank());
}
TypeResult lp_norm_type(const NodeCall& call, std::size_t output) {
  const std::int64_t p = call.node.integer("p", 2);
  const bool fits = output == 0 && call.has(0) && is_float(call.inputs[0]) && p >= 1 && p <= 2 &&
                    axis_of(call) >= 0;
  if (!fits) return unsupported("no program for this form or element type");
  return call.inputs[0];
}
void lp_norm(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const AxisView view = view_of(dims_of(call.inputs[0]), axis_of(call));
  const bool squares = call.node.integer("p", 2) == 2;
  Operand norm = lane_sum(emit, view.length, [&](std::int64_t i) {
    const Operand x = element_of(0, view.position(view.outer(element), i, view.inner(element)));
    return squares ? emit.mul(x, x) : emit.absolute(x);
  });
  if (squares) norm = emit.sqrt(norm);
  emit.div(element_of(0, element), norm);
}

// The shape with 1 for each dimension that is normalised over, and that of what it is.
struct Spread {
  Dims from, kept, folded;
};
std::optional<Spread> spread_of(const NodeCall& call) {
  Dims axes = {0, 2, 3};
  if (call.node.has("axes")) axes = call.node.integers("axes");
  Spread s;
  s.from = s.kept = dims_of(call.inputs[0]);
  s.folded = Dims(s.from.size(), 1);
  for (const std::int64_t given : axes) {
    const std::int64_t axis = normal_axis(given, call.inputs[0].rank());
    if (axis < 0) return std::nullopt;
    const auto d = static_cast<std::size_t>(axis);
    s.folded[d] = s.from[d];
    s.kept[d] = 1;
  }
  return !axes.empty() && product(s.folded) > 0 ? std::optional(s) : std::nullopt;
}
TypeResult variance_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && is_float(call.inputs[0]);
  if (!there || !spread_of(call)) return unsupported("no program for this form or element type");
  return call.inputs[0];
}
void variance_norm(const NodeCall& call, std::size_t output, std::int64_t element,
                   StepBuilder& steps) {
  constexpr std::uint32_t kTiny = 0x3089705f;  // 1e-9
  const Emitter emit = computing(call, output, steps);
  const Spread s = *spread_of(call);
  Dims base = split(element, s.from);
  for (std::size_t d = 0; d < base.size(); ++d) base[d] = s.kept[d] == 1 ? 0 : base[d];
  const std::int64_t count = product(s.folded);
  const auto at = [&](std::int64_t i) {
    Dims place = split(i, s.folded);
    for (std::size_t d = 0; d < place.size(); ++d) place[d] += base[d];
    return element_of(0, join(place, s.from));
  };
  const Operand mean = emit.div(lane_sum(emit, count, at), emit.number(count));
  const Operand squares = lane_sum(emit, count, [&](std::int64_t i) {
    const Operand d = emit.sub(at(i), mean);
    return emit.mul(d, d);
  });
  const Operand root = emit.sqrt(emit.div(squares, emit.number(count)));
  const Operand padded = emit.add(root, emit.real(kTiny));
  emit.div(emit.sub(element_of(0, element), mean), padded);
}

}  // namespace

std::span<const OperatorRow> norm_rows() {
  static constexpr OperatorRow kRows[] = {
      {"LpNormalization", 1, 0, "floats", lp_norm_type, lp_norm},
      {"MeanVarianceNormalization", 9, 0, "floats", variance_type, variance_norm},
  };
  return kRows;
}

}  // namespace commensal::arbiter
