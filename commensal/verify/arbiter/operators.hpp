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
struct Kit {
  bool is_float = false;
  scalar::Op fma{}, add{}, sub{}, mul{};                      // of integers too
  scalar::Op div{}, sqrt{}, maximum{}, minimum{};             // of floats only
  std::uint64_t minus_zero = 0, one = 0, minus_infinity = 0;  // +0 is 0
  std::uint64_t (*of_integer)(std::int64_t) = nullptr;        // rounded
  std::uint64_t (*of_real)(std::uint32_t) = nullptr;          // a binary32 attribute
};
/// Null where programs have no arithmetic for the type.
const Kit* kit_of(const Shaped& type);
inline bool is_float32(const Shaped& type) { return type.is(Element::kFloat32); }
inline bool is_float(const Shaped& type) {
  return kit_of(type) != nullptr && kit_of(type)->is_float;
}

/// A tape in the hand of a program that computes in one type.
struct Pen {
  Tape& tape;
  const Kit& kit;

  Operand put(scalar::Op op, std::initializer_list<Operand> x) const { return tape.put(op, x); }
  Operand fma(Operand a, Operand b, Operand c) const { return put(kit.fma, {a, b, c}); }
  Operand add(Operand a, Operand b) const { return put(kit.add, {a, b}); }
  Operand sub(Operand a, Operand b) const { return put(kit.sub, {a, b}); }
  Operand mul(Operand a, Operand b) const { return put(kit.mul, {a, b}); }
  Operand div(Operand a, Operand b) const { return put(kit.div, {a, b}); }
  Operand sqrt(Operand a) const { return put(kit.sqrt, {a}); }
  Operand maximum(Operand a, Operand b) const { return put(kit.maximum, {a, b}); }
  Operand minimum(Operand a, Operand b) const { return put(kit.minimum, {a, b}); }
  Operand zero() const { return constant(0); }
  Operand one() const { return constant(kit.one); }
  Operand number(std::int64_t whole) const { return constant(kit.of_integer(whole)); }
  Operand real(std::uint32_t bits) const { return constant(kit.of_real(bits)); }
};

/// The tree over the lanes and the last +0.
Operand lane_tree(const Pen& pen, std::vector<Operand>& lanes);

/// A sum in 32 interleaved lanes: term(i) of position i, i in [0, count).
template <class Term>
Operand lane_sum(const Pen& pen, std::int64_t count, Term&& term) {
  std::vector<Operand> lanes(32, constant(pen.kit.minus_zero));
  pen.tape.fold(count / 32, lanes, [&](std::int64_t block, std::span<Operand> state) {
    for (std::int64_t l = 0; l < 32; ++l) {
      Operand& lane = state[static_cast<std::size_t>(l)];
      lane = pen.add(lane, term(block * 32 + l));
    }
  });
  for (std::int64_t i = count / 32 * 32; i < count; ++i) {
    Operand& lane = lanes[static_cast<std::size_t>(i % 32)];
    lane = pen.add(lane, term(i));
  }
  return lane_tree(pen, lanes);
}

}  // namespace commensal::arbiter
