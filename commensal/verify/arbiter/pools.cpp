// SPDX-License-Identifier: Apache-2.0
// Pools (docs/numerics.md, "Sums"): taps in the padding are no steps, but keep their positions.
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

template <bool kGlobal>
core::Result<Window> pool_window(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]);
  if (x.size() < 3) return unsupported("an input that is not [N, C, D...]");
  const Dims in(x.begin() + 2, x.end());
  if (kGlobal) return window_of(NodeText{}, in, in);
  return window_of(call.node, in, call.node.integers("kernel_shape"));
}

template <bool kGlobal, bool (*kAccepts)(const Shaped&), std::size_t kOutputs = 1>
TypeResult pool_type(const NodeCall& call, std::size_t output) {
  if (output >= kOutputs || !call.has(0) || !kAccepts(call.inputs[0])) {
    return unsupported("no program for this output or element type");
  }
  COMMENSAL_ASSIGN(const Window window, pool_window<kGlobal>(call));
  Dims dims = {call.inputs[0].dim(0), call.inputs[0].dim(1)};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  const auto indices = static_cast<std::uint8_t>(Element::kInt64);
  return shaped(output == 0 ? call.inputs[0].dtype : indices, dims);
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
void average_pool(const NodeCall& call, std::size_t output, std::int64_t element,
                  StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Pooled p = pooled<kGlobal>(call, element);
  std::vector<Operand> lanes(32, constant(emit.ops.minus_zero));
  for (std::size_t i = 0; i < p.taps.size(); ++i) {
    Operand& lane = lanes[static_cast<std::size_t>(p.taps[i] % 32)];
    lane = emit.add(lane, element_of(0, p.elements[i]));
  }
  const bool counts_pads = !kGlobal && call.node.integer("count_include_pad", 0) != 0;
  emit.div(lane_tree(emit, lanes), emit.number(divisor(p.window, p.at, counts_pads)));
}

// Where MaxPool's Indices say that an element of the input is: column-major in its image, if so
// asked.
std::int64_t stored_index(const NodeCall& call, const Window& w, std::int64_t position) {
  if (call.node.integer("storage_order", 0) == 0) return position;
  const std::int64_t size = product(w.in), plane = position / size;
  const Dims at = split(position % size, w.in);
  std::int64_t offset = 0;
  for (std::size_t d = w.in.size(); d-- > 0;) offset = offset * w.in[d] + at[d];
  return plane * size + offset;
}

// The first of the largest elements, and where it lies.
void max_index(const NodeCall& call, const Pooled& p, const Emitter& emit) {
  if (p.elements.empty()) {
    emit.put(Op::kCopy, {constant(~std::uint64_t{0})});
    return;
  }
  const auto place = [&](std::size_t i) {
    return constant(static_cast<std::uint64_t>(stored_index(call, p.window, p.elements[i])));
  };
  Operand best = emit.put(Op::kCopy, {element_of(0, p.elements[0])});
  Operand index = emit.put(Op::kCopy, {place(0)});
  for (std::size_t i = 1; i < p.elements.size(); ++i) {
    const Operand one = element_of(0, p.elements[i]), wins = emit.before(true, one, best);
    best = emit.select(wins, one, best);
    index = emit.select(wins, place(i), index);
  }
}

template <bool kGlobal>
void max_pool(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Pooled p = pooled<kGlobal>(call, element);
  if (output == 1) return max_index(call, p, emit);
  Operand largest = constant(emit.lowest);
  if (p.elements.empty()) largest = emit.put(Op::kCopy, {largest});
  for (const std::int64_t at : p.elements) largest = emit.maximum(largest, element_of(0, at));
}

template <bool kGlobal>
TypeResult lp_pool_type(const NodeCall& call, std::size_t output) {
  const std::int64_t p = call.node.integer("p", 2);
  const bool needs_powers = p > 2 && call.has(0) && !is_binary32(call.inputs[0]);
  if (call.node.opset < 2 || p < 1 || needs_powers) return unsupported("a p of {}", p);
  return pool_type<kGlobal, is_float>(call, output);
}
template <bool kGlobal>
void lp_pool(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Pooled pool = pooled<kGlobal>(call, element);
  const std::int64_t p = call.node.integer("p", 2);
  std::vector<Operand> lanes(32, constant(emit.ops.minus_zero));
  for (std::size_t i = 0; i < pool.taps.size(); ++i) {
    const Operand x = element_of(0, pool.elements[i]);
    Operand term = p == 2 ? emit.mul(x, x) : emit.absolute(x);
    if (p > 2) term = emit.put(Op::kPow32, {term, emit.number(p)});
    Operand& lane = lanes[static_cast<std::size_t>(pool.taps[i] % 32)];
    lane = emit.add(lane, term);
  }
  const Operand sum = lane_tree(emit, lanes);
  if (p == 2) emit.sqrt(sum);
  if (p > 2) emit.put(Op::kPow32, {sum, emit.div(emit.one(), emit.number(p))});
}

}  // namespace

std::span<const OperatorRow> pool_rows() {
  constexpr std::string_view kFf = "floats", kO = "floats, integers but uint64";
  static constexpr OperatorRow kRows[] = {
      {"AveragePool", 1, 0, kFf, pool_type<false, is_float>, average_pool<false>},
      {"GlobalAveragePool", 1, 0, kFf, pool_type<true, is_float>, average_pool<true>},
      {"GlobalLpPool", 2, 0, "floats; of float64 p of 1 or 2", lp_pool_type<true>, lp_pool<true>},
      {"GlobalMaxPool", 1, 0, kO, pool_type<true, is_ordered>, max_pool<true>},
      {"LpPool", 2, 0, "floats; of float64 p of 1 or 2", lp_pool_type<false>, lp_pool<false>},
      {"MaxPool", 1, 0, kO, pool_type<false, is_ordered, 2>, max_pool<false>},
  };
  return kRows;
}

}  // namespace commensal::arbiter
