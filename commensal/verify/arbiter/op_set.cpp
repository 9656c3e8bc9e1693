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
std::uint64_t same(std::uint32_t bits) { return bits; }
std::uint64_t widened(std::uint32_t bits) { return scalar::widen(bits); }

constexpr OpSet kFloat32{
    true,           Op::kFma32,     Op::kAdd32, Op::kSub32, Op::kMul32, Op::kDiv32, Op::kSqrt32,
    Op::kMaximum32, Op::kMinimum32, 0x80000000, 0x3f800000, 0xff800000, whole32,    same};
constexpr OpSet kFloat64{true,
                         Op::kFma64,
                         Op::kAdd64,
                         Op::kSub64,
                         Op::kMul64,
                         Op::kDiv64,
                         Op::kSqrt64,
                         Op::kMaximum64,
                         Op::kMinimum64,
                         0x8000000000000000,
                         0x3ff0000000000000,
                         0xfff0000000000000,
                         whole64,
                         widened};
constexpr OpSet kInteger32{false, Op::kMulAddInteger32, Op::kAddInteger32, Op::kSubInteger32,
                           Op::kMulInteger32};
constexpr OpSet kInteger64{false, Op::kMulAddInteger64, Op::kAddInteger64, Op::kSubInteger64,
                           Op::kMulInteger64};

struct KitRow {
  std::uint8_t dtype;
  const OpSet* ops;
};
constexpr KitRow kKits[] = {
    {1, &kFloat32},    {11, &kFloat64},  {6, &kInteger32},
    {12, &kInteger32}, {7, &kInteger64}, {13, &kInteger64},
};

}  // namespace

const OpSet* op_set_of(const Shaped& type) {
  for (const KitRow& row : kKits) {
    if (row.dtype == type.dtype) return row.ops;
  }
  return nullptr;
}

Operand lane_tree(const Emitter& emit, std::vector<Operand>& lanes) {
  for (std::size_t half = 16; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] = emit.add(lanes[l], lanes[l + half]);
  }
  return emit.add(lanes[0], emit.zero());
}

}  // namespace commensal::arbiter
