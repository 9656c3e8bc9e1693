// SPDX-License-Identifier: Apache-2.0
// Sums in 32 lanes and what is made of them, extremes, pools (docs/numerics.md, "Sums").
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
void reduce(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Folding f = *folding_of(call, kSince);
  if (f.is_identity) {
    steps.put(Op::kCopy, {element_of(0, element)});
    return;
  }
  const Dims base = split(element, f.kept);
  kOf(emit, f.count(), [&](std::int64_t i) {
    Dims at = split(i, f.folded);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += base[d];
    return element_of(0, join(at, f.from));
  });
}

bool has_op_set(const Shaped& type) { return op_set_of(type) != nullptr; }

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
  return lane_sum(emit, n, [&](std::int64_t i) { return emit.put(Op::kAbs32, {term(i)}); });
}
Operand folded(const Emitter& emit, Op op, std::uint64_t start, std::int64_t n, const Term& term) {
  Operand state[] = {constant(start)};
  if (n == 0) return emit.put(Op::kCopy, {state[0]});
  emit.steps.fold(n, state, [&](std::int64_t i, std::span<Operand> running) {
    running[0] = emit.put(op, {running[0], term(i)});
  });
  return state[0];
}
Operand largest_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return folded(emit, emit.ops.maximum, emit.ops.minus_infinity, n, term);
}
Operand smallest_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return folded(emit, emit.ops.minimum, emit.ops.minus_infinity & ~emit.ops.minus_zero, n, term);
}
Operand product_of(const Emitter& emit, std::int64_t n, const Term& term) {
  return folded(emit, emit.ops.mul, emit.ops.one, n, term);
}

// ---- pools ------------------------------------------------------------------------------

template <bool kGlobal>
core::Result<Window> pool_window(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]);
  if (x.size() < 3) return unsupported("an input that is not [N, C, D...]");
  const Dims in(x.begin() + 2, x.end());
  if (kGlobal) return window_of(NodeText{}, in, in);
  return window_of(call.node, in, call.node.integers("kernel_shape"));
}

template <bool kGlobal>
TypeResult pool_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || !is_float(call.inputs[0])) {
    return unsupported("no program for this output or element type");
  }
  COMMENSAL_ASSIGN(const Window window, pool_window<kGlobal>(call));
  Dims dims = {call.inputs[0].dim(0), call.inputs[0].dim(1)};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  return shaped(call.inputs[0].dtype, dims);
}

// AveragePool's divisor: taps inside the image, or inside the image and its stated pads.
std::int64_t divisor(const Window& w, const Dims& at, bool counts_pads) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::int64_t low = counts_pads ? -w.pad_begin[d] : 0;
    const std::int64_t high = w.in[d] + (counts_pads ? w.pad_end[d] : 0);
    std::int64_t inside = 0;
    for (std::int64_t k = 0; k < w.kernel[d]; ++k) {
      const std::int64_t place = at[d] * w.stride[d] - w.pad_begin[d] + k * w.dilation[d];
      inside += place >= low && place < high ? 1 : 0;
    }
    count *= inside;
  }
  return count;
}

// The taps within the image: position in the kernel, element of the input.
struct Pooled {
  Window window;
  Dims at;
  std::vector<std::int64_t> taps, elements;
};
template <bool kGlobal>
Pooled pooled(const NodeCall& call, std::int64_t element) {
  Pooled p{*pool_window<kGlobal>(call), {}, {}, {}};
  const std::int64_t out = product(p.window.out);
  const std::int64_t plane = element / out * product(p.window.in);
  p.at = split(element % out, p.window.out);
  for (std::int64_t tap = 0; tap < p.window.taps(); ++tap) {
    const std::int64_t source = p.window.source(p.at, split(tap, p.window.kernel));
    if (source < 0) continue;
    p.taps.push_back(tap);
    p.elements.push_back(plane + source);
  }
  return p;
}

template <bool kGlobal>
void average_pool(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Pooled p = pooled<kGlobal>(call, element);
  std::vector<Operand> lanes(32, constant(emit.ops.minus_zero));
  for (std::size_t i = 0; i < p.taps.size(); ++i) {
    Operand& lane = lanes[static_cast<std::size_t>(p.taps[i] % 32)];
    lane = emit.add(lane, element_of(0, p.elements[i]));
  }
  const bool counts_pads = !kGlobal && call.node.integer("count_include_pad", 0) != 0;
  emit.div(lane_tree(emit, lanes), emit.number(divisor(p.window, p.at, counts_pads)));
}

template <bool kGlobal>
void max_pool(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Pooled p = pooled<kGlobal>(call, element);
  largest_of(emit, static_cast<std::int64_t>(p.elements.size()), [&](std::int64_t i) {
    return element_of(0, p.elements[static_cast<std::size_t>(i)]);
  });
}

// ---- Softmax ----------------------------------------------------------------------------

TypeResult softmax_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || !is_float32(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  const std::int64_t rank = call.inputs[0].rank();
  const bool flattens = call.node.opset < 13;
  const std::int64_t axis = call.node.integer("axis", flattens ? 1 : -1);
  if (normal_axis(axis, rank) < 0 && !(flattens && axis == rank)) return unsupported("an axis");
  return call.inputs[0];
}

