// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and the losses that are made of likelihoods (docs/numerics.md, "Sums").
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

TypeResult softmax_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || !is_binary32(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  const std::int64_t rank = call.inputs[0].rank();
  const bool flattens = call.node.opset < 13;
  const std::int64_t axis = call.node.integer("axis", flattens ? 1 : -1);
  if (normal_axis(axis, rank) < 0 && !(flattens && axis == rank)) return unsupported("an axis");
  return call.inputs[0];
}

AxisView rows_of(const NodeCall& call) {
  const Dims dims = dims_of(call.inputs[0]);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const bool flattens = call.node.opset < 13;
  const std::int64_t given = call.node.integer("axis", flattens ? 1 : -1);
  if (flattens && given == rank) return {1, 1};
  const std::int64_t axis = normal_axis(given, rank);
  if (!flattens) return view_of(dims, axis);
  return {product(std::span(dims).subspan(static_cast<std::size_t>(axis))), 1};
}

// e = x - m, and its exponential.
struct Row {
  AxisView view;
  std::int64_t outer = 0, inner = 0;
  Operand largest;

  Row(const Emitter& emit, const AxisView& rows, std::int64_t outer_at, std::int64_t inner_at)
      : view(rows), outer(outer_at), inner(inner_at) {
    largest = folded(emit, emit.ops.maximum, emit.lowest, view.length,
                     [&](std::int64_t i) { return at(i); });
  }
  Row(const Emitter& emit, const AxisView& rows, std::int64_t element)
      : Row(emit, rows, rows.outer(element), rows.inner(element)) {}

  Operand at(std::int64_t i) const { return element_of(0, view.position(outer, i, inner)); }
  Operand sum_of_exponentials(const Emitter& emit) const {
    return lane_sum(emit, view.length, [&](std::int64_t i) {
      return emit.put(Op::kExp32, {emit.sub(at(i), largest)});
    });
  }
  /// Of one of the row's elements.
  Operand log_softmax(const Emitter& emit, Operand x) const {
    const Operand sum = sum_of_exponentials(emit);
    const Operand less = emit.sub(x, largest);
    return emit.sub(less, emit.put(Op::kLog32, {sum}));
  }
};

void softmax(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Row row(emit, rows_of(call), element);
  const Operand sum = row.sum_of_exponentials(emit);
  const Operand less = emit.sub(element_of(0, element), row.largest);
  emit.div(emit.put(Op::kExp32, {less}), sum);
}
void log_softmax(const NodeCall& call, std::size_t output, std::int64_t element,
                 StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  Row(emit, rows_of(call), element).log_softmax(emit, element_of(0, element));
}

// ---- losses -----------------------------------------------------------------------------

// Input 0 is [N, C, ...]; a place is one of [N, ...], its target the class that input 1 has there.
template <bool kSoftmax>
TypeResult loss_type(const NodeCall& call, std::size_t output) {
  const std::string reduction = call.node.text("reduction", "mean");
  const bool there = output < (kSoftmax ? 2 : 1) && call.has(0) && call.has(1) &&
                     (kSoftmax ? is_binary32 : is_float)(call.inputs[0]) &&
                     is_index(call.inputs[1]) && call.inputs[0].rank() >= 2 &&
                     (reduction == "none" || reduction == "sum" || reduction == "mean");
  if (!there) return unsupported("no program for this form or element type");
  Dims places = dims_of(call.inputs[0]);
  const std::int64_t classes = places[1];
  places.erase(places.begin() + 1);
  const std::uint8_t dtype = call.inputs[0].dtype;
  if (dims_of(call.inputs[1]) != places || classes < 1 ||
      (call.has(2) && call.inputs[2] != shaped(dtype, {classes}))) {
    return unsupported("inputs that do not fit");
  }
  if (output == 1) return call.inputs[0];
  return shaped(dtype, reduction == "none" ? places : Dims{});
}

