// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using scalar::Soft32;
using scalar::Soft64;

std::uint64_t whole32(std::int64_t value) { return Soft32::of_integer(value); }
std::uint64_t whole64(std::int64_t value) { return Soft64::of_integer(value); }
std::uint64_t integer(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t same(std::uint32_t bits) { return bits; }
std::uint64_t widened(std::uint32_t bits) { return scalar::widen(bits); }

constexpr OpSet kBinary32{
    true,           Op::kFma32,     Op::kAdd32,  Op::kSub32,   Op::kMul32,   Op::kDiv32,
    Op::kMaximum32, Op::kMinimum32, Op::kLess32, Op::kEqual32, Op::kAbove32, Op::kBeneath32,
    Op::kSqrt32,    0x80000000,     0x3f800000,  whole32,      same};
constexpr OpSet kBinary64{true,        Op::kFma64,         Op::kAdd64,         Op::kSub64,
                          Op::kMul64,  Op::kDiv64,         Op::kMaximum64,     Op::kMinimum64,
                          Op::kLess64, Op::kEqual64,       Op::kAbove64,       Op::kBeneath64,
                          Op::kSqrt64, 0x8000000000000000, 0x3ff0000000000000, whole64,
                          widened};
// `above` is asked with its operands the other way round (Emitter).
constexpr OpSet kIntegers{false,
                          Op::kMulAddInteger,
                          Op::kAddInteger,
                          Op::kSubInteger,
                          Op::kMulInteger,
                          Op::kDivInteger,
                          Op::kMaximumInteger,
                          Op::kMinimumInteger,
                          Op::kLessInteger,
                          Op::kEqualInteger,
                          Op::kLessInteger,
                          Op::kLessInteger,
                          Op::kCopy,
                          0,
                          1,
                          integer,
                          nullptr};

constexpr std::uint64_t low_of(int bits) { return ~std::uint64_t{0} << (bits - 1); }
constexpr std::uint64_t high_of(int bits) { return ~low_of(bits); }
constexpr std::uint64_t kInfinity32 = 0x7f800000, kInfinity64 = 0x7ff0000000000000;
constexpr std::uint64_t kMinusInfinity32 = 0xff800000, kMinusInfinity64 = 0xfff0000000000000;

constexpr Kit kKits[] = {
    {Element::kFloat32, &kBinary32, {}, {}, kMinusInfinity32, kInfinity32},
    {Element::kFloat16, &kBinary32, Op::kWidenHalf, Op::kNarrowHalf, kMinusInfinity32, kInfinity32},
    {Element::kBfloat16, &kBinary32, Op::kWidenBfloat, Op::kNarrowBfloat, kMinusInfinity32,
     kInfinity32},
    {Element::kFloat64, &kBinary64, {}, {}, kMinusInfinity64, kInfinity64},
    {Element::kInt8, &kIntegers, Op::kWidenInteger8, Op::kLow8, low_of(8), high_of(8)},
    {Element::kInt16, &kIntegers, Op::kWidenInteger16, Op::kLow16, low_of(16), high_of(16)},
    {Element::kInt32, &kIntegers, Op::kWidenInteger32, Op::kLow32, low_of(32), high_of(32)},
    {Element::kInt64, &kIntegers, {}, {}, low_of(64), high_of(64)},
    {Element::kUint8, &kIntegers, {}, Op::kLow8, 0, 0xff},
    {Element::kUint16, &kIntegers, {}, Op::kLow16, 0, 0xffff},
    {Element::kUint32, &kIntegers, {}, Op::kLow32, 0, 0xffffffff},
    {Element::kUint64, &kIntegers, {}, {}, 0, ~std::uint64_t{0}},
    {Element::kBool, &kIntegers, {}, {}, 0, 1},
};

}  // namespace

const Kit* kit_of(const Shaped& type) {
  for (const Kit& kit : kKits) {
    if (type.is(kit.type)) return &kit;
  }
  return nullptr;
}
bool is_binary32(const Shaped& type) {
  const Kit* kit = kit_of(type);
  return kit != nullptr && kit->ops == &kBinary32;
}

Emitter computing(const NodeCall& call, std::size_t output, StepBuilder& steps, std::size_t in) {
  std::vector<std::optional<Op>> loads;
  for (const Shaped& input : call.inputs) {
    const Kit* kit = kit_of(input);
    loads.push_back(kit == nullptr ? std::nullopt : kit->load);
  }
  const Kit* to = kit_of(call.outputs[output]);
  steps.convert(std::move(loads), to == nullptr ? std::nullopt : to->store);
  const Kit& kit = *kit_of(call.inputs[in]);
  return {steps, *kit.ops, kit.lowest, kit.highest};
}

TypeResult broadcast_type(const NodeCall& call, std::size_t output,
                          bool (*accepts)(const Shaped&)) {
  if (output != 0 || !call.has(0) || !accepts(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  Dims dims = dims_of(call.inputs[0]);
  for (const Shaped& input : call.inputs) {
    // Before opset 7 shapes are laid over each other by another rule.
    const bool fits = call.node.opset >= 7 || !input.is_there() || dims_of(input) == dims;
    const auto both = fits ? broadcast(dims, dims_of(input)) : std::nullopt;
    if (!both || (input.is_there() && input.dtype != call.inputs[0].dtype)) {
      return unsupported("inputs that do not fit");
    }
    dims = *both;
  }
  return shaped(call.inputs[0].dtype, dims);
}

Operand index_at(const NodeCall& call, StepBuilder& steps, std::int64_t element,
                 std::int64_t length) {
  Operand index = element_of(1, element);
  if (call.inputs[1].is(Element::kInt32)) index = steps.put(Op::kWidenInteger32, {index});
  return steps.put(Op::kWrapIndex, {index, constant(static_cast<std::uint64_t>(length))});
}

Operand lane_tree(const Emitter& emit, std::vector<Operand>& lanes) {
  for (std::size_t half = 16; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] = emit.add(lanes[l], lanes[l + half]);
  }
  return emit.add(lanes[0], emit.zero());
}

}  // namespace commensal::arbiter
