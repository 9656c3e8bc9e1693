// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/half_columns.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/gemm.hpp>
#include <cstring>
#include <type_traits>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;

template <class T>
core::Result<std::shared_ptr<float>> room_for(Workspace& ws, std::int64_t elements) {
  constexpr auto kFloatsIn = static_cast<std::int64_t>(sizeof(T) / sizeof(float));
  return floats_from(ws.arena, std::max<std::int64_t>(elements * kFloatsIn, 1));
}

/// Panels [first, last) of a transposed left matrix (depth x rows), as pack_rows has them.
template <int kHeight, class T>
void pack_transposed(Pulse& pulse, const T* a, std::int64_t rows, std::int64_t depth,
                     std::int64_t first, std::int64_t last, T* to) {
  for (std::int64_t k = 0; k < depth; ++k) {
    const T* const from = a + k * rows;
    pulse(last - first);
    for (std::int64_t panel = first; panel < last; ++panel) {
      T* const at = to + (panel * depth + k) * kHeight;
      const std::int64_t row = panel * kHeight;
      if (row + kHeight <= rows) {
        std::memcpy(at, from + row, kHeight * sizeof(T));
      } else {
        for (int r = 0; r < kHeight; ++r) at[r] = row + r < rows ? from[row + r] : T{0};
      }
    }
  }
}

/// Left matrices ready for `multiply`: `count` of rows x depth, row-major, one after another, or
/// one that is transposed (depth x rows). What it has to copy goes to `room`.
template <class T>
struct LeftMatrices {
  RowsOf<T> first;
  std::int64_t apart = 0;  // elements from one to the next

  RowsOf<T> at(std::int64_t i) const {
    return {first.data + i * apart, first.panel_step, first.step};
  }

  static core::Result<LeftMatrices> of(Workspace& ws, Room& room, const T* a, std::int64_t count,
                                       std::int64_t rows, std::int64_t depth, bool transposed,
                                       std::int64_t columns) {
    const CpuKernels& kernels = kernels_for(ws.isa);
    // Rows of it lie far apart, in few lines of the cache: what reads them often wants a copy.
    const bool copies = columns >= 2 * kernels.tile_columns && rows * depth > kFewFloats;
    if (rows == 1 || (transposed && !copies)) {  // as they lie
      return LeftMatrices{{a, kernels.tile_rows, rows == 1 ? 1 : rows}, rows * depth};
    }
    constexpr auto kFloatsIn = static_cast<std::int64_t>(sizeof(T) / sizeof(float));
    const std::int64_t apart = packed_rows_floats(kernels, rows, depth);
    COMMENSAL_ASSIGN(float* const packed, room.of(ws.arena, count * apart * kFloatsIn));
    T* const to = reinterpret_cast<T*>(packed);
    // In pieces of whole panels, so that all threads copy.
    const std::int64_t panels = (rows + kernels.tile_rows - 1) / kernels.tile_rows;
    if (transposed) {
      constexpr std::int64_t kTogether = 16;
      ws.threads.run(ceil_div(panels, kTogether), [&](std::int64_t i) {
        Pulse pulse(&ws.threads);
        const std::int64_t first = i * kTogether, last = std::min(panels, first + kTogether);
        if (kernels.tile_rows == 8)
          return pack_transposed<8>(pulse, a, rows, depth, first, last, to);
        pack_transposed<4>(pulse, a, rows, depth, first, last, to);
      });
      return LeftMatrices{{to, depth * kernels.tile_rows, kernels.tile_rows}, apart};
    }
    ws.threads.run(count * panels, [&](std::int64_t i) {
      const std::int64_t row = i % panels * kernels.tile_rows, matrix = i / panels;
      pack_rows(kernels, a + (matrix * rows + row) * depth,
                std::min<std::int64_t>(kernels.tile_rows, rows - row), depth, depth, 1,
                to + matrix * apart + row * depth);
    });
    return LeftMatrices{{to, depth * kernels.tile_rows, kernels.tile_rows}, apart};
  }
};

bool is_single(DType dtype) { return dtype == DType::kFloat32 || is_half(dtype); }

/// beta * C; C itself where beta is 1 (rounding once more changes nothing).
template <class T>
core::Result<std::shared_ptr<float>> scaled(const Tensor& c, T beta, Workspace& ws) {
  COMMENSAL_ASSIGN(std::shared_ptr<float> made, room_for<T>(ws, c.elements()));
  T* to = reinterpret_cast<T*>(made.get());
  Pulse pulse(&ws.threads);
  for (const T x : c.data<T>()) {
    pulse();
    *to++ = beta * x;
  }
  return made;
}

constexpr kernels::Places kPackedInputs{kernels::Places::bit(1)};