template <bool kSoftmax>
struct Loss {
  const NodeCall& call;
  const Emitter& emit;
  AxisView view = view_of(dims_of(call.inputs[0]), 1);
  std::int64_t places = call.inputs[1].elements();

  /// Whether the place is left out; nothing where none is.
  std::optional<Operand> is_ignored(std::int64_t place) const {
    if (!call.node.has("ignore_index")) return std::nullopt;
    const auto ignored = static_cast<std::uint64_t>(call.node.integer("ignore_index", 0));
    return emit.put(Op::kEqualInteger, {element_of(1, place), constant(ignored)});
  }
  Operand unless_ignored(std::int64_t place, std::uint64_t otherwise, Operand value) const {
    const auto ignored = is_ignored(place);
    return ignored ? emit.select(*ignored, constant(otherwise), value) : value;
  }
  Operand target(std::int64_t place) const {
    const auto classes = static_cast<std::uint64_t>(view.length);
    return emit.put(Op::kWrapIndex, {element_of(1, place), constant(classes)});
  }
  Operand weight(std::int64_t place) const { return element_at(2, target(place)); }

  /// As if no place were left out.
  Operand at(std::int64_t place) const {
    const std::int64_t outer = place / view.inner_size, inner = place % view.inner_size;
    const auto first = static_cast<std::uint64_t>(view.position(outer, 0, inner));
    const auto stride = static_cast<std::uint64_t>(view.inner_size);
    const Operand where =
        emit.put(Op::kMulAddInteger, {target(place), constant(stride), constant(first)});
    Operand likelihood = element_at(0, where);
    if constexpr (kSoftmax) {
      likelihood = Row(emit, view, outer, inner).log_softmax(emit, likelihood);
    }
    const Operand loss = emit.sub(constant(emit.ops.minus_zero), likelihood);
    return call.has(2) ? emit.mul(weight(place), loss) : loss;
  }

  /// -0 adds nothing.
  Operand sum() const {
    return lane_sum(emit, places,
                    [&](std::int64_t p) { return unless_ignored(p, emit.ops.minus_zero, at(p)); });
  }
  Operand divisor() const {
    if (call.has(2)) {
      return lane_sum(emit, places, [&](std::int64_t p) {
        return unless_ignored(p, emit.ops.minus_zero, emit.put(Op::kCopy, {weight(p)}));
      });
    }
    if (!call.node.has("ignore_index")) return emit.number(places);
    const Operand count = folded(emit, Op::kAddInteger, 0, places,
                                 [&](std::int64_t p) { return unless_ignored(p, 0, constant(1)); });
    const bool is_double = call.inputs[0].is(Element::kFloat64);
    return emit.put(is_double ? Op::kDoubleOfInteger : Op::kFloatOfInteger, {count});
  }
};

template <bool kSoftmax>
void loss(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Loss<kSoftmax> of{call, emit};
  if (output == 1) {
    Row(emit, of.view, element).log_softmax(emit, element_of(0, element));
    return;
  }
  const std::string reduction = call.node.text("reduction", "mean");
  if (reduction == "none") {
    emit.put(Op::kCopy, {of.unless_ignored(element, 0, of.at(element))});
    return;
  }
  const Operand sum = of.sum();
  if (reduction == "mean") emit.div(sum, of.divisor());
}

constexpr std::string_view kF = "float32, float16, bfloat16";

}  // namespace

std::span<const OperatorRow> softmax_rows() {
  static constexpr OperatorRow kRows[] = {
      {"LogSoftmax", 1, 0, kF, softmax_type, log_softmax},
      {"NegativeLogLikelihoodLoss", 12, 0, "floats", loss_type<false>, loss<false>},
      {"Softmax", 1, 0, kF, softmax_type, softmax},
      {"SoftmaxCrossEntropyLoss", 12, 0, kF, loss_type<true>, loss<true>},
  };
  return kRows;
}

}  // namespace commensal::arbiter
