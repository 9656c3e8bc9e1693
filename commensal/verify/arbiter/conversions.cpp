// SPDX-License-Identifier: Apache-2.0
// Conversions, comparisons, truth values and selection (docs/numerics.md, "Conversion").
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

bool is_bool(const Shaped& type) { return type.is(Element::kBool); }
Shaped truths(const Dims& dims) { return shaped(static_cast<std::uint8_t>(Element::kBool), dims); }

// ---- Cast -------------------------------------------------------------------------------

// To what: by attribute, or as the second input is.
Shaped target_of(const NodeCall& call) {
  if (call.node.name == "CastLike") return call.has(1) ? call.inputs[1] : Shaped{};
  return {static_cast<std::uint8_t>(call.node.integer("to", 0)), {}};
}

TypeResult cast_type(const NodeCall& call, std::size_t output) {
  const Shaped to = target_of(call);
  const bool fits = output == 0 && call.has(0) && has_kit(call.inputs[0]) && has_kit(to);
  if (!fits) return unsupported("no program for these element types");
  const Shaped& from = call.inputs[0];
  if ((is_float(from) && to.is(Element::kUint64)) || (is_float(to) && from.is(Element::kUint64))) {
    return unsupported("no program between floats and uint64");
  }
  return shaped(to.dtype, dims_of(from));
}

Operand to_float(const Emitter& emit, bool to_binary32, Operand x) {
  const bool from_binary32 = emit.ops.add == Op::kAdd32;
  if (!emit.ops.is_float) {
    return emit.put(to_binary32 ? Op::kFloatOfInteger : Op::kDoubleOfInteger, {x});
  }
  if (from_binary32 == to_binary32) return emit.canonical(x);
  return emit.put(to_binary32 ? Op::kNarrow : Op::kWiden, {x});
}

void cast(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Operand x = element_of(0, element);
  const Shaped& to = call.outputs[output];
  if (is_bool(to)) {
    emit.select(emit.equal(x, emit.zero()), constant(0), constant(1));
  } else if (is_float(to)) {
    to_float(emit, is_binary32(to), x);
  } else if (!emit.ops.is_float) {
    emit.put(Op::kCopy, {x});
  } else {
    const Kit& kit = *kit_of(to);
    const bool is_short = emit.ops.add == Op::kAdd32;
    const Operand whole = emit.put(is_short ? Op::kIntegerOfFloat : Op::kIntegerOfDouble, {x});
    const Operand above = emit.put(Op::kMaximumInteger, {whole, constant(kit.lowest)});
    emit.put(Op::kMinimumInteger, {above, constant(kit.highest)});
  }
}

// ---- comparisons ------------------------------------------------------------------------

template <std::size_t kInputs, bool (*kAccepts)(const Shaped&)>
TypeResult truth(const NodeCall& call, std::size_t output) {
  if (call.inputs.size() != kInputs) return unsupported("{} inputs are expected", kInputs);
  COMMENSAL_ASSIGN(const auto made, broadcast_type(call, output, kAccepts));
  return truths(dims_of(*made));
}

template <Operand (*kOf)(const Emitter&, const NodeCall&, Operand, Operand)>
void compare(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Dims to = dims_of(call.outputs[output]);
  const auto at = [&](std::size_t i) {
    return element_of(static_cast<int>(i), broadcast_source(element, to, dims_of(call.inputs[i])));
  };
  kOf(emit, call, at(0), at(call.inputs.size() - 1));
}

