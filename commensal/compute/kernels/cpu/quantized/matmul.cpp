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
class LeftMatrices {
 public:
  explicit LeftMatrices(const Matrices& all)
      : all_(all),
        a_(all.call.in(all.roles.a.codes)),
        count_(a_.elements() / (all.rows * all.codes.mm.k)),
        sums_(count_ * all.rows) {}

  /// Error: kResourceExhausted.
  core::Result<void> fill(Workspace& ws) {
    const std::int64_t depth = all_.codes.mm.k, height = all_.layout.kernels->tile_rows;
    const std::int64_t panels = ceil_div(all_.rows, height);
    COMMENSAL_ASSIGN(panels_, room_.of(ws.arena, count_ * all_.layout.floats(all_.rows)));
    const auto task = [&](std::int64_t i, float* scratch) {
      const std::int64_t row = i % panels * height, first = i / panels * all_.rows + row;
      all_.layout.pack({.from = a_.bytes().data() + first * depth,
                        .count = depth,
                        .flip = left_flip(a_.dtype())},
                       std::min(height, all_.rows - row), depth, ws.isa, scratch,
                       panels_ + i * all_.layout.panel_floats(), sums_.data() + first);
    };
    return run_with_scratch(ws, count_ * panels, all_.layout.panel_floats(), task);
  }
  /// Of matrix i of A.
  const float* panels(std::int64_t i) const { return panels_ + i * all_.layout.floats(all_.rows); }
  std::span<const std::int32_t> sums(std::int64_t i) const {
    return {sums_.data() + i * all_.rows, static_cast<std::size_t>(all_.rows)};
  }

 private:
  const Matrices& all_;
  const Tensor& a_;
  std::int64_t count_;
  Few<std::int32_t> sums_;
  Room room_;
  float* panels_ = nullptr;
};

/// What the sums of one product are finished with.
struct Finish {
  LeftTerms left;
  Few<std::int32_t> column_zeros, zeros;
  Few<float> factors;
  CodeFinish made;

  Finish(Pulse& pulse, const Matrices& all, std::int64_t p, std::span<const std::int32_t> sums)
      : left(sums, all.codes.mm.k,
             [&, single = all.codes.a.zero.single, one = zero_of_row(all, p, 0)](std::int64_t r) {
               pulse(4);
               return single ? one : zero_of_row(all, p, r);
             }),
        column_zeros(all.codes.b.zero.single ? 1 : all.codes.mm.n),
        zeros(!requantises(all)         ? 0
              : all.codes.y.zero.single ? 1
                                        : all.rows),
        factors(requantises(all) ? (by_rows(all) ? all.rows : 1) * factor_columns(all) : 0) {
    for (std::int64_t j = 0; j < column_zeros.size(); ++j) {
      pulse(4);
      column_zeros[j] = right_zero(all.call, all.roles.b.codes, all.roles.b.zero,
                                   all.codes.b.zero.at(all.b_matrix(p), all.codes.mm.n, j));
    }
    made.row_terms = left.terms.data();
    made.column_zeros = column_zeros.data();
    made.column_zeros_step = all.codes.b.zero.single ? 0 : 1;
    if (left.has_zeros) made.row_zeros = left.zeros.data();
    made.to_step = all.codes.mm.n;
    if (requantises(all)) requantise(pulse, all, p);
  }

 private:
  static std::int32_t zero_of_row(const Matrices& all, std::int64_t p, std::int64_t r) {
    const auto at = all.place(p, r);
    return left_zero(all.call, all.roles.a.codes, all.roles.a.zero,
                     all.codes.a.zero.at(at.a, all.codes.mm.m, at.row));
  }
  static bool requantises(const Matrices& all) { return all.roles.y.scale >= 0; }
  static bool by_rows(const Matrices& all) {
    return !all.codes.a.scale.single || !all.codes.y.scale.single;
  }
  static std::int64_t factor_columns(const Matrices& all) {
    return all.codes.b.scale.single ? 1 : all.codes.mm.n;
  }

