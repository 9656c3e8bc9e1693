// SPDX-License-Identifier: Apache-2.0
// Quantised numbers (docs/numerics.md): codes are integers, scales are computed in binary32.
#include <algorithm>
#include <commensal/verify/arbiter/products.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

constexpr auto kFloat32 = static_cast<std::uint8_t>(Element::kFloat32);
constexpr auto kUint8 = static_cast<std::uint8_t>(Element::kUint8);
constexpr auto kInt32 = static_cast<std::uint8_t>(Element::kInt32);

bool is_code(const Shaped& type) {
  return type.is(Element::kUint8) || type.is(Element::kInt8) || type.is(Element::kUint16) ||
         type.is(Element::kInt16);
}
bool is_byte(const Shaped& type) { return type.is(Element::kUint8) || type.is(Element::kInt8); }

Operand integer(std::int64_t value) { return constant(static_cast<std::uint64_t>(value)); }
Operand element_or_zero(const NodeCall& call, std::size_t input, std::int64_t index) {
  return call.has(input) ? element_of(static_cast<int>(input), index) : constant(0);
}

// The code of a number that is already divided by the scale.
Operand code_of(StepBuilder& steps, Operand scaled, Operand zero, const Kit& to) {
  const Operand nearest = steps.put(Op::kRound32, {scaled});
  Operand code = steps.put(Op::kIntegerOfFloat, {nearest});
  code = steps.put(Op::kMaximumInteger, {code, integer(INT32_MIN)});
  code = steps.put(Op::kMinimumInteger, {code, integer(INT32_MAX)});
  code = steps.put(Op::kAddInteger, {code, zero});
  code = steps.put(Op::kMaximumInteger, {code, constant(to.lowest)});
  return steps.put(Op::kMinimumInteger, {code, constant(to.highest)});
}

// ---- QuantizeLinear, DequantizeLinear ---------------------------------------------------

// Which element of the scale (and zero point) serves an element: one for all, one for each
// position along an axis, or one for each block of positions.
struct ScalePlace {
  bool single = true, blocked = false;
  std::int64_t block = 1, blocks = 1;
  AxisView view;
  std::int64_t operator()(std::int64_t element) const {
    if (single) return 0;
    const std::int64_t along = view.along(element) / block;
    if (!blocked) return along;
    return (view.outer(element) * blocks + along) * view.inner_size + view.inner(element);
  }
};
std::optional<ScalePlace> scale_place(const NodeCall& call) {
  const Shaped& scale = call.inputs[1];
  const Dims x = dims_of(call.inputs[0]);
  const bool both_single = scale.elements() == 1 && call.has(2) && call.inputs[2].elements() == 1;
  if (call.has(2) && !both_single && call.inputs[2].dims != scale.dims) return std::nullopt;
  ScalePlace place;
  const std::int64_t block = call.node.integer("block_size", 0);
  if (block == 0 && scale.rank() <= 1 && scale.elements() == 1) return place;
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", 1), static_cast<std::int64_t>(x.size()));
  if (axis < 0 || block < 0) return std::nullopt;
  const std::int64_t length = x[static_cast<std::size_t>(axis)];
  place.single = false;
  place.view = view_of(x, axis);
  place.blocks = length;
  Dims expected = {length};
  if (block > 0) {
    place.blocked = true;
    place.block = block;
    place.blocks = length / block + (length % block == 0 ? 0 : 1);
    expected = x;
    expected[static_cast<std::size_t>(axis)] = place.blocks;
  }
  return dims_of(scale) == expected ? std::optional(place) : std::nullopt;
}

Shaped stated(const NodeCall& call, std::string_view name, std::uint8_t fallback) {
  const std::int64_t given = call.node.integer(name, 0);
  return {
      given == 0 ? fallback : static_cast<std::uint8_t>(std::clamp<std::int64_t>(given, 0, 255)),
      {}};
}
bool is_scaled(const NodeCall& call, std::size_t output) {
  return output == 0 && call.has(0) && call.has(1) && is_binary32(call.inputs[1]) &&
         scale_place(call);
}

