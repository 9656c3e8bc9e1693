// SPDX-License-Identifier: Apache-2.0
// Operators whose element i is made of element i of each broadcast input (docs/numerics.md,
// "Elementwise").
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using Operands = std::span<const Operand>;

// The shape of the output where all inputs that are there have one type out of `accepts`.
template <bool (*kAccepts)(const Shaped&)>
TypeResult alike(const NodeCall& call, std::size_t output) {
  if (call.node.opset < 7) return unsupported("opset {}, expected 7 or more", call.node.opset);
  if (output != 0 || !call.has(0) || !kAccepts(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  Dims dims = dims_of(call.inputs[0]);
  for (const Shaped& input : call.inputs) {
    const auto both = broadcast(dims, dims_of(input));
    if (!both || (input.is_there() && input.dtype != call.inputs[0].dtype)) {
      return unsupported("inputs that do not fit");
    }
    dims = *both;
  }
  return shaped(call.inputs[0].dtype, dims);
}

bool has_kit(const Shaped& type) { return kit_of(type) != nullptr; }

// kOf(pen, node, operands): the operands of absent inputs are constants +0.
template <Operand (*kOf)(const Pen&, const NodeCall&, Operands)>
void each(const NodeCall& call, std::size_t, std::int64_t element, Tape& tape) {
  const Pen pen{tape, *kit_of(call.outputs[0])};
  const Dims to = dims_of(call.outputs[0]);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t at =
        call.has(i) ? broadcast_source(element, to, dims_of(call.inputs[i])) : 0;
    operands.push_back(call.has(i) ? element_of(static_cast<int>(i), at) : constant(0));
  }
  kOf(pen, call, operands);
}

template <Op Kit::*kOp>
Operand chain(const Pen& pen, const NodeCall&, Operands x) {
  Operand made = x[0];
  for (const Operand& next : x.subspan(1)) made = pen.put(pen.kit.*kOp, {made, next});
  return made;
}
// Sum, Max, Min of one input are that input, NaN made canonical.
template <Op Kit::*kOp>
Operand chain_or_one(const Pen& pen, const NodeCall& call, Operands x) {
  return x.size() == 1 ? pen.maximum(x[0], x[0]) : chain<kOp>(pen, call, x);
}
Operand mean(const Pen& pen, const NodeCall& call, Operands x) {
  return pen.div(chain_or_one<&Kit::add>(pen, call, x),
                 pen.number(static_cast<std::int64_t>(x.size())));
}

template <Op kOp>
Operand single(const Pen& pen, const NodeCall&, Operands x) {
  return pen.put(kOp, {x[0]});
}
Operand square_root(const Pen& pen, const NodeCall&, Operands x) { return pen.sqrt(x[0]); }
Operand reciprocal(const Pen& pen, const NodeCall&, Operands x) { return pen.div(pen.one(), x[0]); }
Operand relu(const Pen& pen, const NodeCall&, Operands x) { return pen.maximum(x[0], pen.zero()); }

// `below` where x < 0, else x; NaN made canonical.
Operand where_negative(const Pen& pen, Operand x, Operand below) {
  const Operand negative = pen.put(Op::kLess32, {x, pen.zero()});
  return pen.put(Op::kCanonical32, {pen.put(Op::kSelect, {negative, below, x})});
}
constexpr std::uint32_t kOne = 0x3f800000, kHundredth = 0x3c23d70a, kFifth = 0x3e4ccccd,
                        kHalf = 0x3f000000, kSixth = 0x3e2aaaab;

Operand leaky_relu(const Pen& pen, const NodeCall& call, Operands x) {
  const Operand alpha = constant(call.node.real("alpha", kHundredth));
  return where_negative(pen, x[0], pen.mul(alpha, x[0]));
}
Operand power(const Pen& pen, const NodeCall&, Operands x) {
  return pen.put(Op::kPow32, {x[0], x[1]});
}
Operand prelu(const Pen& pen, const NodeCall&, Operands x) {
  return where_negative(pen, x[0], pen.mul(x[1], x[0]));
}
Operand elu(const Pen& pen, const NodeCall& call, Operands x) {
  const Operand less = pen.sub(pen.put(Op::kExp32, {x[0]}), pen.one());
  return where_negative(pen, x[0], pen.mul(constant(call.node.real("alpha", kOne)), less));
}
Operand celu(const Pen& pen, const NodeCall& call, Operands x) {
  const Operand alpha = constant(call.node.real("alpha", kOne));
  const Operand e = pen.put(Op::kExp32, {pen.div(x[0], alpha)});
  return where_negative(pen, x[0], pen.mul(alpha, pen.sub(e, pen.one())));
}
Operand softsign(const Pen& pen, const NodeCall&, Operands x) {
  return pen.div(x[0], pen.add(pen.one(), pen.put(Op::kAbs32, {x[0]})));
}
Operand hard_sigmoid_of(const Pen& pen, Operand x, std::uint32_t alpha, std::uint32_t beta) {
  const Operand line = pen.fma(constant(alpha), x, constant(beta));
  return pen.maximum(pen.minimum(line, pen.one()), pen.zero());
}
Operand hard_sigmoid(const Pen& pen, const NodeCall& call, Operands x) {
  return hard_sigmoid_of(pen, x[0], call.node.real("alpha", kFifth), call.node.real("beta", kHalf));
}
Operand hard_swish(const Pen& pen, const NodeCall&, Operands x) {
  return pen.mul(x[0], hard_sigmoid_of(pen, x[0], kSixth, kHalf));
}
Operand swish(const Pen& pen, const NodeCall& call, Operands x) {
  const Operand inner = pen.mul(constant(call.node.real("alpha", kOne)), x[0]);
  return pen.mul(x[0], pen.put(Op::kSigmoid32, {inner}));
}
Operand mish(const Pen& pen, const NodeCall&, Operands x) {
  return pen.mul(x[0], pen.put(Op::kTanh32, {pen.put(Op::kSoftplus32, {x[0]})}));
}
Operand gelu(const Pen& pen, const NodeCall& call, Operands x) {
  constexpr std::uint32_t kRootHalf = 0x3f3504f3, kCubic = 0x3d372713, kRoot2OverPi = 0x3f4c422a;
  const Operand half = pen.mul(constant(kHalf), x[0]);
  Operand bent;
  if (call.node.text("approximate", "none") == "tanh") {
    const Operand cube = pen.mul(pen.mul(x[0], x[0]), x[0]);
    const Operand inner = pen.add(x[0], pen.mul(constant(kCubic), cube));
    bent = pen.put(Op::kTanh32, {pen.mul(constant(kRoot2OverPi), inner)});
  } else {
    bent = pen.put(Op::kErf32, {pen.mul(x[0], constant(kRootHalf))});
  }
  return pen.mul(half, pen.add(pen.one(), bent));
}

Operand clip(const Pen& pen, const NodeCall& call, Operands x) {
  const bool by_attribute = call.node.opset < 11;
  const bool has_low = by_attribute ? call.node.has("min") : call.has(1);
  const bool has_high = by_attribute ? call.node.has("max") : call.has(2);
  Operand made = x[0];
  if (has_low) {
    made = pen.maximum(made, by_attribute ? pen.real(call.node.real("min", 0)) : x[1]);
  }
  if (has_high) {
    made = pen.minimum(made, by_attribute ? pen.real(call.node.real("max", 0)) : x[2]);
  }
  return has_low || has_high ? made : pen.maximum(made, made);
}

// ---- not of one type --------------------------------------------------------------------

template <class Of>
void compare(const NodeCall& call, std::int64_t element, Tape& tape, Of&& of) {
  const Dims to = dims_of(call.outputs[0]);
  const auto at = [&](int i) {
    const Dims from = dims_of(call.inputs[static_cast<std::size_t>(i)]);
    return element_of(i, broadcast_source(element, to, from));
  };
  of(tape, at(0), at(1));
}
TypeResult truth(const NodeCall& call, std::size_t output) {
  COMMENSAL_ASSIGN(const auto made, alike<is_float32>(call, output));
  if (call.inputs.size() != 2) return unsupported("two inputs are expected");
  return shaped(static_cast<std::uint8_t>(Element::kBool), dims_of(*made));
}
void equal(const NodeCall& call, std::size_t, std::int64_t element, Tape& tape) {
  compare(call, element, tape, [](Tape& t, Operand a, Operand b) { t.put(Op::kEqual32, {a, b}); });
}
void less(const NodeCall& call, std::size_t, std::int64_t element, Tape& tape) {
  compare(call, element, tape, [](Tape& t, Operand a, Operand b) { t.put(Op::kLess32, {a, b}); });
}
void greater(const NodeCall& call, std::size_t, std::int64_t element, Tape& tape) {
  compare(call, element, tape, [](Tape& t, Operand a, Operand b) { t.put(Op::kLess32, {b, a}); });
}

// Conversions that are one operation or two; the second takes the first's result.
struct Conversion {
  Element from, to;
  Op op;
  std::uint64_t yes = 0, no = 0;  // kSelect: by whether it is not 0
};
constexpr Element kF32 = Element::kFloat32, kF64 = Element::kFloat64, kI32 = Element::kInt32,
                  kI64 = Element::kInt64, kTruth = Element::kBool;
constexpr Conversion kConversions[] = {
    {kF32, kF32, Op::kCanonical32},
    {kF32, kF64, Op::kWiden},
    {kF64, kF32, Op::kNarrow},
    {kI32, kI32, Op::kCopy},
    {kI64, kI64, Op::kCopy},
    {kTruth, kTruth, Op::kCopy},
    {kTruth, kI32, Op::kCopy},
    {kTruth, kI64, Op::kCopy},
    {kI64, kF32, Op::kFloatOfInteger64},
    {kI32, kI64, Op::kWidenInteger32},
    {kF32, kI64, Op::kInteger64OfFloat},
    {kF32, kI32, Op::kInteger32OfFloat},
    {kTruth, kF32, Op::kSelect, kOne, 0},
    {kI32, kTruth, Op::kSelect, 1, 0},
    {kI64, kTruth, Op::kSelect, 1, 0},
};
const Conversion* conversion_of(const NodeCall& call) {
  const std::int64_t to = call.node.integer("to", 0);
  for (const Conversion& row : kConversions) {
    if (call.has(0) && call.inputs[0].is(row.from) && static_cast<std::int64_t>(row.to) == to) {
      return &row;
    }
  }
  return nullptr;
}
TypeResult cast_type(const NodeCall& call, std::size_t output) {
  const Conversion* row = output == 0 ? conversion_of(call) : nullptr;
  if (row == nullptr) return unsupported("no program for these element types");
  return shaped(static_cast<std::uint8_t>(row->to), dims_of(call.inputs[0]));
}
void cast(const NodeCall& call, std::size_t, std::int64_t element, Tape& tape) {
  const Conversion& row = *conversion_of(call);
  if (row.op == Op::kSelect) {
    tape.put(row.op, {element_of(0, element), constant(row.yes), constant(row.no)});
  } else {
    tape.put(row.op, {element_of(0, element)});
  }
}

TypeResult where_type(const NodeCall& call, std::size_t output) {
  const bool fits = output == 0 && call.inputs.size() == 3 && call.has(0) && call.has(1) &&
                    call.has(2) && call.inputs[0].is(Element::kBool) &&
                    call.inputs[1].dtype == call.inputs[2].dtype;
  if (!fits) return unsupported("inputs that do not fit");
  const auto choices = broadcast(dims_of(call.inputs[1]), dims_of(call.inputs[2]));
  const auto all = choices ? broadcast(dims_of(call.inputs[0]), *choices) : std::nullopt;
  if (!all) return unsupported("inputs that do not fit");
  return shaped(call.inputs[1].dtype, *all);
}
void where(const NodeCall& call, std::size_t, std::int64_t element, Tape& tape) {
  const Dims to = dims_of(call.outputs[0]);
  const auto at = [&](int i) {
    const Dims from = dims_of(call.inputs[static_cast<std::size_t>(i)]);
    return element_of(i, broadcast_source(element, to, from));
  };
  tape.put(Op::kSelect, {at(0), at(1), at(2)});
}

// A clip's bounds are scalars, whatever their rank.
TypeResult clip_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || !is_float(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    const Shaped& bound = call.inputs[i];
    if (!bound.is_there()) continue;
    if (bound.elements() != 1 || bound.rank() > call.inputs[0].rank() ||
        bound.dtype != call.inputs[0].dtype || i > 2) {
      return unsupported("bounds that do not fit");
    }
  }
  return call.inputs[0];
}

