// SPDX-License-Identifier: Apache-2.0
// Dot products (docs/numerics.md, "Dot products"): one accumulator from +0, fused multiply-adds in
// ascending order, then alpha, beta and the bias.
#include <commensal/verify/arbiter/conv.hpp>
#include <commensal/verify/arbiter/operators.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

bool same_kit(const NodeCall& call) {
  for (const Shaped& input : call.inputs) {
    if (input.is_there() && input.dtype != call.inputs[0].dtype) return false;
  }
  return call.has(0) && call.has(1) && has_kit(call.inputs[0]);
}

// Where a chain's operands lie: A[a + i a_step] and B[b + i b_step], i in [0, k).
struct Stride {
  std::int64_t a = 0, a_step = 1, b = 0, b_step = 1, k = 0;
};
Operand chain(const Emitter& emit, const Stride& s) {
  Operand acc[] = {emit.zero()};
  emit.steps.fold(s.k, acc, [&](std::int64_t i, std::span<Operand> state) {
    state[0] =
        emit.fma(element_of(0, s.a + i * s.a_step), element_of(1, s.b + i * s.b_step), state[0]);
  });
  return acc[0];
}

// ---- Gemm -------------------------------------------------------------------------------

struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposes_a = false, transposes_b = false;
};
Gemm gemm_of(const NodeCall& call) {
  Gemm g;
  g.transposes_a = call.node.integer("transA", 0) != 0;
  g.transposes_b = call.node.integer("transB", 0) != 0;
  const Shaped &a = call.inputs[0], &b = call.inputs[1];
  g.m = a.dim(g.transposes_a ? 1 : 0);
  g.k = a.dim(g.transposes_a ? 0 : 1);
  g.n = b.dim(g.transposes_b ? 0 : 1);
  return g;
}

TypeResult gemm_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !same_kit(call) || call.inputs[0].rank() != 2 || call.inputs[1].rank() != 2) {
    return unsupported("inputs that do not fit");
  }
  const Gemm g = gemm_of(call);
  const Dims y = {g.m, g.n};
  const bool fits =
      call.inputs[1].dim(g.transposes_b ? 1 : 0) == g.k &&
      (!call.has(2) || (call.inputs[2].rank() <= 2 && broadcast(y, dims_of(call.inputs[2])) == y));
  if (!fits) return unsupported("inputs that do not fit");
  return shaped(call.inputs[0].dtype, y);
}

void gemm(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  constexpr std::uint32_t kOne = 0x3f800000;
  const Gemm g = gemm_of(call);
  const std::int64_t i = element / g.n, j = element % g.n;
  Stride s{i * g.k, 1, j, g.n, g.k};
  if (g.transposes_a) s.a = i, s.a_step = g.m;
  if (g.transposes_b) s.b = j * g.k, s.b_step = 1;
  Operand acc = chain(emit, s);
  const std::uint32_t alpha = call.node.real("alpha", kOne), beta = call.node.real("beta", kOne);
  if (emit.ops.is_float && alpha != kOne) acc = emit.mul(emit.real(alpha), acc);
  Operand last = emit.zero();
  if (call.has(2)) {
    last = element_of(2, broadcast_source(element, {g.m, g.n}, dims_of(call.inputs[2])));
    if (emit.ops.is_float && beta != kOne) last = emit.mul(emit.real(beta), last);
  }
  add_bias(emit, acc, last);
}

// ---- MatMul -----------------------------------------------------------------------------

// As matrices: vectors are rows or columns.
struct MatMul {
  Dims a, b, batch;
  bool vector_a = false, vector_b = false;
  std::int64_t m() const { return a[a.size() - 2]; }
  std::int64_t k() const { return a.back(); }
  std::int64_t n() const { return b.back(); }
};
std::optional<MatMul> matmul_of(const NodeCall& call) {
  MatMul mm;
  mm.a = dims_of(call.inputs[0]);
  mm.b = dims_of(call.inputs[1]);
  if (mm.a.empty() || mm.b.empty()) return std::nullopt;
  mm.vector_a = mm.a.size() == 1;
  mm.vector_b = mm.b.size() == 1;
  if (mm.vector_a) mm.a.insert(mm.a.begin(), 1);
  if (mm.vector_b) mm.b.push_back(1);
  const auto batch =
      broadcast(Dims(mm.a.begin(), mm.a.end() - 2), Dims(mm.b.begin(), mm.b.end() - 2));
  if (!batch || mm.k() != mm.b[mm.b.size() - 2]) return std::nullopt;
  mm.batch = *batch;
  return mm;
}

TypeResult matmul_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || call.inputs.size() != 2 || !same_kit(call)) {
    return unsupported("inputs that do not fit");
  }
  const auto mm = matmul_of(call);
  if (!mm) return unsupported("inputs that do not fit");
  Dims dims = mm->batch;
  if (!mm->vector_a) dims.push_back(mm->m());
  if (!mm->vector_b) dims.push_back(mm->n());
  return shaped(call.inputs[0].dtype, dims);
}

