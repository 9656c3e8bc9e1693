// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/geometry.hpp>
#include <commensal/verify/arbiter/program.hpp>

/// What the files of operators share. Inside this room only.
namespace commensal::arbiter {

std::span<const OperatorRow> elementwise_rows();
std::span<const OperatorRow> product_rows();
std::span<const OperatorRow> sum_rows();
std::span<const OperatorRow> movement_rows();

using TypeResult = core::Result<std::optional<Shaped>>;

template <class... Args>
tl::unexpected<core::Error> unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return core::fail(core::ErrorCode::kUnsupported, format, std::forward<Args>(args)...);
}

/// The operations of one type of numbers.
struct OpSet {
  bool is_float = false;
  scalar::Op fma{}, add{}, sub{}, mul{};                      // of integers too
  scalar::Op div{}, sqrt{}, maximum{}, minimum{};             // of floats only
  std::uint64_t minus_zero = 0, one = 0, minus_infinity = 0;  // +0 is 0
  std::uint64_t (*of_integer)(std::int64_t) = nullptr;        // rounded
  std::uint64_t (*of_real)(std::uint32_t) = nullptr;          // a binary32 attribute
};
/// Null where programs have no arithmetic for the type.
const OpSet* op_set_of(const Shaped& type);
inline bool is_float32(const Shaped& type) { return type.is(Element::kFloat32); }
inline bool is_float(const Shaped& type) {
  return op_set_of(type) != nullptr && op_set_of(type)->is_float;
}

/// A steps in the hand of a program that computes in one type.
struct Emitter {
  StepBuilder& steps;
  const OpSet& ops;

  Operand put(scalar::Op op, std::initializer_list<Operand> x) const { return steps.put(op, x); }
  Operand fma(Operand a, Operand b, Operand c) const { return put(ops.fma, {a, b, c}); }
  Operand add(Operand a, Operand b) const { return put(ops.add, {a, b}); }
  Operand sub(Operand a, Operand b) const { return put(ops.sub, {a, b}); }
  Operand mul(Operand a, Operand b) const { return put(ops.mul, {a, b}); }
  Operand div(Operand a, Operand b) const { return put(ops.div, {a, b}); }
  Operand sqrt(Operand a) const { return put(ops.sqrt, {a}); }
  Operand maximum(Operand a, Operand b) const { return put(ops.maximum, {a, b}); }
  Operand minimum(Operand a, Operand b) const { return put(ops.minimum, {a, b}); }
  Operand zero() const { return constant(0); }
  Operand one() const { return constant(ops.one); }
  Operand number(std::int64_t whole) const { return constant(ops.of_integer(whole)); }
  Operand real(std::uint32_t bits) const { return constant(ops.of_real(bits)); }
};

/// The tree over the lanes and the last +0.
Operand lane_tree(const Emitter& emit, std::vector<Operand>& lanes);

/// A sum in 32 interleaved lanes: term(i) of position i, i in [0, count).
template <class Term>
Operand lane_sum(const Emitter& emit, std::int64_t count, Term&& term) {
  std::vector<Operand> lanes(32, constant(emit.ops.minus_zero));
  emit.steps.fold(count / 32, lanes, [&](std::int64_t block, std::span<Operand> state) {
    for (std::int64_t l = 0; l < 32; ++l) {
      Operand& lane = state[static_cast<std::size_t>(l)];
      lane = emit.add(lane, term(block * 32 + l));
    }
  });
  for (std::int64_t i = count / 32 * 32; i < count; ++i) {
    Operand& lane = lanes[static_cast<std::size_t>(i % 32)];
    lane = emit.add(lane, term(i));
  }
  return lane_tree(emit, lanes);
}

}  // namespace commensal::arbiter
