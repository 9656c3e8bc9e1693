// SPDX-License-Identifier: Apache-2.0
// Sums in 32 lanes and what is made of them, extremes (docs/numerics.md, "Sums").
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

// ---- Reduce -----------------------------------------------------------------------------

struct Folding {
  Dims from, kept, folded, to;  // kept and folded have 1 where the other has the dimension
  bool is_identity = false;

  std::int64_t count() const { return product(folded); }
};

std::optional<Folding> folding_of(const NodeCall& call, std::uint32_t axes_input_since) {
  const auto given = call.list("axes", 1, axes_input_since);
  if (!given) return std::nullopt;
  Folding f;
  f.from = dims_of(call.inputs[0]);
  const auto rank = static_cast<std::int64_t>(f.from.size());
  const bool noop = call.node.integer("noop_with_empty_axes", 0) != 0;
  f.is_identity = given->empty() && noop;
  std::vector<bool> reduced(f.from.size(), given->empty() && !noop);
  for (const std::int64_t axis : *given) {
    if (normal_axis(axis, rank) < 0) return std::nullopt;
    reduced[static_cast<std::size_t>(normal_axis(axis, rank))] = true;
  }
  f.kept = f.folded = f.from;
  for (std::size_t d = 0; d < f.from.size(); ++d) {
    (reduced[d] ? f.kept : f.folded)[d] = 1;
    if (!reduced[d] || call.node.integer("keepdims", 1) != 0) f.to.push_back(f.kept[d]);
  }
  return f;
}

template <std::uint32_t kSince, bool (*kAccepts)(const Shaped&)>
TypeResult reduced_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || !kAccepts(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  const auto folding = folding_of(call, kSince);
  if (!folding) return unsupported("axes that nobody can show");
  return shaped(call.inputs[0].dtype, folding->to);
}

// kOf(emit, count, term): term(i) is the operand at position i.
using Term = std::function<Operand(std::int64_t)>;
template <std::uint32_t kSince, Operand (*kOf)(const Emitter&, std::int64_t, const Term&)>
void reduce(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Folding f = *folding_of(call, kSince);
  if (f.is_identity) {
    steps.put(Op::kCopy, {element_of(0, element)});
    return;
  }
  const Emitter emit = computing(call, output, steps);
  const Dims base = split(element, f.kept);
  kOf(emit, f.count(), [&](std::int64_t i) {
    Dims at = split(i, f.folded);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += base[d];
    return element_of(0, join(at, f.from));
  });
}

Operand square(const Emitter& emit, Operand x) { return emit.mul(x, x); }
Operand sum_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return lane_sum(emit, n, term);
}
Operand mean_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return emit.div(lane_sum(emit, n, term), emit.number(n));
}
Operand sum_of_squares(const Emitter& emit, std::int64_t n, const Term& term) {
  return lane_sum(emit, n, [&](std::int64_t i) { return square(emit, term(i)); });
}
Operand l2_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return emit.sqrt(sum_of_squares(emit, n, term));
}
Operand l1_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return lane_sum(emit, n, [&](std::int64_t i) { return emit.absolute(term(i)); });
}
Operand log_of_sum(const Emitter& emit, std::int64_t n, const Term& term) {
  return emit.put(Op::kLog32, {lane_sum(emit, n, term)});
}
Operand largest_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return folded(emit, emit.ops.maximum, emit.lowest, n, term);
}
Operand smallest_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return folded(emit, emit.ops.minimum, emit.highest, n, term);
}
Operand log_of_exponentials(const Emitter& emit, std::int64_t n, const Term& term) {
  // Where the maximum is infinite nothing is taken off.
  const Operand largest = largest_of(emit, n, term);
  const Operand finite = emit.less(emit.absolute(largest), constant(emit.highest));
  const Operand is_number = emit.equal(largest, largest);
  const Operand kept = emit.select(is_number, emit.select(finite, largest, emit.zero()), largest);
  const Operand sum = lane_sum(
      emit, n, [&](std::int64_t i) { return emit.put(Op::kExp32, {emit.sub(term(i), kept)}); });
  return emit.add(kept, emit.put(Op::kLog32, {sum}));
}
Operand product_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return folded(emit, emit.ops.mul, emit.ops.one, n, term);
}

// ---- normalisation ----------------------------------------------------------------------