TypeResult quantise_type(const NodeCall& call, std::size_t output) {
  const Shaped to = stated(call, "output_dtype", call.has(2) ? call.inputs[2].dtype : kUint8);
  const bool fits = is_scaled(call, output) && is_code(to) &&
                    (is_binary32(call.inputs[0]) || call.inputs[0].is(Element::kInt32)) &&
                    (!call.has(2) || call.inputs[2].dtype == to.dtype) &&
                    is_binary32(stated(call, "precision", kFloat32));
  if (!fits) return unsupported("no program for these element types");
  return shaped(to.dtype, dims_of(call.inputs[0]));
}
void quantise(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps, 1);
  const std::int64_t at = (*scale_place(call))(element);
  Operand x = element_of(0, element);
  if (call.inputs[0].is(Element::kInt32)) x = emit.put(Op::kFloatOfInteger, {x});
  Operand quotient = emit.div(x, element_of(1, at));
  const Kit& precision = *kit_of(stated(call, "precision", kFloat32));
  if (precision.store) {
    const Operand narrow = emit.put(*precision.store, {quotient});
    quotient = emit.put(*precision.load, {narrow});
  }
  code_of(steps, quotient, element_or_zero(call, 2, at), *kit_of(call.outputs[output]));
}

TypeResult dequantise_type(const NodeCall& call, std::size_t output) {
  const bool fits = is_scaled(call, output) &&
                    (is_code(call.inputs[0]) || call.inputs[0].is(Element::kInt32)) &&
                    (!call.has(2) || call.inputs[2].dtype == call.inputs[0].dtype);
  if (!fits) return unsupported("no program for these element types");
  const Shaped to = stated(call, "output_dtype", call.inputs[1].dtype);
  if (!is_binary32(to)) return unsupported("no program for these element types");
  return shaped(to.dtype, dims_of(call.inputs[0]));
}
void dequantise(const NodeCall& call, std::size_t output, std::int64_t element,
                StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps, 1);
  const std::int64_t at = (*scale_place(call))(element);
  const Operand distance =
      emit.put(Op::kSubInteger, {element_of(0, element), element_or_zero(call, 2, at)});
  emit.mul(emit.put(Op::kFloatOfInteger, {distance}), element_of(1, at));
}

// ---- DynamicQuantizeLinear --------------------------------------------------------------

TypeResult dynamic_type(const NodeCall& call, std::size_t output) {
  const bool fits = output < 3 && call.has(0) && call.inputs[0].is(Element::kFloat32);
  if (!fits) return unsupported("no program for this element type");
  return shaped(output == 1 ? kFloat32 : kUint8, output == 0 ? dims_of(call.inputs[0]) : Dims());
}
void dynamic(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  Operand ends[] = {emit.zero(), emit.zero()};
  steps.fold(call.inputs[0].elements(), ends, [&](std::int64_t i, std::span<Operand> state) {
    state[0] = emit.minimum(state[0], element_of(0, i));
    state[1] = emit.maximum(state[1], element_of(0, i));
  });
  const Operand scale = emit.div(emit.sub(ends[1], ends[0]), emit.number(255));
  if (output == 1) return;
  const Shaped bytes{kUint8, {}};
  const Kit& kit = *kit_of(bytes);
  const Operand origin = emit.div(emit.sub(emit.zero(), ends[0]), scale);
  const Operand zero = code_of(steps, origin, constant(0), kit);
  if (output == 0) code_of(steps, emit.div(element_of(0, element), scale), zero, kit);
}

// ---- products of codes ------------------------------------------------------------------

// Which inputs are what, as the operators list them.
struct Coded {
  int codes = -1, scale = -1, zero = -1;
};
struct Roles {
  Coded a, b, y;
  int bias = -1;
};
constexpr Roles kInteger{{0, -1, 2}, {1, -1, 3}, {}, -1};
constexpr Roles kRequantised{{0, 1, 2}, {3, 4, 5}, {-1, 6, 7}, 8};

bool has(const NodeCall& call, int input) {
  return input >= 0 && call.has(static_cast<std::size_t>(input));
}
const Shaped& type_of(const NodeCall& call, int input) {
  return call.inputs[static_cast<std::size_t>(input)];
}
bool are_codes(const NodeCall& call, const Coded& side) {
  if (side.codes >= 0 && (!has(call, side.codes) || !is_byte(type_of(call, side.codes)))) {
    return false;
  }
  if (side.scale >= 0 && (!has(call, side.scale) || !is_binary32(type_of(call, side.scale)))) {
    return false;
  }
  if (!has(call, side.zero)) return side.codes >= 0 || side.zero < 0;
  const Shaped& zero = type_of(call, side.zero);
  return is_byte(zero) && (side.codes < 0 || zero.dtype == type_of(call, side.codes).dtype);
}

