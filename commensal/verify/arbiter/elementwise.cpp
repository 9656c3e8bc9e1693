// SPDX-License-Identifier: Apache-2.0
// Operators whose element i is made of element i of each broadcast input (docs/numerics.md,
// "Elementwise").
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using Operands = std::span<const Operand>;

template <bool (*kAccepts)(const Shaped&)>
TypeResult alike(const NodeCall& call, std::size_t output) {
  return broadcast_type(call, output, kAccepts);
}

// kOf(emit, node, operands): the operands of absent inputs are constants +0.
template <Operand (*kOf)(const Emitter&, const NodeCall&, Operands)>
void each(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
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
  return x.size() == 1 ? emit.canonical(x[0]) : chain<kOp>(emit, call, x);
}
Operand mean(const Emitter& emit, const NodeCall& call, Operands x) {
  return emit.div(chain_or_one<&OpSet::add>(emit, call, x),
                  emit.number(static_cast<std::int64_t>(x.size())));
}

template <Op kOp>
Operand single(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.put(kOp, {x[0]});
}
Operand absolute(const Emitter& emit, const NodeCall&, Operands x) { return emit.absolute(x[0]); }
Operand negative(const Emitter& emit, const NodeCall&, Operands x) {
  return emit.sub(constant(emit.ops.minus_zero), x[0]);
}
Operand sign(const Emitter& emit, const NodeCall&, Operands x) {
  const Operand nothing = emit.select(emit.equal(x[0], emit.zero()), emit.zero(), x[0]);
  const Operand above = emit.select(emit.less(emit.zero(), x[0]), emit.one(), nothing);
  return emit.canonical(emit.select(emit.less(x[0], emit.zero()), emit.number(-1), above));
}
// Integers: by 0 it is 0; without `fmod` the sign is that of the divisor.
Operand modulo(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand whole = emit.mul(emit.div(x[0], x[1]), x[1]);
  const Operand less = emit.sub(x[0], whole);
  const Operand rest = emit.select(emit.equal(x[1], emit.zero()), emit.zero(), less);
  if (call.node.integer("fmod", 0) != 0) return emit.canonical(rest);
  const Operand side = emit.sign(rest), divisor = emit.sign(x[1]);
  const Operand differs = emit.less(emit.mul(side, divisor), emit.zero());
  return emit.select(differs, emit.add(rest, x[1]), rest);
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
  return emit.canonical(emit.select(emit.less(x, emit.zero()), below, x));
}
constexpr std::uint32_t kOne = 0x3f800000, kHundredth = 0x3c23d70a, kFifth = 0x3e4ccccd,
                        kHalf = 0x3f000000, kSixth = 0x3e2aaaab;

Operand leaky_relu(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand alpha = emit.real(call.node.real("alpha", kHundredth));
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
  return emit.div(x[0], emit.add(emit.one(), emit.absolute(x[0])));
}
Operand hard_sigmoid_of(const Emitter& emit, Operand x, std::uint32_t alpha, std::uint32_t beta) {
  const Operand line = emit.fma(emit.real(alpha), x, emit.real(beta));
  return emit.maximum(emit.minimum(line, emit.one()), emit.zero());
}
Operand hard_sigmoid(const Emitter& emit, const NodeCall& call, Operands x) {
  return hard_sigmoid_of(emit, x[0], call.node.real("alpha", kFifth),
                         call.node.real("beta", kHalf));
}
Operand thresholded_relu(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand alpha = emit.real(call.node.real("alpha", kOne));
  const Operand other = emit.select(emit.equal(x[0], x[0]), emit.zero(), x[0]);
  return emit.canonical(emit.select(emit.less(alpha, x[0]), x[0], other));
}
Operand selu(const Emitter& emit, const NodeCall& call, Operands x) {
  const Operand alpha = constant(call.node.real("alpha", 0x3fd62d7d));  // 1.6732632
  const Operand gamma = constant(call.node.real("gamma", 0x3f867d5f));  // 1.050701
  const Operand bent = emit.sub(emit.mul(alpha, emit.put(Op::kExp32, {x[0]})), alpha);
  const Operand inner = emit.select(emit.less(emit.zero(), x[0]), x[0], bent);
  return emit.mul(gamma, inner);
}
Operand shrink(const Emitter& emit, const NodeCall& call, Operands x) {
  const std::uint32_t lambda = call.node.real("lambd", kHalf);
  const Operand bias = emit.real(call.node.real("bias", 0));
  const Operand other = emit.select(emit.equal(x[0], x[0]), emit.zero(), x[0]);
  const Operand low = emit.less(x[0], emit.real(lambda ^ 0x80000000));
  const Operand high = emit.less(emit.real(lambda), x[0]);
  const Operand below = emit.select(low, emit.add(x[0], bias), other);
  const Operand made = emit.select(high, emit.sub(x[0], bias), below);
  return emit.canonical(emit.select(low, below, made));
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
  return has_low || has_high ? made : emit.canonical(made);
}

// ---- with parameters of its own -----------------------------------------------------------