// Groups of `size` elements one after another; scale and bias of an element are entry
// element / stretch mod parameters.
struct Groups {
  std::int64_t size = 1, stretch = 1, parameters = 1;
};
std::optional<Groups> layer_groups(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]);
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", -1), static_cast<std::int64_t>(x.size()));
  if (axis < 0) return std::nullopt;
  const std::int64_t size = product(std::span(x).subspan(static_cast<std::size_t>(axis)));
  return Groups{size, 1, size};
}
std::optional<Groups> instance_groups(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]);
  if (x.size() < 2) return std::nullopt;
  const std::int64_t plane = product(std::span(x).subspan(2));
  return Groups{plane, plane, x[1]};
}

// Of [N, C, ...] in num_groups; before opset 21 scale and bias are per group, then per channel.
std::optional<Groups> channel_groups(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]);
  const std::int64_t groups = call.node.integer("num_groups", 0);
  if (x.size() < 2 || groups < 1 || x[1] % groups != 0) return std::nullopt;
  const std::int64_t plane = product(std::span(x).subspan(2)), size = x[1] / groups * plane;
  if (call.node.opset < 21) return Groups{size, size, groups};
  return Groups{size, plane, x[1]};
}

using GroupsOf = std::optional<Groups> (*)(const NodeCall&);
template <GroupsOf kGroups>
TypeResult grouped_type(const NodeCall& call, std::size_t output) {
  const bool fits = output < 3 && call.has(0) && is_binary32(call.inputs[0]) && call.has(1) &&
                    call.node.integer("stash_type", 1) == 1;
  const auto groups = fits ? kGroups(call) : std::nullopt;
  if (!groups || groups->size == 0) {
    return unsupported("no program for this output or element type");
  }
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!call.has(i)) continue;
    if (call.inputs[i].dtype != call.inputs[0].dtype ||
        call.inputs[i].elements() != groups->parameters) {
      return unsupported("parameters that do not fit");
    }
  }
  if (output == 0) return call.inputs[0];
  // LayerNormalization's Mean and InvStdDev.
  Dims dims = dims_of(call.inputs[0]);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto axis = static_cast<std::size_t>(normal_axis(call.node.integer("axis", -1), rank));
  for (std::size_t d = axis; d < dims.size(); ++d) dims[d] = 1;
  return shaped(static_cast<std::uint8_t>(Element::kFloat32), dims);
}

constexpr std::uint32_t kEpsilon = 0x3727c5ac;  // 1e-5

Operand inverse_root(const Emitter& emit, const NodeCall& call, Operand variance) {
  const Operand padded = emit.add(variance, constant(call.node.real("epsilon", kEpsilon)));
  return emit.div(emit.one(), emit.sqrt(padded));
}

template <GroupsOf kGroups>
void group_norm(const NodeCall& call, std::size_t output, std::int64_t element,
                StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Groups g = *kGroups(call);
  const std::int64_t first = (output == 0 ? element / g.size : element) * g.size;
  const auto at = [&](std::int64_t i) { return element_of(0, first + i); };
  const Operand mean = mean_of(emit, g.size, at);
  if (output == 1) return;
  const Operand squares =
      lane_sum(emit, g.size, [&](std::int64_t i) { return square(emit, emit.sub(at(i), mean)); });
  const Operand r = inverse_root(emit, call, emit.div(squares, emit.number(g.size)));
  if (output == 2) return;
  const Operand d = emit.mul(emit.sub(element_of(0, element), mean), r);
  const std::int64_t parameter = element / g.stretch % g.parameters;
  emit.fma(d, element_of(1, parameter), call.has(2) ? element_of(2, parameter) : emit.zero());
}

TypeResult rms_type(const NodeCall& call, std::size_t output) {
  COMMENSAL_ASSIGN(auto type, grouped_type<layer_groups>(call, output));
  if (output != 0 || call.has(2)) return unsupported("no program for this form");
  return type;
}
void rms_norm(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Groups g = *layer_groups(call);
  const std::int64_t first = element / g.size * g.size;
  const Operand squares =
      sum_of_squares(emit, g.size, [&](std::int64_t i) { return element_of(0, first + i); });
  const Operand r = inverse_root(emit, call, emit.div(squares, emit.number(g.size)));
  emit.mul(emit.mul(element_of(0, element), r), element_of(1, element % g.parameters));
}

TypeResult batch_norm_type(const NodeCall& call, std::size_t output) {
  const bool trains = call.node.opset < 14 ? call.node.outputs.size() > 1
                                           : call.node.integer("training_mode", 0) != 0;
  if (output != 0 || trains || !call.has(0) || !is_float(call.inputs[0]) ||
      call.inputs.size() != 5 || call.inputs[0].rank() < 1) {
    return unsupported("no program for this form or element type");
  }
  const std::int64_t channels = call.inputs[0].rank() > 1 ? call.inputs[0].dim(1) : 1;
  for (std::size_t i = 1; i <= 4; ++i) {
    if (call.inputs[i] != shaped(call.inputs[0].dtype, {channels})) {
      return unsupported("parameters that do not fit");
    }
  }
  return call.inputs[0];
}