// Which element of a scale or zero point serves row (column, channel) i of a matrix, `count` of
// them in each; `full`: the shape with one for each of all matrices. Nothing if it does not fit.
std::optional<std::int64_t> spread(const NodeCall& call, int input, std::int64_t count,
                                   const Dims& full, std::int64_t matrix, std::int64_t i) {
  if (!has(call, input)) return 0;
  const Dims dims = dims_of(type_of(call, input));
  if (dims.size() <= 1 && product(dims) == 1) return 0;
  if (dims == Dims{count}) return i;
  if (!full.empty() && dims == full) return matrix * count + i;
  return std::nullopt;
}
struct Spot {
  std::optional<std::int64_t> scale, zero;
  bool fits() const { return scale && zero; }
};
Spot spot(const NodeCall& call, const Coded& side, std::int64_t count, const Dims& full,
          std::int64_t matrix, std::int64_t i) {
  return {spread(call, side.scale, count, full, matrix, i),
          spread(call, side.zero, count, full, matrix, i)};
}
struct Spots {
  Spot a, b, y;
  bool fit() const { return a.fits() && b.fits() && y.fits(); }
};

// [..., M, 1] or [..., 1, N]: one for each row or column of all matrices.
Dims one_for_each(Dims dims, bool rows) {
  if (dims.size() >= 2) dims[dims.size() - (rows ? 1 : 2)] = 1;
  return dims;
}
Spots matmul_spots(const NodeCall& call, const Roles& roles, const MatMul& mm,
                   std::int64_t element) {
  const std::int64_t j = element % mm.n(), i = element / mm.n() % mm.m();
  const Dims a = dims_of(type_of(call, roles.a.codes)), b = dims_of(type_of(call, roles.b.codes));
  const std::int64_t batch = element / mm.n() / mm.m();
  return {spot(call, roles.a, mm.m(), one_for_each(a, true), mm.matrix(mm.a, element), i),
          spot(call, roles.b, mm.n(), one_for_each(b, false), mm.matrix(mm.b, element), j),
          spot(call, roles.y, mm.m(), one_for_each(mm.to(), true), batch, i)};
}
Spots conv_spots(const NodeCall& call, const Roles& roles, const Conv& conv, std::int64_t element) {
  return {spot(call, roles.a, 1, {}, 0, 0),
          spot(call, roles.b, conv.out_channels, {}, 0, conv.channel(element)),
          spot(call, roles.y, 1, {}, 0, 0)};
}

std::size_t at(int input) { return static_cast<std::size_t>(input); }
core::Result<Conv> code_conv(const NodeCall& call, const Roles& roles) {
  return conv_of(call, at(roles.a.codes), at(roles.b.codes),
                 roles.bias < 0 ? call.inputs.size() : at(roles.bias));
}
bool are_there(const NodeCall& call, const Roles& roles, std::size_t output) {
  return output == 0 && are_codes(call, roles.a) && are_codes(call, roles.b) &&
         are_codes(call, roles.y);
}
std::uint8_t code_type(const NodeCall& call, const Roles& roles) {
  return roles.y.zero < 0 ? kInt32 : type_of(call, roles.y.zero).dtype;
}

bool has_elements(const Dims& dims) {
  const Shaped type = shaped(kInt32, dims);
  return type.valid() && type.elements() > 0;
}

template <const Roles& kRoles>
TypeResult code_matmul_type(const NodeCall& call, std::size_t output) {
  const auto mm = are_there(call, kRoles, output)
                      ? matmul_of(type_of(call, kRoles.a.codes), type_of(call, kRoles.b.codes))
                      : std::nullopt;
  if (!mm || !has_elements(mm->to()) || !matmul_spots(call, kRoles, *mm, 0).fit()) {
    return unsupported("inputs that do not fit");
  }
  return shaped(code_type(call, kRoles), mm->to());
}
template <const Roles& kRoles>
TypeResult code_conv_type(const NodeCall& call, std::size_t output) {
  if (!are_there(call, kRoles, output)) return unsupported("inputs that do not fit");
  COMMENSAL_ASSIGN(const Conv conv, code_conv(call, kRoles));
  const bool has_bias = has(call, kRoles.bias);
  const bool fits = has_elements(conv.to()) && conv_spots(call, kRoles, conv, 0).fit() &&
                    (!has_bias || type_of(call, kRoles.bias).is(Element::kInt32));
  if (!fits) return unsupported("inputs that do not fit");
  return shaped(code_type(call, kRoles), conv.to());
}