// Where b is packed, its elements are never read: they may still be in their file, or it is not
// there at all.
template <class T>
const T* unpacked(const Call& call, const Workspace& ws) {
  return ws.packed == nullptr ? call.in(1).data<T>().data() : nullptr;
}
/// What was packed when the model was loaded; null where nothing was.
template <class T>
const ColumnSourceOf<T>* packed_columns(const Workspace& ws) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<const ConstantColumns*>(ws.packed);
  } else {
    return nullptr;  // only floats are
  }
}

core::Result<std::shared_ptr<const Packed>> pack_right(const Call& call, Isa isa, bool transposed) {
  if (!call.has(1) || !is_single(call.in(1).dtype()) || call.in(1).shape().rank() != 2) {
    return nullptr;
  }
  const tensor::Shape& b = call.in(1).shape();
  const std::int64_t depth = b[transposed ? 1 : 0], columns = b[transposed ? 0 : 1];
  const std::int64_t step = transposed ? 1 : columns, column_step = transposed ? depth : 1;
  const Tensor from = call.in(1).read_once();
  if (is_half(from.dtype())) {
    return std::make_shared<const HalfColumns>(call.pulse, isa, from, depth, columns, step,
                                               column_step, call.store);
  }
  return std::make_shared<const PackedColumns>(call.pulse, kernels_for(isa),
                                               from.data<float>().data(), depth, columns, step,
                                               column_step, call.store);
}

/// Where the elements are.
template <class T>
struct Matrices {
  const T *a = nullptr, *b = nullptr, *c = nullptr;  // b: null where it is packed
  T* y = nullptr;

  static Matrices of(const Call& call, Tensor& output, const Workspace& ws) {
    return {call.in(0).data<T>().data(), unpacked<T>(call, ws),
            call.has(2) ? call.in(2).data<T>().data() : nullptr, output.mutable_data<T>().data()};
  }
};

/// Small products of 16-bit floats: calls multiply(matrices) of binary32 on the stack. False: they
/// are not small, or of another type.
template <class Multiply>
core::Result<bool> small_halves(const Call& call, Tensor& output, Workspace& ws,
                                const Multiply& multiply) {
  if (!is_half(output.dtype()) || output.elements() == 0) return false;
  alignas(tensor::Arena::kAlignment) float room[kFewFloats];
  const HalfKernels halves = half_kernels_for(ws.isa, output.dtype());
  std::array<const float*, 3> from{};
  std::int64_t used = 0;
  for (int i = 0; i < 3; ++i) {
    if (!call.has(i) || (i == 1 && ws.packed != nullptr)) continue;
    const std::int64_t elements = call.in(i).elements();
    if (elements > kFewFloats - used) return false;
    halves.widen(half_bits(call.in(i)), room + used, elements);
    from[static_cast<std::size_t>(i)] = room + used;
    used += elements;
  }
  if (output.elements() > kFewFloats - used) return false;
  COMMENSAL_TRY(multiply(Matrices<float>{from[0], from[1], from[2], room + used}));
  halves.round(room + used, half_bits(output), output.elements());
  return true;
}

template <class T>
core::Result<void> gemm_by(const shape_inference::Gemm& g, const Call& call, const Matrices<T>& m,
                           Workspace& ws) {
  const MatrixColumnsOf<T> in_place(kernels_for(ws.isa), m.b, g.transpose_b ? 1 : g.n,
                                    g.transpose_b ? g.k : 1);
  Room room;
  COMMENSAL_ASSIGN(const auto left,
                   LeftMatrices<T>::of(ws, room, m.a, 1, g.m, g.k, g.transpose_a, g.n));
  ProductOf<T> product{.a = left.first, .b = &in_place, .c = m.y, .c_step = g.n};
  if (ws.packed != nullptr) product.b = packed_columns<T>(ws);
  std::shared_ptr<float> beta_c;
  if (g.has_c) {
    product.bias = m.c;
    if (g.beta != 1) {
      COMMENSAL_ASSIGN(beta_c, scaled(call.in(2), T{g.beta}, ws));
      product.bias = reinterpret_cast<const T*>(beta_c.get());
    }
    product.bias_row_step = g.c_row;
    product.bias_column_step = static_cast<int>(g.c_column);
  }
  const ProductShape shape{.rows = g.m, .depth = g.k, .columns = g.n, .alpha = g.alpha};
  return multiply(shape, std::span<const ProductOf<T>>(&product, 1), ws);
}

core::Result<bool> gemm_served(const shape_inference::Gemm& g, const Call& call,
                               std::span<Tensor> outputs, Workspace& ws) {
  if (!is_single(g.dtype) && g.dtype != DType::kFloat64) return false;
  if (outputs[0].elements() == 0) return true;
  COMMENSAL_TRY(is_single(g.dtype)
                    ? gemm_by(g, call, Matrices<float>::of(call, outputs[0], ws), ws)
                    : gemm_by(g, call, Matrices<double>::of(call, outputs[0], ws), ws));
  return true;
}