AxisView softmax_rows(const NodeCall& call) {
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
  Operand at(std::int64_t i) const { return element_of(0, view.position(outer, i, inner)); }
};
Row row_of(const NodeCall& call, const Emitter& emit, std::int64_t element) {
  Row row;
  row.view = softmax_rows(call);
  row.outer = row.view.outer(element);
  row.inner = row.view.inner(element);
  row.largest = largest_of(emit, row.view.length, [&](std::int64_t i) { return row.at(i); });
  return row;
}
Operand sum_of_exponentials(const Emitter& emit, const Row& row) {
  return lane_sum(emit, row.view.length, [&](std::int64_t i) {
    return emit.put(Op::kExp32, {emit.sub(row.at(i), row.largest)});
  });
}

void softmax(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Row row = row_of(call, emit, element);
  const Operand sum = sum_of_exponentials(emit, row);
  const Operand less = emit.sub(element_of(0, element), row.largest);
  emit.div(emit.put(Op::kExp32, {less}), sum);
}
void log_softmax(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Row row = row_of(call, emit, element);
  const Operand sum = sum_of_exponentials(emit, row);
  const Operand less = emit.sub(element_of(0, element), row.largest);
  emit.sub(less, emit.put(Op::kLog32, {sum}));
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

using GroupsOf = std::optional<Groups> (*)(const NodeCall&);
template <GroupsOf kGroups>
TypeResult grouped_type(const NodeCall& call, std::size_t output) {
  const bool fits = output == 0 && call.has(0) && is_float32(call.inputs[0]) && call.has(1) &&
                    call.node.integer("stash_type", 1) == 1;
  const auto groups = fits ? kGroups(call) : std::nullopt;
  if (!groups) return unsupported("no program for this output or element type");
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!call.has(i)) continue;
    if (!is_float32(call.inputs[i]) || call.inputs[i].elements() != groups->parameters) {
      return unsupported("parameters that do not fit");
    }
  }
  return call.inputs[0];
}

template <GroupsOf kGroups>
void group_norm(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  constexpr std::uint32_t kEpsilon = 0x3727c5ac;  // 1e-5
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Groups g = *kGroups(call);
  const std::int64_t first = element / g.size * g.size;
  const auto at = [&](std::int64_t i) { return element_of(0, first + i); };
  const Operand mean = mean_of(emit, g.size, at);
  const Operand squares =
      lane_sum(emit, g.size, [&](std::int64_t i) { return square(emit, emit.sub(at(i), mean)); });
  const Operand variance = emit.div(squares, emit.number(g.size));
  const Operand padded = emit.add(variance, constant(call.node.real("epsilon", kEpsilon)));
  const Operand r = emit.div(emit.one(), emit.sqrt(padded));
  const Operand d = emit.mul(emit.sub(element_of(0, element), mean), r);
  const std::int64_t parameter = element / g.stretch % g.parameters;
  emit.fma(d, element_of(1, parameter), call.has(2) ? element_of(2, parameter) : emit.zero());
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

void batch_norm(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  constexpr std::uint32_t kEpsilon = 0x3727c5ac;  // 1e-5
  const Emitter emit{steps, *op_set_of(call.outputs[0])};
  const Shaped& x = call.inputs[0];
  const std::int64_t plane = x.rank() > 2 ? x.elements(2, x.dims.size()) : 1;
  const std::int64_t c = element / plane % (x.rank() > 1 ? x.dim(1) : 1);
  const Operand padded = emit.add(element_of(4, c), emit.real(call.node.real("epsilon", kEpsilon)));
  const Operand scale = emit.div(element_of(1, c), emit.sqrt(padded));
  emit.fma(emit.sub(element_of(0, element), element_of(3, c)), scale, element_of(2, c));
}

constexpr std::string_view kF = "float32", kFf = "float32, float64",
                           kN = "float32, float64, integers of 32 and 64 bits";

}  // namespace

std::span<const OperatorRow> sum_rows() {
  static constexpr OperatorRow kRows[] = {
      {"AveragePool", 1, 0, kFf, pool_type<false>, average_pool<false>},
      {"BatchNormalization", 9, 0, kFf, batch_norm_type, batch_norm},
      {"GlobalAveragePool", 1, 0, kFf, pool_type<true>, average_pool<true>},
      {"GlobalMaxPool", 1, 0, kFf, pool_type<true>, max_pool<true>},
      {"InstanceNormalization", 6, 0, kF, grouped_type<instance_groups>,
       group_norm<instance_groups>},
      {"LayerNormalization", 17, 0, kF, grouped_type<layer_groups>, group_norm<layer_groups>},
      {"LogSoftmax", 1, 0, kF, softmax_type, log_softmax},
      {"MaxPool", 1, 0, kFf, pool_type<false>, max_pool<false>},
      {"ReduceL1", 1, 0, kF, reduced_type<18, is_float32>, reduce<18, l1_of>},
      {"ReduceL2", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, l2_of>},
      {"ReduceMax", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, largest_of>},
      {"ReduceMean", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, mean_of>},
      {"ReduceMin", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, smallest_of>},
      {"ReduceProd", 1, 0, kFf, reduced_type<18, is_float>, reduce<18, product_of>},
      {"ReduceSum", 1, 0, kN, reduced_type<13, has_op_set>, reduce<13, sum_of>},
      {"ReduceSumSquare", 1, 0, kN, reduced_type<18, has_op_set>, reduce<18, sum_of_squares>},
      {"Softmax", 1, 0, kF, softmax_type, softmax},
  };
  return kRows;
}

}  // namespace commensal::arbiter