template <std::size_t kInputs, bool (*kAccepts)(const Shaped&)>
TypeResult exactly(const NodeCall& call, std::size_t output) {
  if (call.inputs.size() != kInputs) return unsupported("{} inputs are expected", kInputs);
  return alike<kAccepts>(call, output);
}

constexpr std::string_view kF = "float32", kFf = "float32, float64",
                           kN = "float32, float64, integers of 32 and 64 bits";

}  // namespace

std::span<const OperatorRow> elementwise_rows() {
  static constexpr OperatorRow kRows[] = {
      {"Abs", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kAbs32>>},
      {"Add", 7, 0, kN, exactly<2, has_kit>, each<chain<&Kit::add>>},
      {"Cast", 6, 0, "between float32, int32, int64, bool; float64 from and to float32", cast_type,
       cast},
      {"Ceil", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kCeil32>>},
      {"Celu", 12, 0, kF, exactly<1, is_float32>, each<celu>},
      {"Clip", 7, 0, kFf, clip_type, each<clip>},
      {"Div", 7, 0, kFf, exactly<2, is_float>, each<chain<&Kit::div>>},
      {"Elu", 7, 0, kF, exactly<1, is_float32>, each<elu>},
      {"Equal", 7, 0, kF, truth, equal},
      {"Erf", 9, 0, kF, exactly<1, is_float32>, each<single<Op::kErf32>>},
      {"Exp", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kExp32>>},
      {"Floor", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kFloor32>>},
      {"Gelu", 20, 0, kF, exactly<1, is_float32>, each<gelu>},
      {"Greater", 7, 0, kF, truth, greater},
      {"HardSigmoid", 7, 0, kF, exactly<1, is_float32>, each<hard_sigmoid>},
      {"HardSwish", 14, 0, kF, exactly<1, is_float32>, each<hard_swish>},
      {"LeakyRelu", 7, 0, kF, exactly<1, is_float32>, each<leaky_relu>},
      {"Less", 7, 0, kF, truth, less},
      {"Log", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kLog32>>},
      {"Max", 8, 0, kFf, alike<is_float>, each<chain_or_one<&Kit::maximum>>},
      {"Mean", 8, 0, kFf, alike<is_float>, each<mean>},
      {"Min", 8, 0, kFf, alike<is_float>, each<chain_or_one<&Kit::minimum>>},
      {"Mish", 18, 0, kF, exactly<1, is_float32>, each<mish>},
      {"Mul", 7, 0, kN, exactly<2, has_kit>, each<chain<&Kit::mul>>},
      {"Neg", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kNeg32>>},
      {"PRelu", 7, 0, kF, exactly<2, is_float32>, each<prelu>},
      {"Pow", 7, 0, kF, exactly<2, is_float32>, each<power>},
      {"Reciprocal", 7, 0, kFf, exactly<1, is_float>, each<reciprocal>},
      {"Relu", 7, 0, kFf, exactly<1, is_float>, each<relu>},
      {"Round", 11, 0, kF, exactly<1, is_float32>, each<single<Op::kRound32>>},
      {"Sigmoid", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kSigmoid32>>},
      {"Softplus", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kSoftplus32>>},
      {"Softsign", 7, 0, kF, exactly<1, is_float32>, each<softsign>},
      {"Sqrt", 7, 0, kFf, exactly<1, is_float>, each<square_root>},
      {"Sub", 7, 0, kN, exactly<2, has_kit>, each<chain<&Kit::sub>>},
      {"Sum", 8, 0, kFf, alike<is_float>, each<chain_or_one<&Kit::add>>},
      {"Swish", 24, 0, kF, exactly<1, is_float32>, each<swish>},
      {"Tanh", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kTanh32>>},
      {"Where", 9, 0, "all", where_type, where},
  };
  return kRows;
}

}  // namespace commensal::arbiter
