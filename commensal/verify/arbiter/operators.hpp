// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/geometry.hpp>
#include <commensal/verify/arbiter/program.hpp>

/// What the files of operators share. Inside this room only.
namespace commensal::arbiter {

std::span<const OperatorRow> elementwise_rows();
std::span<const OperatorRow> product_rows();
std::span<const OperatorRow> conv_transpose_rows();
std::span<const OperatorRow> einsum_rows();
std::span<const OperatorRow> sum_rows();
std::span<const OperatorRow> movement_rows();
std::span<const OperatorRow> conversion_rows();
std::span<const OperatorRow> placement_rows();
std::span<const OperatorRow> generate_rows();
std::span<const OperatorRow> pool_rows();
std::span<const OperatorRow> order_rows();
std::span<const OperatorRow> resize_rows();
std::span<const OperatorRow> quantised_rows();
std::span<const OperatorRow> grid_rows();
std::span<const OperatorRow> norm_rows();
std::span<const OperatorRow> softmax_rows();
std::span<const OperatorRow> recurrent_rows();
std::span<const OperatorRow> scatter_rows();
std::span<const OperatorRow> attention_rows();

using TypeResult = core::Result<std::optional<Shaped>>;

template <class... Args>
tl::unexpected<core::Error> unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return core::fail(core::ErrorCode::kUnsupported, format, std::forward<Args>(args)...);
}

/// The type of an output that is made of broadcast inputs of one type that is accepted.
TypeResult broadcast_type(const NodeCall& call, std::size_t output, bool (*accepts)(const Shaped&));

/// The operations of one arithmetic: binary32, binary64, or integers in 64 bits.
struct OpSet {
  bool is_float = false;
  scalar::Op fma{}, add{}, sub{}, mul{}, div{}, maximum{}, minimum{}, less{}, equal{};
  scalar::Op above{}, beneath{};                        // of the order of extremes
  scalar::Op sqrt{};                                    // of floats only
  std::uint64_t minus_zero = 0, one = 0;                // +0 is 0
  std::uint64_t (*of_integer)(std::int64_t) = nullptr;  // rounded
  std::uint64_t (*of_real)(std::uint32_t) = nullptr;    // a binary32 attribute; of floats only
};
/// How elements of a type are computed with.
struct Kit {
  Element type{};
  const OpSet* ops = nullptr;
  std::optional<scalar::Op> load, store;  // to the arithmetic's numbers and back
  std::uint64_t lowest = 0, highest = 0;  // of the type, as the arithmetic has them
};
/// Null where programs have no arithmetic for the type.
const Kit* kit_of(const Shaped& type);
inline bool has_kit(const Shaped& type) { return kit_of(type) != nullptr; }
/// float32, or stored narrower and computed as that.
bool is_binary32(const Shaped& type);
inline bool is_float(const Shaped& type) { return has_kit(type) && kit_of(type)->ops->is_float; }
/// Where order is that of signed 64-bit numbers, or of floats.
inline bool is_ordered(const Shaped& type) { return has_kit(type) && !type.is(Element::kUint64); }

/// The steps in the hand of a program that computes in one arithmetic.
struct Emitter {
  StepBuilder& steps;
  const OpSet& ops;
  std::uint64_t lowest = 0, highest = 0;

  Operand put(scalar::Op op, std::initializer_list<Operand> x) const { return steps.put(op, x); }
  Operand fma(Operand a, Operand b, Operand c) const { return put(ops.fma, {a, b, c}); }
  Operand add(Operand a, Operand b) const { return put(ops.add, {a, b}); }
  Operand sub(Operand a, Operand b) const { return put(ops.sub, {a, b}); }
  Operand mul(Operand a, Operand b) const { return put(ops.mul, {a, b}); }
  Operand div(Operand a, Operand b) const { return put(ops.div, {a, b}); }
  Operand sqrt(Operand a) const { return put(ops.sqrt, {a}); }
  Operand maximum(Operand a, Operand b) const { return put(ops.maximum, {a, b}); }
  Operand minimum(Operand a, Operand b) const { return put(ops.minimum, {a, b}); }
  Operand less(Operand a, Operand b) const { return put(ops.less, {a, b}); }
  Operand equal(Operand a, Operand b) const { return put(ops.equal, {a, b}); }
  /// Whether a comes before b where the largest (the smallest) is looked for; NaN before all.
  Operand before(bool largest, Operand a, Operand b) const {
    if (!ops.is_float) return largest ? less(b, a) : less(a, b);
    return put(largest ? ops.above : ops.beneath, {a, b});
  }
  Operand select(Operand condition, Operand yes, Operand no) const {
    return put(scalar::Op::kSelect, {condition, yes, no});
  }
  /// The number itself, NaN made canonical.
  Operand canonical(Operand a) const { return maximum(a, a); }
  Operand absolute(Operand a) const {
    const Operand turned = sub(zero(), a);
    return maximum(a, turned);
  }
  /// Of an integer: -1, 0 or 1.
  Operand sign(Operand a) const {
    const Operand rest = less(zero(), a);
    return select(less(a, zero()), number(-1), rest);
  }
  Operand zero() const { return constant(0); }
  Operand one() const { return constant(ops.one); }
  Operand number(std::int64_t whole) const { return constant(ops.of_integer(whole)); }
  Operand real(std::uint32_t bits) const { return constant(ops.of_real(bits)); }
};
/// Begins a program that computes in the arithmetic of input `in`: elements of inputs are converted
/// as they are read, and the last result to the output's type. Precondition: that input has a kit.
Emitter computing(const NodeCall& call, std::size_t output, StepBuilder& steps, std::size_t in = 0);

inline bool is_index(const Shaped& type) {
  return type.is(Element::kInt32) || type.is(Element::kInt64);
}
/// Element `element` of input 1, an index into `length` places: from the end where it is negative.
Operand index_at(const NodeCall& call, StepBuilder& steps, std::int64_t element,
                 std::int64_t length);

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

/// start op term(0) op ... term(count - 1).
template <class Term>
Operand folded(const Emitter& emit, scalar::Op op, std::uint64_t start, std::int64_t count,
               Term&& term) {
  Operand state[] = {constant(start)};
  if (count == 0) return emit.put(scalar::Op::kCopy, {state[0]});
  emit.steps.fold(count, state, [&](std::int64_t i, std::span<Operand> running) {
    running[0] = emit.put(op, {running[0], term(i)});
  });
  return state[0];
}

}  // namespace commensal::arbiter