// The sum of products of codes less their zero points, terms(i) being where they lie.
template <class Terms>
Operand code_sum(const NodeCall& call, const Roles& roles, const Spots& spots, StepBuilder& steps,
                 std::int64_t count, Terms&& terms) {
  const auto less_zero = [&](const Coded& side, const Spot& spot, std::int64_t index) {
    const Operand code = element_of(side.codes, index);
    if (!has(call, side.zero)) return code;
    return steps.put(Op::kSubInteger, {code, element_of(side.zero, *spot.zero)});
  };
  Operand acc[] = {constant(0)};
  if (count == 0) acc[0] = steps.put(Op::kCopy, {acc[0]});
  steps.fold(count, acc, [&](std::int64_t i, std::span<Operand> state) {
    const auto [in_a, in_b] = terms(i);
    const Operand a = less_zero(roles.a, spots.a, in_a);
    const Operand b = less_zero(roles.b, spots.b, in_b);
    state[0] = steps.put(Op::kMulAddInteger, {a, b, state[0]});
  });
  return acc[0];
}
// As an element of the output: int32, or the code that its scales make of it.
void requantise(const NodeCall& call, const Roles& roles, const Spots& spots, std::size_t output,
                Operand acc, StepBuilder& steps) {
  if (roles.y.zero < 0) return;
  const auto scale = [](const Coded& side, const Spot& spot) {
    return element_of(side.scale, *spot.scale);
  };
  const Operand low = steps.put(Op::kLow32, {acc});
  const Operand sum = steps.put(Op::kWidenInteger32, {low});
  const Operand both = steps.put(Op::kMul32, {scale(roles.a, spots.a), scale(roles.b, spots.b)});
  const Operand factor = steps.put(Op::kDiv32, {both, scale(roles.y, spots.y)});
  const Operand number = steps.put(Op::kFloatOfInteger, {sum});
  const Operand scaled = steps.put(Op::kMul32, {number, factor});
  code_of(steps, scaled, element_of(roles.y.zero, *spots.y.zero), *kit_of(call.outputs[output]));
}

template <const Roles& kRoles>
void code_matmul(const NodeCall& call, std::size_t output, std::int64_t element,
                 StepBuilder& steps) {
  computing(call, output, steps);
  const MatMul mm = *matmul_of(type_of(call, kRoles.a.codes), type_of(call, kRoles.b.codes));
  const Spots spots = matmul_spots(call, kRoles, mm, element);
  const Stride s = mm.stride(element);
  const Operand acc = code_sum(call, kRoles, spots, steps, s.k, [&](std::int64_t i) {
    return std::pair(s.a + i * s.a_step, s.b + i * s.b_step);
  });
  requantise(call, kRoles, spots, output, acc, steps);
}
template <const Roles& kRoles>
void code_convolution(const NodeCall& call, std::size_t output, std::int64_t element,
                      StepBuilder& steps) {
  computing(call, output, steps);
  const Conv conv = *code_conv(call, kRoles);
  const Spots spots = conv_spots(call, kRoles, conv, element);
  const ConvPlaces places(conv, element);
  Operand acc = code_sum(call, kRoles, spots, steps, places.count(), [&](std::int64_t i) {
    return std::pair(places.source(i), places.weight(i));
  });
  if (has(call, kRoles.bias)) {
    acc = steps.put(Op::kAddInteger, {acc, element_of(kRoles.bias, conv.channel(element))});
  }
  requantise(call, kRoles, spots, output, acc, steps);
}

}  // namespace

std::span<const OperatorRow> quantised_rows() {
  constexpr std::string_view kBytes = "uint8, int8", kCodes = "codes of 8 and 16 bits",
                             kBoth = "codes of 8 and 16 bits, int32";
  static constexpr OperatorRow kRows[] = {
      {"ConvInteger", 10, 0, kBytes, code_conv_type<kInteger>, code_convolution<kInteger>},
      {"DequantizeLinear", 10, 0, kBoth, dequantise_type, dequantise},
      {"DynamicQuantizeLinear", 11, 0, "float32", dynamic_type, dynamic},
      {"MatMulInteger", 10, 0, kBytes, code_matmul_type<kInteger>, code_matmul<kInteger>},
      {"QLinearConv", 10, 0, kBytes, code_conv_type<kRequantised>, code_convolution<kRequantised>},
      {"QLinearMatMul", 10, 0, kBytes, code_matmul_type<kRequantised>, code_matmul<kRequantised>},
      {"QuantizeLinear", 10, 0, kCodes, quantise_type, quantise},
  };
  return kRows;
}

}  // namespace commensal::arbiter
