// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm by a constant matrix, and what is done to their sums: bias, residual, bounds,
// Gelu.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/panels.hpp>
#include <commensal/compute/kernels/cpu/constant.hpp>
#include <commensal/compute/kernels/cpu/packed_floats.hpp>
#include <commensal/compute/kernels/cpu/transformer/gelu_rows.hpp>
#include <commensal/compute/kernels/cpu/transformer/ops.hpp>

namespace commensal::kernels::cpu {

namespace {

enum Input { kA, kB, kBias, kResidual };

/// Steps of depth between two stores of the accumulators: a panel's part (192 KiB) and that of a
/// task's rows stay in the second-level cache.
constexpr std::int64_t kStepsMax = 1024;
/// Floats of the left matrix that a task goes through for panel after panel.
constexpr std::int64_t kTaskFloats = 256 * 1024;
/// So few rows read every element of the right matrix once, and wait for memory: it is fetched this
/// many floats ahead.
constexpr std::int64_t kFewRows = 3, kAheadFloats = 4096;

/// Products of fewer multiplications are done by one thread: to wake another takes as long.
constexpr std::int64_t kProductsOfOne = 16 * 1024;

/// What is done to a sum, as the attributes have it.
struct Epilogue {
  bool clamps = false, gelu = false;
  float low = 0, high = 0, divisor = 1;

  static core::Result<Epilogue> of(const Attributes& attributes) {
    Epilogue e{.clamps = attributes.has("low"), .gelu = attributes.has("divisor")};
    COMMENSAL_ASSIGN(e.low, attributes.real("low", 0));
    COMMENSAL_ASSIGN(e.high, attributes.real("high", 0));
    COMMENSAL_ASSIGN(e.divisor, attributes.real("divisor", 1));
    return e;
  }
};

class PackedMatrix final : public Packed {
 public:
  PackedMatrix(const BlockedKernels& kernels, const Tensor& b, bool transposed,
               const Epilogue& then, const Tensor* bias, PackStore* store)
      : panels(kernels, b.shape()[transposed ? 0 : 1], b.shape()[transposed ? 1 : 0], 1),
        epilogue(then),
        data(panels.floats(), store,
             [&](float* to) { pack(Constant(b), b.shape()[transposed ? 0 : 1], transposed, to); }),
        bias_(panels.vectors() * panels.lanes) {
    set_bias(bias);
  }
  /// The same matrix with other things done to its sums.
  PackedMatrix(const PackedMatrix& like, const Epilogue& then, const Tensor* bias)
      : panels(like.panels),
        epilogue(then),
        data(like.data),
        bias_(panels.vectors() * panels.lanes) {
    set_bias(bias);
  }
  std::shared_ptr<const Packed> another(const Call& call) const override {
    const auto then = Epilogue::of(*call.attributes);
    if (!then) return nullptr;
    return std::make_shared<const PackedMatrix>(*this, *then, bias_of(call));
  }

  static const Tensor* bias_of(const Call& call) {
    return call.has(kBias) ? &call.in(kBias) : nullptr;
  }
  const float* bias() const { return has_bias_ ? bias_.data() : nullptr; }

  Panels panels;
  Epilogue epilogue;
  PackedFloats data;

 private:
  void set_bias(const Tensor* bias) {
    has_bias_ = bias != nullptr;
    if (has_bias_) std::ranges::copy(bias->data<float>(), bias_.data());
  }
  void pack(const Constant& from, std::int64_t columns, bool transposed, float* panel) const {
    for (std::int64_t column = 0; column < columns; column += panels.lanes) {
      float* const to = panel + panels.at(0, column);
      const std::int64_t to_step = panels.at(1, column) - panels.at(0, column);
      const std::int64_t used = std::min<std::int64_t>(panels.lanes, columns - column);
      if (transposed) {
        pack_transposed(from, column, used, to, to_step);
        continue;
      }
      for (std::int64_t k = 0; k < panels.depth; ++k) {
        from.copy(k * columns + column, used, to + k * to_step);
      }
    }
  }

