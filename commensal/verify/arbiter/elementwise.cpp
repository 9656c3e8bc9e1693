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

bool has_op_set(const Shaped& type) { return op_set_of(type) != nullptr; }

// kOf(emit, node, operands): the operands of absent inputs are constants +0.
template <Operand (*kOf)(const Emitter&, const NodeCall&, Operands)>
void each(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Dims to = dims_of(call.outputs[0]);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t at =
        call.has(i) ? broadcast_source(element, to, dims_of(call.inputs[i])) : 0;
    operands.push_back(call.has(i) ? element_of(static_cast<int>(i), at) : constant(0));
  }
  kOf(emit, call, operands);
}

template <Op OpSet::*kOp>
Operand chain(const Emitter& emit, const NodeCall&, Operands x) {
  Operand made = x[0];
  for (const Operand& next : x.subspan(1)) made = emit.put(emit.ops.*kOp, {made, next});
  return made;
}
// Sum, Max, Min of one input are that input, NaN made canonical.
template <Op OpSet::*kOp>
Operand chain_or_one(const Emitter& emit, const NodeCall& call, Operands x) {
  return x.size() == 1 ? emit.maximum(x[0], x[0]) : chain<kOp>(emit, call, x);
}
Operand mean(const Emitter& emit, const NodeCall& call, Operands x) {
  return emit.div(chain_or_one<&OpSet::add>(emit, call, x),
                  emit.number(static_cast<std::int64_t>(x.size())));
}

template <Op kOp>
Operand single(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.put(kOp, {x[0]});
}
Operand square_root(const Emitter& emit, const NodeCall&, Operands x) { return emit.sqrt(x[0]); }
Operand reciprocal(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.div(emit.one(), x[0]);
}
Operand relu(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.maximum(x[0], emit.zero());
}

// `below` where x < 0, else x; NaN made canonical.
Operand where_negative(const Emitter& emit, Operand x, Operand below) {
  const Operand negative = emit.put(Op::kLess32, {x, emit.zero()});
  return emit.put(Op::kCanonical32, {emit.put(Op::kSelect, {negative, below, x})});
}
constexpr std::uint32_t kOne = 0x3f800000, kHundredth = 0x3c23d70a, kFifth = 0x3e4ccccd,
                        kHalf = 0x3f000000, kSixth = 0x3e2aaaab;

Operand leaky_relu(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand alpha = constant(call.node.real("alpha", kHundredth));
  return where_negative(emit, x[0], emit.mul(alpha, x[0]));
}
Operand power(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.put(Op::kPow32, {x[0], x[1]});
}
Operand prelu(const Emitter& emit, const NodeCall&, Operands x) {
  return where_negative(emit, x[0], emit.mul(x[1], x[0]));
}
Operand elu(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand less = emit.sub(emit.put(Op::kExp32, {x[0]}), emit.one());
  return where_negative(emit, x[0], emit.mul(constant(call.node.real("alpha", kOne)), less));
}
Operand celu(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand alpha = constant(call.node.real("alpha", kOne));
  const Operand e = emit.put(Op::kExp32, {emit.div(x[0], alpha)});
  return where_negative(emit, x[0], emit.mul(alpha, emit.sub(e, emit.one())));
}
Operand softsign(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.div(x[0], emit.add(emit.one(), emit.put(Op::kAbs32, {x[0]})));
}
Operand hard_sigmoid_of(const Emitter& emit, Operand x, std::uint32_t alpha, std::uint32_t beta) {
  const Operand line = emit.fma(constant(alpha), x, constant(beta));
  return emit.maximum(emit.minimum(line, emit.one()), emit.zero());
}
Operand hard_sigmoid(const Emitter& emit, const NodeCall& call, Operands x) {
  return hard_sigmoid_of(emit, x[0], call.node.real("alpha", kFifth),
                         call.node.real("beta", kHalf));
}
Operand hard_swish(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.mul(x[0], hard_sigmoid_of(emit, x[0], kSixth, kHalf));
}
Operand swish(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand inner = emit.mul(constant(call.node.real("alpha", kOne)), x[0]);
  return emit.mul(x[0], emit.put(Op::kSigmoid32, {inner}));
}
Operand mish(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.mul(x[0], emit.put(Op::kTanh32, {emit.put(Op::kSoftplus32, {x[0]})}));
}
Operand gelu(const Emitter& emit, const NodeCall& call, Operands x) {
  constexpr std::uint32_t kRootHalf = 0x3f3504f3, kCubic = 0x3d372713, kRoot2OverPi = 0x3f4c422a;
  const Operand half = emit.mul(constant(kHalf), x[0]);
  Operand bent;
  if (call.node.text("approximate", "none") == "tanh") {
    const Operand cube = emit.mul(emit.mul(x[0], x[0]), x[0]);
    const Operand inner = emit.add(x[0], emit.mul(constant(kCubic), cube));
    bent = emit.put(Op::kTanh32, {emit.mul(constant(kRoot2OverPi), inner)});
  } else {
    bent = emit.put(Op::kErf32, {emit.mul(x[0], constant(kRootHalf))});
  }
  return emit.mul(half, emit.add(emit.one(), bent));
}