template <class T>
core::Result<void> matmul_by(const shape_inference::MatMul& mm, const Call& call,
                             const Matrices<T>& m, Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  std::int64_t batches = mm.batches, rows = mm.m;
  const bool one_b = ws.packed != nullptr || call.in(1).shape().rank() <= 2;
  if (one_b) rows *= batches, batches = 1;  // all rows of A meet the same matrix
  const std::int64_t a_count = call.in(0).elements() / std::max<std::int64_t>(rows * mm.k, 1);
  Room room;
  COMMENSAL_ASSIGN(const auto left,
                   LeftMatrices<T>::of(ws, room, m.a, std::max<std::int64_t>(a_count, 1), rows,
                                       mm.k, false, mm.n));
  const ProductShape shape{.rows = rows, .depth = mm.k, .columns = mm.n};
  const auto columns_of = [&](std::int64_t i) {
    return MatrixColumnsOf<T>(kernels, m.b + (one_b ? 0 : mm.b_matrix(i)) * mm.k * mm.n, mm.n, 1);
  };
  const auto product = [&](std::int64_t i, const MatrixColumnsOf<T>& columns) {
    ProductOf<T> made{.a = left.at(one_b || mm.k == 0 ? 0 : mm.a_matrix(i)),
                      .b = &columns,
                      .c = m.y + i * rows * mm.n,
                      .c_step = mm.n};
    if (ws.packed != nullptr) made.b = packed_columns<T>(ws);
    return made;
  };
  if (batches == 1) {  // nothing is allocated
    const MatrixColumnsOf<T> columns = columns_of(0);
    const ProductOf<T> one = product(0, columns);
    return multiply(shape, std::span(&one, 1), ws);
  }
  constexpr std::int64_t kAtOnce = 1 << 12;  // what lists them takes time and memory too
  std::vector<MatrixColumnsOf<T>> columns;
  std::vector<ProductOf<T>> products;
  columns.reserve(static_cast<std::size_t>(std::min(batches, kAtOnce)));
  for (std::int64_t i = 0; i < batches; ++i) {
    columns.push_back(columns_of(i));
    products.push_back(product(i, columns.back()));
    if (i + 1 < batches && columns.size() < kAtOnce) continue;
    COMMENSAL_TRY(multiply(shape, products, ws));
    columns.clear();
    products.clear();
  }
  return {};
}

core::Result<bool> matmul_served(const shape_inference::MatMul& mm, const Call& call,
                                 std::span<Tensor> outputs, Workspace& ws) {
  if (!is_single(mm.dtype) && mm.dtype != DType::kFloat64) return false;
  if (outputs[0].elements() == 0) return true;
  COMMENSAL_TRY(is_single(mm.dtype)
                    ? matmul_by(mm, call, Matrices<float>::of(call, outputs[0], ws), ws)
                    : matmul_by(mm, call, Matrices<double>::of(call, outputs[0], ws), ws));
  return true;
}

}  // namespace

core::Result<std::shared_ptr<const Packed>> pack_gemm(const Call& call, Isa isa) {
  COMMENSAL_ASSIGN(const std::int64_t transposed, call.attributes->integer("transB", 0));
  return pack_right(call, isa, transposed != 0);
}

core::Result<void> gemm(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto g, call.memo.of([&] { return shape_inference::gemm_of(call); }));
  if (g->beta == 1) {
    COMMENSAL_ASSIGN(const bool served,
                     small_halves(call, outputs[0], ws, [&](const Matrices<float>& m) {
                       return gemm_by(*g, call, m, ws);
                     }));
    if (served) return {};
  }
  return serve(
      call, outputs, ws, ref::kGemm,
      [&g](const Call& own, std::span<Tensor> made, Workspace& space) {
        return gemm_served(*g, own, made, space);
      },
      kPackedInputs);
}

core::Result<std::shared_ptr<const Packed>> pack_matmul(const Call& call, Isa isa) {
  return pack_right(call, isa, false);
}

core::Result<void> matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto mm, call.memo.of([&] { return shape_inference::matmul_of(call); }));
  COMMENSAL_ASSIGN(const bool served,
                   small_halves(call, outputs[0], ws, [&](const Matrices<float>& m) {
                     return matmul_by(*mm, call, m, ws);
                   }));
  if (served) return {};
  return serve(
      call, outputs, ws, ref::kMatmul,
      [&mm](const Call& own, std::span<Tensor> made, Workspace& space) {
        return matmul_served(*mm, own, made, space);
      },
      kPackedInputs);
}

}  // namespace commensal::kernels::cpu
