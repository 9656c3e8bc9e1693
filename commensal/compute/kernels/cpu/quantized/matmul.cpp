// SPDX-License-Identifier: Apache-2.0
// MatMulInteger and QLinearMatMul.
#include <algorithm>
#include <commensal/compute/kernels/cpu/quantized/ops.hpp>
#include <commensal/compute/kernels/cpu/quantized/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>
#include <commensal/compute/kernels/shape_inference/quantized_products.hpp>

namespace commensal::kernels::cpu {

namespace {

using shape_inference::CodeMatMul;
using shape_inference::CodeRoles;

/// The words of a right matrix [depth, columns].
void to_words(const std::uint8_t* from, tensor::DType type, std::int64_t depth,
              std::int64_t columns, Isa isa, float* to) {
  code_kernels_for(isa).right_rows({.from = from,
                                    .row_step = columns,
                                    .rows = depth,
                                    .columns = columns,
                                    .flip = right_flip(type),
                                    .to = to,
                                    .to_step = columns});
}

/// A constant right matrix.
class PackedCodes final : public Packed {
 public:
  PackedCodes(Pulse& pulse, const Tensor& b, Isa isa)
      : columns_(panels_of(pulse, b, isa)), sums_(static_cast<std::size_t>(b.shape()[1])) {
    const std::uint8_t flip = right_flip(b.dtype());
    const std::uint8_t* from = b.bytes().data();
    for (std::int64_t k = 0; k < b.shape()[0]; ++k) {
      pulse(sums_.size() / 4);
      for (std::int32_t& sum : sums_) sum += *from++ ^ flip;  // a depth below 2^23: no overflow
    }
  }
  static bool suits(const Tensor& b) {
    constexpr std::int64_t kDepthMax = std::int64_t{1} << 22;
    return tensor::traits(b.dtype()).size == 1 && b.shape().rank() == 2 && b.elements() > 0 &&
           b.shape()[0] <= kDepthMax;
  }
  const PackedColumns& columns() const { return columns_; }
  const std::int32_t* sums() const { return sums_.data(); }

 private:
  static PackedColumns panels_of(Pulse& pulse, const Tensor& b, Isa isa) {
    const std::int64_t depth = b.shape()[0], columns = b.shape()[1];
    AlignedFloats words(words_of(depth) * columns);
    to_words(b.bytes().data(), b.dtype(), depth, columns, isa, words.data());
    return {pulse, kernels_for(isa), words.data(), words_of(depth), columns, columns, 1};
  }
  PackedColumns columns_;
  std::vector<std::int32_t> sums_;
};

core::Result<std::shared_ptr<const Packed>> pack(const Call& call, const CodeRoles& roles,
                                                 Isa isa) {
  if (!call.has(roles.b.codes) || !PackedCodes::suits(call.in(roles.b.codes))) return nullptr;
  return std::make_shared<const PackedCodes>(call.pulse, call.in(roles.b.codes), isa);
}

/// One call: all rows of A meet the same B where that has no batches.
struct Matrices {
  const Call& call;
  const CodeRoles& roles;
  const CodeMatMul& codes;
  LeftLayout layout;
  bool one_b;
  std::int64_t count, rows;  // of products, and in each

  Matrices(const Call& c, const CodeRoles& r, const CodeMatMul& m, Isa isa)
      : call(c),
        roles(r),
        codes(m),
        layout{&code_kernels_for(isa), words_of(m.mm.k)},
        one_b(c.in(r.b.codes).shape().rank() <= 2),
        count(one_b ? 1 : m.mm.batches),
        rows(one_b ? m.mm.m * m.mm.batches : m.mm.m) {}

  /// Row r of product p: its matrix in Y, and in A; and its row there.
  struct Place {
    std::int64_t y, a, row;
  };
  Place place(std::int64_t p, std::int64_t r) const {
    const std::int64_t y = one_b ? r / codes.mm.m : p;
    return {y, codes.mm.a_matrix(y), r % codes.mm.m};
  }
  std::int64_t b_matrix(std::int64_t p) const { return one_b ? 0 : codes.mm.b_matrix(p); }
};

/// The left matrices in panels, and the sums of their rows.
struct LeftMatrices {
  std::shared_ptr<float> panels;
  std::vector<std::int32_t> sums;

