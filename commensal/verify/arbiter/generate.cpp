// SPDX-License-Identifier: Apache-2.0
// Operators that make values from shapes and parameters: ConstantOfShape, EyeLike, Range, Shape,
// Size.
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using scalar::Soft64;

void put(StepBuilder& steps, std::uint64_t bits) { steps.put(Op::kCopy, {constant(bits)}); }
Shaped int64s(const Dims& dims) { return shaped(static_cast<std::uint8_t>(Element::kInt64), dims); }

// Which dimensions: from opset 15 on from `start` to `end`, kept within the rank.
std::span<const std::uint64_t> dims_shown(const NodeCall& call) {
  const std::int64_t rank = call.inputs[0].rank();
  const auto place = [&](const char* name, std::int64_t fallback) {
    const std::int64_t given = call.node.integer(name, fallback);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t start = place("start", 0), end = std::max(place("end", rank), start);
  return std::span(call.inputs[0].dims)
      .subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start));
}
TypeResult shape_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("this form");
  return int64s({static_cast<std::int64_t>(dims_shown(call).size())});
}
void shape(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  put(steps, dims_shown(call)[static_cast<std::size_t>(element)]);
}
TypeResult size_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0)) return unsupported("this form");
  return int64s({});
}
void size(const NodeCall& call, std::size_t, std::int64_t, StepBuilder& steps) {
  put(steps, static_cast<std::uint64_t>(call.inputs[0].elements()));
}

// By default a float32 of +0.
std::optional<Listed> filling(const NodeCall& call) {
  if (!call.node.has("value"))
    return Listed{{static_cast<std::uint8_t>(Element::kFloat32), {}}, {0}};
  const auto found = call.tensors.find("value");
  if (found == call.tensors.end() || found->second.elements.size() != 1) return std::nullopt;
  return found->second;
}
TypeResult of_shape_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && call.inputs[0].rank() <= 1;
  const auto dims = there ? call.list("", 0, 1) : std::nullopt;
  const auto value = filling(call);
  if (!dims || !value) return unsupported("a shape or value that nobody can show");
  return shaped(value->type.dtype, *dims);
}
void of_shape(const NodeCall& call, std::size_t, std::int64_t, StepBuilder& steps) {
  const std::uint64_t size = element_bytes(call.outputs[0].dtype);
  const auto bits = static_cast<std::uint64_t>(filling(call)->elements[0]);
  put(steps, size == 8 ? bits : bits & ((std::uint64_t{1} << 8 * size) - 1));
}

TypeResult eye_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || call.inputs[0].rank() != 2) return unsupported("this form");
  const std::int64_t to = call.node.integer("dtype", call.inputs[0].dtype);
  const Shaped made = shaped(static_cast<std::uint8_t>(std::clamp<std::int64_t>(to, 0, 255)),
                             dims_of(call.inputs[0]));
  if (!has_kit(made)) return unsupported("no program for this element type");
  return made;
}
void eye(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const std::int64_t columns = call.outputs[0].dim(1);
  const Kit& kit = *kit_of(call.outputs[0]);
  const bool is_one = element % columns - element / columns == call.node.integer("k", 0);
  steps.convert({}, kit.store);
  put(steps, is_one ? kit.ops->one : 0);
}

// ---- Range ------------------------------------------------------------------------------

// How many: ceil((limit - start) / delta), of floats in binary64. Nothing for a range without end.
std::optional<std::int64_t> range_count(const NodeCall& call) {
  const auto number = [&](std::size_t i) { return (*call.lists[i])[0]; };
  if (is_float(call.inputs[0])) {
    const auto wide = [&](std::size_t i) {
      const auto bits = static_cast<std::uint64_t>(number(i));
      return call.inputs[0].is(Element::kFloat64) ? bits
                                                  : scalar::widen(static_cast<std::uint32_t>(bits));
    };
    const std::uint64_t distance = Soft64::sub(wide(1), wide(0));
    const std::uint64_t count = Soft64::round(Soft64::div(distance, wide(2)), Soft64::Towards::kUp);
    if (Soft64::is_zero(wide(2)) || Soft64::is_nan(count)) return std::nullopt;
    return std::max<std::int64_t>(Soft64::to_integer(count, 62), 0);
  }
  const std::int64_t start = number(0), limit = number(1), delta = number(2);
  if (delta == 0) return std::nullopt;
  if ((delta > 0) != (limit > start) || limit == start) return 0;
  const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t distance = delta > 0 ? u(limit) - u(start) : u(start) - u(limit);
  const std::uint64_t stride = delta > 0 ? u(delta) : 0 - u(delta);
  const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX));
}
TypeResult range_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.inputs.size() == 3 && call.has(0) && call.has(1) &&
                     call.has(2) && is_ordered(call.inputs[0]);
  if (!there) return unsupported("inputs that do not fit");
  for (const Shaped& input : call.inputs) {
    if (input.dtype != call.inputs[0].dtype || input.elements() != 1) {
      return unsupported("inputs that do not fit");
    }
  }
  const auto count = range_count(call);
  if (!count || *count > limits::kTensorElementsMax) return unsupported("a range without an end");
  return shaped(call.inputs[0].dtype, {*count});
}
void range(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  emit.add(element_of(0, 0), emit.mul(emit.number(element), element_of(2, 0)));
}

}  // namespace

std::span<const OperatorRow> generate_rows() {
  constexpr std::string_view kO = "floats, integers but uint64";
  static constexpr OperatorRow kRows[] = {
      {"ConstantOfShape", 9, 0, "all", of_shape_type, of_shape},
      {"EyeLike", 9, 0, "floats, integers, bool", eye_type, eye},
      {"Range", 11, 0, kO, range_type, range},
      {"Shape", 1, 0, "all", shape_type, shape},
      {"Size", 1, 0, "all", size_type, size},
  };
  return kRows;
}

}  // namespace commensal::arbiter