Operand clip(const Emitter& emit, const NodeCall& call, Operands x) {
  const bool by_attribute = call.node.opset < 11;
  const bool has_low = by_attribute ? call.node.has("min") : call.has(1);
  const bool has_high = by_attribute ? call.node.has("max") : call.has(2);
  Operand made = x[0];
  if (has_low) {
    made = emit.maximum(made, by_attribute ? emit.real(call.node.real("min", 0)) : x[1]);
  }
  if (has_high) {
    made = emit.minimum(made, by_attribute ? emit.real(call.node.real("max", 0)) : x[2]);
  }
  return has_low || has_high ? made : emit.maximum(made, made);
}

// ---- not of one type --------------------------------------------------------------------

template <class Of>
void compare(const NodeCall& call, std::int64_t element, StepBuilder& steps, Of&& of) {
  const Dims to = dims_of(call.outputs[0]);
  const auto at = [&](int i) {
    const Dims from = dims_of(call.inputs[static_cast<std::size_t>(i)]);
    return element_of(i, broadcast_source(element, to, from));
  };
  of(steps, at(0), at(1));
}
TypeResult truth(const NodeCall& call, std::size_t output) {
  COMMENSAL_ASSIGN(const auto made, alike<is_float32>(call, output));
  if (call.inputs.size() != 2) return unsupported("two inputs are expected");
  return shaped(static_cast<std::uint8_t>(Element::kBool), dims_of(*made));
}
void equal(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  compare(call, element, steps, [](StepBuilder& t, Operand a, Operand b) {
    t.put(Op::kEqual32, {a, b});
  });
}
void less(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  compare(call, element, steps, [](StepBuilder& t, Operand a, Operand b) {
    t.put(Op::kLess32, {a, b});
  });
}
void greater(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  compare(call, element, steps, [](StepBuilder& t, Operand a, Operand b) {
    t.put(Op::kLess32, {b, a});
  });
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
void cast(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Conversion& row = *conversion_of(call);
  if (row.op == Op::kSelect) {
    steps.put(row.op, {element_of(0, element), constant(row.yes), constant(row.no)});
  } else {
    steps.put(row.op, {element_of(0, element)});
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
void where(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims to = dims_of(call.outputs[0]);
  const auto at = [&](int i) {
    const Dims from = dims_of(call.inputs[static_cast<std::size_t>(i)]);
    return element_of(i, broadcast_source(element, to, from));
  };
  steps.put(Op::kSelect, {at(0), at(1), at(2)});
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
      {"Add", 7, 0, kN, exactly<2, has_op_set>, each<chain<&OpSet::add>>},
      {"Cast", 6, 0, "between float32, int32, int64, bool; float64 from and to float32", cast_type,
       cast},
      {"Ceil", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kCeil32>>},
      {"Celu", 12, 0, kF, exactly<1, is_float32>, each<celu>},
      {"Clip", 7, 0, kFf, clip_type, each<clip>},
      {"Div", 7, 0, kFf, exactly<2, is_float>, each<chain<&OpSet::div>>},
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
      {"Max", 8, 0, kFf, alike<is_float>, each<chain_or_one<&OpSet::maximum>>},
      {"Mean", 8, 0, kFf, alike<is_float>, each<mean>},
      {"Min", 8, 0, kFf, alike<is_float>, each<chain_or_one<&OpSet::minimum>>},
      {"Mish", 18, 0, kF, exactly<1, is_float32>, each<mish>},
      {"Mul", 7, 0, kN, exactly<2, has_op_set>, each<chain<&OpSet::mul>>},
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
      {"Sub", 7, 0, kN, exactly<2, has_op_set>, each<chain<&OpSet::sub>>},
      {"Sum", 8, 0, kFf, alike<is_float>, each<chain_or_one<&OpSet::add>>},
      {"Swish", 24, 0, kF, exactly<1, is_float32>, each<swish>},
      {"Tanh", 7, 0, kF, exactly<1, is_float32>, each<single<Op::kTanh32>>},
      {"Where", 9, 0, "all", where_type, where},
  };
  return kRows;
}

}  // namespace commensal::arbiter