  static core::Result<LeftMatrices> of(const Matrices& all, Workspace& ws) {
    const Tensor& a = all.call.in(all.roles.a.codes);
    const std::int64_t depth = all.codes.mm.k, height = all.layout.kernels->tile_rows;
    const std::int64_t count = a.elements() / (all.rows * depth);
    const std::int64_t panels = (all.rows + height - 1) / height;
    LeftMatrices made;
    made.sums.resize(static_cast<std::size_t>(count * all.rows));
    COMMENSAL_ASSIGN(made.panels, floats_from(ws.arena, count * all.layout.floats(all.rows)));
    const auto task = [&](std::int64_t i, float* scratch) {
      const std::int64_t row = i % panels * height, first = i / panels * all.rows + row;
      all.layout.pack(
          {.from = a.bytes().data() + first * depth, .count = depth, .flip = left_flip(a.dtype())},
          std::min(height, all.rows - row), depth, ws.isa, scratch,
          made.panels.get() + i * all.layout.panel_floats(), made.sums.data() + first);
    };
    COMMENSAL_TRY(run_with_scratch(ws, count * panels, all.layout.panel_floats(), task));
    return made;
  }
};

/// What the sums of one product are finished with.
struct Finish {
  LeftTerms left;
  std::vector<std::int32_t> column_zeros, zeros;
  std::vector<float> factors;
  CodeFinish made;

  Finish(Pulse& pulse, const Matrices& all, std::int64_t p, std::span<const std::int32_t> sums) {
    const CodeRoles& roles = all.roles;
    left = LeftTerms::of(sums, all.codes.mm.k, [&](std::int64_t r) {
      pulse(4);
      const auto at = all.place(p, r);
      return left_zero(all.call, roles.a.codes, roles.a.zero,
                       all.codes.a.zero.at(at.a, all.codes.mm.m, at.row));
    });
    const std::int64_t columns = all.codes.b.zero.single ? 1 : all.codes.mm.n;
    for (std::int64_t j = 0; j < columns; ++j) {
      pulse(4);
      column_zeros.push_back(right_zero(all.call, roles.b.codes, roles.b.zero,
                                        all.codes.b.zero.at(all.b_matrix(p), all.codes.mm.n, j)));
    }
    made.row_terms = left.terms.data();
    made.column_zeros = column_zeros.data();
    made.column_zeros_step = all.codes.b.zero.single ? 0 : 1;
    if (left.has_zeros) made.row_zeros = left.zeros.data();
    made.to_step = all.codes.mm.n;
    if (roles.y.scale >= 0) requantise(pulse, all, p);
  }
  Finish(Finish&&) = default;