void matmul(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const MatMul mm = *matmul_of(call);
  const std::int64_t j = element % mm.n(), i = element / mm.n() % mm.m();
  const std::int64_t batch = element / mm.n() / mm.m();
  const auto matrix = [&](const Dims& dims) {
    return broadcast_source(batch, mm.batch, Dims(dims.begin(), dims.end() - 2));
  };
  const std::int64_t a = (matrix(mm.a) * mm.m() + i) * mm.k();
  const std::int64_t b = matrix(mm.b) * mm.k() * mm.n() + j;
  add_bias(emit, chain(emit, {a, 1, b, mm.n(), mm.k()}), emit.zero());
}

// ---- Conv -------------------------------------------------------------------------------

TypeResult conv_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !same_kit(call)) return unsupported("inputs that do not fit");
  COMMENSAL_ASSIGN(const Conv conv, conv_of(call));
  Dims dims = {conv.batch, conv.out_channels};
  dims.insert(dims.end(), conv.window.out.begin(), conv.window.out.end());
  return shaped(call.inputs[0].dtype, dims);
}

// The taps within the image: offsets in a plane of the input and of the weights.
struct Tap {
  std::int64_t x = 0, w = 0;
};
std::vector<Tap> taps_of(const Conv& conv, const Dims& at) {
  std::vector<Tap> taps;
  for (std::int64_t tap = 0; tap < conv.window.taps(); ++tap) {
    const std::int64_t source = conv.window.source(at, split(tap, conv.window.kernel));
    if (source >= 0) taps.push_back({source, tap});
  }
  return taps;
}

void conv(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Conv conv = *conv_of(call);
  const std::int64_t out = product(conv.window.out), plane = element / out;
  const std::int64_t channel = plane % conv.out_channels, image = plane / conv.out_channels;
  const Operand bias = call.has(2) ? element_of(2, channel) : emit.zero();
  if (conv.tile != 0) return winograd(conv, emit, element, bias);
  const std::int64_t depth = conv.channels / conv.group;
  const std::int64_t group = channel / (conv.out_channels / conv.group);
  const std::int64_t x_step = product(conv.window.in), w_step = conv.window.taps();
  const std::int64_t x = (image * conv.channels + group * depth) * x_step;
  const std::int64_t w = channel * depth * w_step;
  const std::vector<Tap> taps = taps_of(conv, split(element % out, conv.window.out));
  // By tap, then by channel: turn i is tap i / depth, channel i mod depth.
  Operand acc[] = {emit.zero()};
  steps.fold(static_cast<std::int64_t>(taps.size()) * depth, acc,
             [&](std::int64_t i, std::span<Operand> state) {
               const Tap& tap = taps[static_cast<std::size_t>(i / depth)];
               const std::int64_t c = i % depth;
               state[0] = emit.fma(element_of(1, w + tap.w + c * w_step),
                                   element_of(0, x + tap.x + c * x_step), state[0]);
             });
  add_bias(emit, acc[0], bias);
}

}  // namespace

Operand add_bias(const Emitter& emit, Operand acc, Operand bias) {
  const bool is_none = bias == emit.zero();
  // Adding +0 makes +0 of -0 and leaves the rest.
  return emit.add(acc, is_none || !emit.ops.is_float ? bias : emit.add(bias, emit.zero()));
}

core::Result<Conv> conv_of(const NodeCall& call) {
  const Shaped &x = call.inputs[0], &w = call.inputs[1];
  if (x.rank() < 3 || w.rank() != x.rank()) return unsupported("inputs that do not fit");
  Conv conv;
  conv.batch = x.dim(0);
  conv.channels = x.dim(1);
  conv.out_channels = w.dim(0);
  conv.group = call.node.integer("group", 1);
  const bool fits = conv.group >= 1 && conv.group <= conv.channels &&
                    conv.channels % conv.group == 0 && conv.out_channels % conv.group == 0 &&
                    w.dim(1) == conv.channels / conv.group &&
                    (!call.has(2) || dims_of(call.inputs[2]) == Dims{conv.out_channels});
  if (!fits) return unsupported("inputs that do not fit");
  const Dims in = dims_of(x), kernel = dims_of(w);
  COMMENSAL_ASSIGN(conv.window, window_of(call.node, Dims(in.begin() + 2, in.end()),
                                          Dims(kernel.begin() + 2, kernel.end())));
  conv.tile = winograd_tile(conv, x.is(Element::kFloat32));
  return conv;
}

std::span<const OperatorRow> product_rows() {
  constexpr std::string_view kN = "floats, integers";
  static constexpr OperatorRow kRows[] = {
      {"Conv", 1, 0, kN, conv_type, conv},
      {"Gemm", 7, 0, kN, gemm_type, gemm},
      {"MatMul", 1, 0, kN, matmul_type, matmul},
  };
  return kRows;
}

}  // namespace commensal::arbiter