Operand equal(const Emitter& emit, const NodeCall&, Operand a, Operand b) {
  return emit.equal(a, b);
}
Operand less(const Emitter& emit, const NodeCall&, Operand a, Operand b) { return emit.less(a, b); }
Operand greater(const Emitter& emit, const NodeCall&, Operand a, Operand b) {
  return emit.less(b, a);
}
Operand less_or_equal(const Emitter& emit, const NodeCall&, Operand a, Operand b) {
  const Operand same = emit.equal(a, b);
  return emit.select(emit.less(a, b), constant(1), same);
}
Operand greater_or_equal(const Emitter& emit, const NodeCall& call, Operand a, Operand b) {
  return less_or_equal(emit, call, b, a);
}
Operand both(const Emitter& emit, const NodeCall&, Operand a, Operand b) {
  return emit.select(a, b, constant(0));
}
Operand either(const Emitter& emit, const NodeCall&, Operand a, Operand b) {
  return emit.select(a, constant(1), b);
}
Operand inverse(const Emitter& emit, const NodeCall&, Operand a, Operand) {
  return emit.select(a, constant(0), constant(1));
}
Operand different(const Emitter& emit, const NodeCall&, Operand a, Operand b) {
  return emit.select(emit.equal(a, b), constant(0), constant(1));
}
Operand is_nan(const Emitter& emit, const NodeCall& call, Operand a, Operand) {
  return different(emit, call, a, a);
}
Operand is_infinite(const Emitter& emit, const NodeCall& call, Operand a, Operand) {
  const auto at = [&](const char* name, std::uint64_t bits) {
    const bool counts = call.node.integer(name, 1) != 0;
    return emit.select(emit.equal(a, constant(bits)), constant(counts ? 1 : 0), constant(0));
  };
  const Operand above = at("detect_positive", emit.highest);
  return emit.select(at("detect_negative", emit.lowest), constant(1), above);
}

// ---- Where ------------------------------------------------------------------------------

TypeResult where_type(const NodeCall& call, std::size_t output) {
  const bool fits = output == 0 && call.inputs.size() == 3 && call.has(0) && call.has(1) &&
                    call.has(2) && is_bool(call.inputs[0]) &&
                    call.inputs[1].dtype == call.inputs[2].dtype;
  if (!fits) return unsupported("inputs that do not fit");
  const auto choices = broadcast(dims_of(call.inputs[1]), dims_of(call.inputs[2]));
  const auto all = choices ? broadcast(dims_of(call.inputs[0]), *choices) : std::nullopt;
  if (!all) return unsupported("inputs that do not fit");
  return shaped(call.inputs[1].dtype, *all);
}
void where(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims to = dims_of(call.outputs[0]);
  const auto at = [&](int i) {
    const Dims from = dims_of(call.inputs[static_cast<std::size_t>(i)]);
    return element_of(i, broadcast_source(element, to, from));
  };
  steps.put(Op::kSelect, {at(0), at(1), at(2)});
}

}  // namespace

std::span<const OperatorRow> conversion_rows() {
  constexpr std::string_view kO = "floats, integers but uint64", kT = "bool", kFf = "floats",
                             kN = "floats, integers, bool";
  static constexpr OperatorRow kRows[] = {
      {"And", 7, 0, kT, truth<2, is_bool>, compare<both>},
      {"Cast", 6, 0, "floats, integers, bool; not between floats and uint64", cast_type, cast},
      {"CastLike", 15, 0, "as Cast", cast_type, cast},
      {"Equal", 7, 0, kN, truth<2, has_kit>, compare<equal>},
      {"Greater", 7, 0, kO, truth<2, is_ordered>, compare<greater>},
      {"GreaterOrEqual", 12, 0, kO, truth<2, is_ordered>, compare<greater_or_equal>},
      {"IsInf", 10, 0, kFf, truth<1, is_float>, compare<is_infinite>},
      {"IsNaN", 9, 0, kFf, truth<1, is_float>, compare<is_nan>},
      {"Less", 7, 0, kO, truth<2, is_ordered>, compare<less>},
      {"LessOrEqual", 12, 0, kO, truth<2, is_ordered>, compare<less_or_equal>},
      {"Not", 1, 0, kT, truth<1, is_bool>, compare<inverse>},
      {"Or", 7, 0, kT, truth<2, is_bool>, compare<either>},
      {"Where", 9, 0, "all", where_type, where},
      {"Xor", 7, 0, kT, truth<2, is_bool>, compare<different>},
  };
  return kRows;
}

}  // namespace commensal::arbiter