  void pack_transposed(const Constant& from, std::int64_t column, std::int64_t used, float* to,
                       std::int64_t to_step) const {
    constexpr std::int64_t kSquare = 16;  // so that lines are read and written whole
    for (std::int64_t k = 0; k < panels.depth; k += kSquare) {
      const std::int64_t count = std::min(panels.depth - k, kSquare);
      for (std::int64_t j = 0; j < used; ++j) {
        float line[kSquare];
        from.copy((column + j) * panels.depth + k, count, line);
        for (std::int64_t i = 0; i < count; ++i) to[(k + i) * to_step + j] = line[i];
      }
    }
    from.forget();  // these columns lay side by side
  }

  AlignedFloats bias_;
  bool has_bias_;
};

/// One call.
struct RowsProduct {
  std::int64_t rows = 0, depth = 0, columns = 0;
  const float* a = nullptr;
  float* c = nullptr;
  RowFinish finish;

  RowsProduct(const Call& call, const PackedMatrix& b, Tensor& output)
      : depth(b.panels.depth),
        columns(output.shape()[output.shape().rank() - 1]),
        a(call.in(kA).data<float>().data()),
        c(output.mutable_data<float>().data()) {
    rows = call.in(kA).elements() / std::max<std::int64_t>(depth, 1);
    finish.bias = b.bias();
    if (call.has(kResidual)) finish.residual = call.in(kResidual).data<float>().data();
    finish.clamps = b.epilogue.clamps;
    finish.low = b.epilogue.low;
    finish.high = b.epilogue.high;
  }
};

struct RowsRange {
  std::int64_t begin, end;
};

/// One panel of sums, and Gelu over each few rows while they are in the first-level cache.
void multiply_with_gelu(const BlockedKernels& kernels, float divisor, RowProduct g,
                        GeluRowsFn gelu) {
  constexpr int kRows = 96;  // of three vectors: 18 KiB
  const int rows = g.rows, width = (g.vectors - 1) * kernels.lanes + g.last;
  const int parts = (rows + kRows - 1) / kRows;
  const float *const a = g.a, *const residual = g.how.residual;
  float* const c = g.c;
  for (int part = 0; part < parts; ++part) {
    const int begin = part * rows / parts;
    g.rows = (part + 1) * rows / parts - begin;
    g.a = a + begin * g.a_step;
    g.c = c + begin * g.c_step;
    if (residual != nullptr) g.how.residual = residual + begin * g.c_step;
    kernels.row_product(g);
    g.next = nullptr;
    gelu({g.c, g.c_step, g.rows, width, divisor});
  }
}

/// Rows [rows.begin, rows.end) of the columns of panels [panels.begin, panels.end).
void multiply_part(Pulse& pulse, const BlockedKernels& kernels, const RowsProduct& p,
                   const PackedMatrix& b, RowsRange rows, RowsRange panels, GeluRowsFn gelu) {
  std::int64_t c_vectors[8];
  for (int v = 0; v < 8; ++v) c_vectors[v] = v * kernels.lanes;
  RowProduct g;
  g.a_step = p.depth;
  g.c_step = p.columns;
  g.c_vectors = c_vectors;
  g.rows = static_cast<int>(rows.end - rows.begin);
  g.run_count = 1;
  for (std::int64_t k = 0; k < p.depth; k += kStepsMax) {
    const DepthRun run{0, std::min(kStepsMax, p.depth - k)};
    g.runs = &run;
    g.a = p.a + rows.begin * p.depth + k;
    g.resume = k > 0;
    g.finish = k + run.count == p.depth;
    for (std::int64_t i = panels.begin; i < panels.end; ++i) {
      const Panels::Panel& panel = b.panels.panels[static_cast<std::size_t>(i)];
      const std::int64_t column = panel.vector * kernels.lanes;
      const std::int64_t c = rows.begin * p.columns + column;
      g.b = b.data.data() + b.panels.offset(panel, k);
      g.next =
          g.b + (g.rows <= kFewRows ? kAheadFloats : run.count * panel.vectors * kernels.lanes);
      g.c = p.c + c;
      g.vectors = panel.vectors;
      g.last = static_cast<int>(std::min<std::int64_t>(
          kernels.lanes, p.columns - column - (panel.vectors - 1) * kernels.lanes));
      g.how = p.finish;
      if (p.finish.bias != nullptr) g.how.bias = p.finish.bias + column;
      if (p.finish.residual != nullptr) g.how.residual = p.finish.residual + c;
      if (b.epilogue.gelu && g.finish) {
        multiply_with_gelu(kernels, b.epilogue.divisor, g, gelu);
      } else {
        kernels.row_product(g);
      }
      pulse(g.rows * run.count * panel.vectors / 8);
    }
  }
}

}  // namespace

core::Result<std::vector<TensorType>> infer_rows_matmul(const Call& call) {
  COMMENSAL_ASSIGN(const std::int64_t transposed, call.attributes->integer("transB", 0));
  const tensor::Shape& a = call.in(kA).shape();
  std::vector<std::int64_t> dims(a.dims().begin(), a.dims().end());
  dims.back() = call.in(kB).shape()[transposed != 0 ? 0 : 1];
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  return std::vector{TensorType{tensor::DType::kFloat32, shape}};
}

core::Result<std::shared_ptr<const Packed>> pack_rows_matmul(const Call& call, Isa isa) {
  COMMENSAL_ASSIGN(const std::int64_t transposed, call.attributes->integer("transB", 0));
  COMMENSAL_ASSIGN(const Epilogue then, Epilogue::of(*call.attributes));
  return std::make_shared<const PackedMatrix>(blocked_kernels_for(isa), call.in(kB),
                                              transposed != 0, then, PackedMatrix::bias_of(call),
                                              call.store);
}

core::Result<void> rows_matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const auto& b = static_cast<const PackedMatrix&>(*ws.packed);
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const RowsProduct p(call, b, outputs[0]);
  if (p.rows == 0) return {};
  const GeluRowsFn gelu = gelu_rows_for(ws.isa);
  const auto panels = static_cast<std::int64_t>(b.panels.panels.size());
  const auto multiply = [&](RowsRange rows, RowsRange part) {
    Pulse pulse(&ws.threads);
    multiply_part(pulse, kernels, p, b, rows, part, gelu);
  };
  if (p.depth * p.columns <= kProductsOfOne && p.rows * p.depth * p.columns <= kProductsOfOne) {
    ws.threads.run(1, [&](std::int64_t) { multiply({0, p.rows}, {0, panels}); });
    return {};
  }
  const std::int64_t fitting =
      std::max<std::int64_t>(kTaskFloats / std::min(p.depth, kStepsMax), 8);
  const std::int64_t areas = ceil_div(p.rows, fitting);
  // Also where one thread does it all, no task reads more than so many weights from memory.
  constexpr std::int64_t kWeightsATask = 4 << 20;
  std::int64_t cuts = ceil_div(p.depth * p.columns, kWeightsATask);
  if (const int threads = ws.threads.threads(); threads > 1) {
    cuts = std::max<std::int64_t>(cuts, ceil_div(4 * threads, areas));
  }
  cuts = std::clamp<std::int64_t>(cuts, 1, panels);
  ws.threads.run(areas * cuts, [&](std::int64_t task) {
    const std::int64_t area = task / cuts, cut = task % cuts;
    multiply({area * p.rows / areas, (area + 1) * p.rows / areas},
             {cut * panels / cuts, (cut + 1) * panels / cuts});
  });
  return {};
}

}  // namespace commensal::kernels::cpu