// A clip's bounds are scalars, whatever their rank.
TypeResult clip_type(const NodeCall& call, std::size_t output) {
  const bool is_asked =
      call.has(0) && (call.node.opset < 11 ? is_float(call.inputs[0]) : is_ordered(call.inputs[0]));
  if (output != 0 || !is_asked) return unsupported("no program for this element type");
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

template <bool (*kAccepts)(const Shaped&)>
TypeResult one(const NodeCall& call, std::size_t output) {
  return exactly<1, kAccepts>(call, output);
}
template <bool (*kAccepts)(const Shaped&)>
TypeResult two(const NodeCall& call, std::size_t output) {
  return exactly<2, kAccepts>(call, output);
}
bool is_ordered_integer(const Shaped& type) { return is_ordered(type) && !is_float(type); }

constexpr std::string_view kF = "float32, float16, bfloat16", kFf = "floats",
                           kN = "floats, integers", kO = "floats, integers but uint64",
                           kI = "integers but uint64";
constexpr auto binary32 = one<is_binary32>;

}  // namespace

std::span<const OperatorRow> elementwise_rows() {
  static constexpr OperatorRow kRows[] = {
      {"Abs", 6, 0, kO, one<is_ordered>, each<absolute>},
      {"Acos", 7, 0, kF, binary32, each<single<Op::kAcos32>>},
      {"Acosh", 9, 0, kF, binary32, each<single<Op::kAcosh32>>},
      {"Add", 6, 0, kN, two<has_kit>, each<chain<&OpSet::add>>},
      {"Asin", 7, 0, kF, binary32, each<single<Op::kAsin32>>},
      {"Asinh", 9, 0, kF, binary32, each<single<Op::kAsinh32>>},
      {"Atan", 7, 0, kF, binary32, each<single<Op::kAtan32>>},
      {"Atanh", 9, 0, kF, binary32, each<single<Op::kAtanh32>>},
      {"Ceil", 6, 0, kF, binary32, each<single<Op::kCeil32>>},
      {"Celu", 12, 0, kF, binary32, each<celu>},
      {"Clip", 6, 0, kO, clip_type, each<clip>},
      {"Cos", 7, 0, kF, binary32, each<single<Op::kCos32>>},
      {"Cosh", 9, 0, kF, binary32, each<single<Op::kCosh32>>},
      {"Div", 6, 0, kO, two<is_ordered>, each<chain<&OpSet::div>>},
      {"Elu", 6, 0, kF, binary32, each<elu>},
      {"Erf", 9, 0, kF, binary32, each<single<Op::kErf32>>},
      {"Exp", 6, 0, kF, binary32, each<single<Op::kExp32>>},
      {"Floor", 6, 0, kF, binary32, each<single<Op::kFloor32>>},
      {"Gelu", 20, 0, kF, binary32, each<gelu>},
      {"HardSigmoid", 6, 0, kFf, one<is_float>, each<hard_sigmoid>},
      {"HardSwish", 14, 0, kF, binary32, each<hard_swish>},
      {"LeakyRelu", 6, 0, kFf, one<is_float>, each<leaky_relu>},
      {"Log", 6, 0, kF, binary32, each<single<Op::kLog32>>},
      {"Max", 6, 0, kO, alike<is_ordered>, each<chain_or_one<&OpSet::maximum>>},
      {"Mean", 6, 0, kFf, alike<is_float>, each<mean>},
      {"Min", 6, 0, kO, alike<is_ordered>, each<chain_or_one<&OpSet::minimum>>},
      {"Mish", 18, 0, kF, binary32, each<mish>},
      {"Mod", 10, 0, kI, two<is_ordered_integer>, each<modulo>},
      {"Mul", 6, 0, kN, two<has_kit>, each<chain<&OpSet::mul>>},
      {"Neg", 6, 0, kO, one<is_ordered>, each<negative>},
      {"PRelu", 6, 0, kO, two<is_ordered>, each<prelu>},
      {"Pow", 6, 0, kF, two<is_binary32>, each<power>},
      {"Reciprocal", 6, 0, kFf, one<is_float>, each<reciprocal>},
      {"Relu", 6, 0, kO, one<is_ordered>, each<relu>},
      {"Round", 11, 0, kF, binary32, each<single<Op::kRound32>>},
      {"Selu", 6, 0, kF, binary32, each<selu>},
      {"Shrink", 9, 0, kFf, one<is_float>, each<shrink>},
      {"Sigmoid", 6, 0, kF, binary32, each<single<Op::kSigmoid32>>},
      {"Sign", 9, 0, kO, one<is_ordered>, each<sign>},
      {"Sin", 7, 0, kF, binary32, each<single<Op::kSin32>>},
      {"Sinh", 9, 0, kF, binary32, each<single<Op::kSinh32>>},
      {"Softplus", 7, 0, kF, binary32, each<single<Op::kSoftplus32>>},
      {"Softsign", 7, 0, kFf, one<is_float>, each<softsign>},
      {"Sqrt", 6, 0, kFf, one<is_float>, each<square_root>},
      {"Sub", 6, 0, kN, two<has_kit>, each<chain<&OpSet::sub>>},
      {"Sum", 6, 0, kFf, alike<is_float>, each<chain_or_one<&OpSet::add>>},
      {"Swish", 24, 0, kF, binary32, each<swish>},
      {"Tan", 7, 0, kF, binary32, each<single<Op::kTan32>>},
      {"Tanh", 6, 0, kF, binary32, each<single<Op::kTanh32>>},
      {"ThresholdedRelu", 10, 0, kFf, one<is_float>, each<thresholded_relu>},
  };
  return kRows;
}

}  // namespace commensal::arbiter