void batch_norm(const NodeCall& call, std::size_t output, std::int64_t element,
                StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Shaped& x = call.inputs[0];
  const std::int64_t plane = x.rank() > 2 ? x.elements(2, x.dims.size()) : 1;
  const std::int64_t c = element / plane % (x.rank() > 1 ? x.dim(1) : 1);
  const Operand padded = emit.add(element_of(4, c), emit.real(call.node.real("epsilon", kEpsilon)));
  const Operand scale = emit.div(element_of(1, c), emit.sqrt(padded));
  emit.fma(emit.sub(element_of(0, element), element_of(3, c)), scale, element_of(2, c));
}

// ---- LRN --------------------------------------------------------------------------------

TypeResult lrn_type(const NodeCall& call, std::size_t output) {
  const bool fits = output == 0 && call.has(0) && is_binary32(call.inputs[0]) &&
                    call.inputs[0].rank() >= 2 && call.node.integer("size", 0) >= 1 &&
                    call.node.integer("size", 0) <= kTapsMax;
  if (!fits) return unsupported("no program for this form or element type");
  return call.inputs[0];
}
void lrn(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  constexpr std::uint32_t kAlpha = 0x38d1b717, kBeta = 0x3f400000, kBias = 0x3f800000;
  const Emitter emit = computing(call, output, steps);
  const Shaped& x = call.inputs[0];
  const std::int64_t plane = x.elements(2, x.dims.size()), channels = x.dim(1);
  const std::int64_t size = call.node.integer("size", 1), channel = element / plane % channels;
  std::vector<Operand> lanes(32, constant(emit.ops.minus_zero));
  const std::int64_t first = channel - (size - 1) / 2;
  for (std::int64_t c = std::max<std::int64_t>(first, 0); c < std::min(first + size, channels);
       ++c) {
    Operand& lane = lanes[static_cast<std::size_t>((c - first) % 32)];
    const Operand one = element_of(0, element + (c - channel) * plane);
    lane = emit.add(lane, square(emit, one));
  }
  const Operand sum = lane_tree(emit, lanes);
  const Operand factor = emit.div(constant(call.node.real("alpha", kAlpha)), emit.number(size));
  const Operand base = emit.fma(factor, sum, constant(call.node.real("bias", kBias)));
  const Operand power = emit.put(Op::kPow32, {base, constant(call.node.real("beta", kBeta))});
  emit.div(element_of(0, element), power);
}

constexpr std::string_view kF = "float32, float16, bfloat16", kFf = "floats",
                           kO = "floats, integers but uint64", kN = "floats, integers";

}  // namespace

std::span<const OperatorRow> sum_rows() {
  static constexpr OperatorRow kRows[] = {
      {"BatchNormalization", 9, 0, kFf, batch_norm_type, batch_norm},
      {"GroupNormalization", 18, 0, kF, grouped_type<channel_groups>, group_norm<channel_groups>},
      {"InstanceNormalization", 6, 0, kF, grouped_type<instance_groups>,
       group_norm<instance_groups>},
      {"LRN", 1, 0, kF, lrn_type, lrn},
      {"LayerNormalization", 17, 0, kF, grouped_type<layer_groups>, group_norm<layer_groups>},
      {"RMSNormalization", 23, 0, kF, rms_type, rms_norm},
      {"ReduceL1", 1, 0, kO, reduced_type<18, is_ordered>, reduce<18, l1_of>},
      {"ReduceL2", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, l2_of>},
      {"ReduceLogSum", 1, 0, kF, reduced_type<18, is_binary32>, reduce<18, log_of_sum>},
      {"ReduceLogSumExp", 1, 0, kF, reduced_type<18, is_binary32>, reduce<18, log_of_exponentials>},
      {"ReduceMax", 1, 0, kO, reduced_type<18, is_ordered>, reduce<18, largest_of>},
      {"ReduceMean", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, mean_of>},
      {"ReduceMin", 1, 0, kO, reduced_type<18, is_ordered>, reduce<18, smallest_of>},
      {"ReduceProd", 1, 0, kN, reduced_type<18, has_kit>, reduce<18, product_of>},
      {"ReduceSum", 1, 0, kN, reduced_type<13, has_kit>, reduce<13, sum_of>},
      {"ReduceSumSquare", 1, 0, kN, reduced_type<18, has_kit>, reduce<18, sum_of_squares>},
  };
  return kRows;
}

}  // namespace commensal::arbiter