  void requantise(Pulse& pulse, const Matrices& all, std::int64_t p) {
    const CodeRoles& roles = all.roles;
    const CodeMatMul& codes = all.codes;
    const std::int64_t columns = factor_columns(all);
    for (std::int64_t r = 0; r < (by_rows(all) ? all.rows : 1); ++r) {
      const auto at = all.place(p, r);
      const float a =
          ref::real_at(all.call.in(roles.a.scale), codes.a.scale.at(at.a, codes.mm.m, at.row));
      const float y =
          ref::real_at(all.call.in(roles.y.scale), codes.y.scale.at(at.y, codes.mm.m, at.row));
      for (std::int64_t j = 0; j < columns; ++j) {
        pulse(4);
        const float b = ref::real_at(all.call.in(roles.b.scale),
                                     codes.b.scale.at(all.b_matrix(p), codes.mm.n, j));
        factors[r * columns + j] = a * b / y;
      }
    }
    for (std::int64_t r = 0; r < zeros.size(); ++r) {
      pulse(4);
      const auto at = all.place(p, r);
      zeros[r] = static_cast<std::int32_t>(
          ref::code_at(all.call, roles.y.zero, codes.y.zero.at(at.y, codes.mm.m, at.row)));
    }
    made.factors = factors.data();
    made.factors_row_step = by_rows(all) ? columns : 0;
    made.factors_column_step = codes.b.scale.single ? 0 : 1;
    made.zeros = zeros.data();
    made.zeros_step = codes.y.zero.single ? 0 : 1;
  }
};

/// One product of a call, and what it points to. `words`: the right matrices where they are not
/// packed.
struct OneProduct {
  Finish finish;
  MatrixColumns columns;
  CodeProduct made;

  OneProduct(Pulse& pulse, const Matrices& all, std::int64_t p, const LeftMatrices& left,
             const float* words, Tensor& output, const Workspace& ws)
      : finish(pulse, all, p, left.sums(left_of(all, p))),
        columns(kernels_for(ws.isa), words, all.codes.mm.n, 1),
        made{left.panels(left_of(all, p)), &columns, finish.made} {
    made.finish.type = output.dtype();
    made.finish.to = output.mutable_bytes().data() +
                     p * all.rows * all.codes.mm.n * tensor::traits(output.dtype()).size;
    if (const auto* packed = static_cast<const PackedCodes*>(ws.packed)) {
      made.b = &packed->columns();
      made.finish.column_sums = packed->sums();
    }
  }
  OneProduct(const OneProduct&) = delete;
  OneProduct& operator=(const OneProduct&) = delete;

 private:
  static std::int64_t left_of(const Matrices& all, std::int64_t p) {
    return all.one_b ? 0 : all.codes.mm.a_matrix(p);
  }
};

core::Result<void> multiply(const Matrices& all, Tensor& output, Workspace& ws) {
  const shape_inference::MatMul& mm = all.codes.mm;
  const Tensor& b = all.call.in(all.roles.b.codes);
  LeftMatrices left(all);
  COMMENSAL_TRY(left.fill(ws));
  const std::int64_t b_words = all.layout.words * mm.n;
  std::shared_ptr<float> words;  // of matrices that are not constant
  if (ws.packed == nullptr) {
    const std::int64_t matrices = b.elements() / (mm.k * mm.n);
    COMMENSAL_ASSIGN(words, floats_from(ws.arena, matrices * b_words));
    ws.threads.run(matrices, [&](std::int64_t i) {
      to_words(b.bytes().data() + i * mm.k * mm.n, b.dtype(), mm.k, mm.n, ws.isa,
               words.get() + i * b_words);
    });
  }
  Pulse pulse(&ws.threads);
  const auto words_of_product = [&](std::int64_t p) {
    return ws.packed != nullptr ? nullptr : words.get() + all.b_matrix(p) * b_words;
  };
  const CodeShape shape{all.rows, mm.n, all.layout};
  if (all.count == 1) {  // nothing is allocated
    const OneProduct one(pulse, all, 0, left, words_of_product(0), output, ws);
    return multiply_codes(shape, {&one.made, 1}, ws);
  }
  constexpr std::size_t kAtOnce = 1 << 12;  // what lists them takes time and memory too
  std::vector<std::unique_ptr<const OneProduct>> each;
  std::vector<CodeProduct> products;
  for (std::int64_t p = 0; p < all.count; ++p) {
    pulse(256);
    each.push_back(
        std::make_unique<const OneProduct>(pulse, all, p, left, words_of_product(p), output, ws));
    products.push_back(each.back()->made);
    if (p + 1 < all.count && products.size() < kAtOnce) continue;
    COMMENSAL_TRY(multiply_codes(shape, products, ws));
    each.clear();
    products.clear();
  }
  return {};
}

core::Result<void> matmul(const Call& call, const CodeRoles& roles, KernelFn plain,
                          std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto codes, call.memo.of([&] { return CodeMatMul::of(call, roles); }));
  if (outputs[0].elements() == 0) return {};
  if (codes->mm.k == 0) return plain(call, outputs, ws);
  return multiply(Matrices(call, roles, *codes, ws.isa), outputs[0], ws);
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