 private:
  void requantise(Pulse& pulse, const Matrices& all, std::int64_t p) {
    const CodeRoles& roles = all.roles;
    const CodeMatMul& codes = all.codes;
    const bool by_rows = !codes.a.scale.single || !codes.y.scale.single;
    const std::int64_t columns = codes.b.scale.single ? 1 : codes.mm.n;
    for (std::int64_t r = 0; r < (by_rows ? all.rows : 1); ++r) {
      const auto at = all.place(p, r);
      const float a =
          ref::real_at(all.call.in(roles.a.scale), codes.a.scale.at(at.a, codes.mm.m, at.row));
      const float y =
          ref::real_at(all.call.in(roles.y.scale), codes.y.scale.at(at.y, codes.mm.m, at.row));
      for (std::int64_t j = 0; j < columns; ++j) {
        pulse(4);
        const float b = ref::real_at(all.call.in(roles.b.scale),
                                     codes.b.scale.at(all.b_matrix(p), codes.mm.n, j));
        factors.push_back(a * b / y);
      }
    }
    for (std::int64_t r = 0; r < (codes.y.zero.single ? 1 : all.rows); ++r) {
      pulse(4);
      const auto at = all.place(p, r);
      zeros.push_back(static_cast<std::int32_t>(
          ref::code_at(all.call, roles.y.zero, codes.y.zero.at(at.y, codes.mm.m, at.row))));
    }
    made.factors = factors.data();
    made.factors_row_step = by_rows ? columns : 0;
    made.factors_column_step = codes.b.scale.single ? 0 : 1;
    made.zeros = zeros.data();
    made.zeros_step = codes.y.zero.single ? 0 : 1;
  }
};

core::Result<void> multiply(const Matrices& all, Tensor& output, Workspace& ws) {
  const shape_inference::MatMul& mm = all.codes.mm;
  const Tensor& b = all.call.in(all.roles.b.codes);
  const auto* packed = static_cast<const PackedCodes*>(ws.packed);
  COMMENSAL_ASSIGN(const LeftMatrices left, LeftMatrices::of(all, ws));
  const std::int64_t b_words = all.layout.words * mm.n;
  std::shared_ptr<float> words;  // of matrices that are not constant
  if (packed == nullptr) {
    const std::int64_t matrices = b.elements() / (mm.k * mm.n);
    COMMENSAL_ASSIGN(words, floats_from(ws.arena, matrices * b_words));
    ws.threads.run(matrices, [&](std::int64_t i) {
      to_words(b.bytes().data() + i * mm.k * mm.n, b.dtype(), mm.k, mm.n, ws.isa,
               words.get() + i * b_words);
    });
  }
  std::vector<std::unique_ptr<ColumnSource>> sources;
  std::vector<Finish> finishes;
  std::vector<CodeProduct> products;
  Pulse pulse(&ws.threads);
  for (std::int64_t p = 0; p < all.count; ++p) {
    pulse(256);
    const std::int64_t a = all.one_b ? 0 : mm.a_matrix(p);
    finishes.emplace_back(pulse, all, p,
                          std::span(left.sums).subspan(static_cast<std::size_t>(a * all.rows),
                                                       static_cast<std::size_t>(all.rows)));
    CodeFinish finish = finishes.back().made;
    finish.type = output.dtype();
    finish.to =
        output.mutable_bytes().data() + p * all.rows * mm.n * tensor::traits(output.dtype()).size;
    const float* const panels = left.panels.get() + a * all.layout.floats(all.rows);
    if (packed != nullptr) {
      finish.column_sums = packed->sums();
      products.push_back({panels, &packed->columns(), finish});
      continue;
    }
    sources.push_back(std::make_unique<MatrixColumns>(
        kernels_for(ws.isa), words.get() + all.b_matrix(p) * b_words, mm.n, 1));
    products.push_back({panels, sources.back().get(), finish});
  }
  return multiply_codes({all.rows, mm.n, all.layout}, products, ws);
}

core::Result<void> matmul(const Call& call, const CodeRoles& roles, KernelFn plain,
                          std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const CodeMatMul codes, CodeMatMul::of(call, roles));
  if (outputs[0].elements() == 0) return {};
  if (codes.mm.k == 0) return plain(call, outputs, ws);
  return multiply(Matrices(call, roles, codes, ws.isa), outputs[0], ws);
}

}  // namespace

core::Result<std::shared_ptr<const Packed>> pack_matmul_integer(const Call& call, Isa isa) {
  return pack(call, shape_inference::kInteger, isa);
}
core::Result<std::shared_ptr<const Packed>> pack_qlinear_matmul(const Call& call, Isa isa) {
  return pack(call, shape_inference::kRequantised, isa);
}
core::Result<void> matmul_integer(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return matmul(call, shape_inference::kInteger, ref::kMatmulInteger.run, outputs, ws);
}
core::Result<void> qlinear_matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return matmul(call, shape_inference::kRequantised, ref::kQlinearMatmul.run, outputs, ws);
}

}  // namespace commensal::kernels::cpu
