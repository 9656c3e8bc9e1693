// SPDX-License-Identifier: Apache-2.0
// Dot products (docs/numerics.md, "Dot products"): one accumulator from +0, fused multiply-adds in
// ascending order, then alpha, beta and the bias.
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/arbiter/products.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

bool same_kit(const NodeCall& call) {
  for (const Shaped& input : call.inputs) {
    if (input.is_there() && input.dtype != call.inputs[0].dtype) return false;
  }
  return call.has(0) && call.has(1) && has_kit(call.inputs[0]);
}

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

TypeResult matmul_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.inputs.size() == 2 && same_kit(call);
  const auto mm = there ? matmul_of(call.inputs[0], call.inputs[1]) : std::nullopt;
  if (!mm) return unsupported("inputs that do not fit");
  return shaped(call.inputs[0].dtype, mm->to());
}

void matmul(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Stride s = matmul_of(call.inputs[0], call.inputs[1])->stride(element);
  add_bias(emit, chain(emit, s), emit.zero());
}

// ---- Conv -------------------------------------------------------------------------------

TypeResult conv_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !same_kit(call)) return unsupported("inputs that do not fit");
  COMMENSAL_ASSIGN(const Conv conv, conv_of(call));
  return shaped(call.inputs[0].dtype, conv.to());
}

void conv(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Conv conv = *conv_of(call);
  const std::int64_t channel = conv.channel(element);
  const Operand bias = call.has(2) ? element_of(2, channel) : emit.zero();
  if (conv.tile != 0) return winograd(conv, emit, element, bias);
  const ConvPlaces places(conv, element);
  Operand acc[] = {emit.zero()};
  steps.fold(places.count(), acc, [&](std::int64_t i, std::span<Operand> state) {
    state[0] = emit.fma(element_of(1, places.weight(i)), element_of(0, places.source(i)), state[0]);
  });
  add_bias(emit, acc[0], bias);
}

}  // namespace

Operand add_bias(const Emitter& emit, Operand acc, Operand bias) {
  const bool is_none = bias == emit.zero();
  // Adding +0 makes +0 of -0 and leaves the rest.
  return emit.add(acc, is_none || !emit.ops.is_float ? bias : emit.add(bias, emit.zero()));
}

std::optional<MatMul> matmul_of(const Shaped& a, const Shaped& b) {
  MatMul mm;
  mm.a = dims_of(a);
  mm.b = dims_of(b);
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
Dims MatMul::to() const {
  Dims dims = batch;
  if (!vector_a) dims.push_back(m());
  if (!vector_b) dims.push_back(n());
  return dims;
}
std::int64_t MatMul::matrix(const Dims& dims, std::int64_t element) const {
  return broadcast_source(element / n() / m(), batch, Dims(dims.begin(), dims.end() - 2));
}
Stride MatMul::stride(std::int64_t element) const {
  const std::int64_t j = element % n(), i = element / n() % m();
  return {(matrix(a, element) * m() + i) * k(), 1, matrix(b, element) * k() * n() + j, n(), k()};
}

core::Result<Conv> conv_of(const NodeCall& call, std::size_t x_at, std::size_t w_at,
                           std::size_t bias_at) {
  const Shaped &x = call.inputs[x_at], &w = call.inputs[w_at];
  if (x.rank() < 3 || w.rank() != x.rank()) return unsupported("inputs that do not fit");
  Conv conv;
  conv.batch = x.dim(0);
  conv.channels = x.dim(1);
  conv.out_channels = w.dim(0);
  conv.group = call.node.integer("group", 1);
  const bool fits =
      conv.group >= 1 && conv.group <= conv.channels && conv.channels % conv.group == 0 &&
      conv.out_channels % conv.group == 0 && w.dim(1) == conv.channels / conv.group &&
      (!call.has(bias_at) || dims_of(call.inputs[bias_at]) == Dims{conv.out_channels});
  if (!fits) return unsupported("inputs that do not fit");
  const Dims in = dims_of(x), kernel = dims_of(w);
  COMMENSAL_ASSIGN(conv.window, window_of(call.node, Dims(in.begin() + 2, in.end()),
                                          Dims(kernel.begin() + 2, kernel.end())));
  conv.tile = winograd_tile(conv, x.is(Element::kFloat32));
  return conv;
}
Dims Conv::to() const {
  Dims dims = {batch, out_channels};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  return dims;
}

ConvPlaces::ConvPlaces(const Conv& conv, std::int64_t element)
    : depth_(conv.channels / conv.group),
      x_step_(product(conv.window.in)),
      w_step_(conv.window.taps()) {
  const std::int64_t out = product(conv.window.out), channel = conv.channel(element);
  const std::int64_t image = element / out / conv.out_channels;
  const std::int64_t group = channel / (conv.out_channels / conv.group);
  const std::int64_t x = (image * conv.channels + group * depth_) * x_step_;
  const std::int64_t w = channel * depth_ * w_step_;
  const Dims at = split(element % out, conv.window.out);
  for (std::int64_t tap = 0; tap < w_step_; ++tap) {
    const std::int64_t source = conv.window.source(at, split(tap, conv.window.kernel));
    if (source >= 0) taps_.push_back({x + source, w + tap});
  }
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
