// SPDX-License-Identifier: Apache-2.0
// DFT and STFT: the chain of a bin's part is that of an element of a product, whose right matrix
// holds the factors: a row for each part of an input, a column for each part of a bin.
#include <algorithm>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/strided.hpp>
#include <commensal/compute/kernels/ref/fourier.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>

namespace commensal::kernels::cpu {
namespace {

using shape_inference::Transform;

/// Bins of real numbers beyond the half are the others' conjugates: their factors are, but for the
/// signs of zeros, which no step but the last one shows, and that adds +0.
std::int64_t own_bins(const Transform& t) {
  return t.complex ? t.bins : std::min(t.bins, t.n / 2 + 1);
}

/// The matrix of factors. One that would be far larger than what it meets is made block by block,
/// again in every product.
class FactorColumns final : public ColumnSource {
 public:
  FactorColumns(Pulse& pulse, const CpuKernels& kernels, const Transform& transform)
      : tile_columns_(kernels.tile_columns),
        transform_(transform),
        factors_(ref::factors_of(transform, pulse)) {
    constexpr std::int64_t kFloatsMax = 1 << 20;
    const std::int64_t columns = 2 * own_bins(transform), depth = transform.steps();
    floats_ = ceil_div(columns, tile_columns_) * tile_columns_ * depth;
    if (floats_ > kFloatsMax) return;
    panels_.emplace(floats_, nullptr, [&](float* to) {
      for (std::int64_t column = 0; column < columns; column += tile_columns_) {
        const auto used = static_cast<int>(std::min<std::int64_t>(tile_columns_, columns - column));
        for (std::int64_t k = 0; k < depth; ++k, to += tile_columns_) {
          pulse(used);
          fill_row(k, column / 2, used, to);
        }
      }
    });
    factors_ = {};
  }
  std::int64_t bytes() const {
    return panels_ ? floats_ * static_cast<std::int64_t>(sizeof(float))
                   : transform_.n * static_cast<std::int64_t>(sizeof(math::Turned));
  }

  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override {
    if (panels_) {
      return {panels_->data() + column * transform_.steps() + k * tile_columns_, tile_columns_};
    }
    for (std::int64_t i = 0; i < depth; ++i) {
      fill_row(k + i, column / 2, columns, scratch + i * tile_columns_);
    }
    return {scratch, tile_columns_};
  }

 private:
  /// What part `row` of the inputs is to the bins from `bin` on, `columns` / 2 of them; +0 beyond.
  void fill_row(std::int64_t row, std::int64_t bin, int columns, float* to) const {
    const bool imaginary = transform_.complex && row % 2 == 1;
    const std::int64_t j = row / transform_.parts();
    std::int64_t m = j * bin % transform_.n;
    for (int c = 0; c < columns; c += 2) {
      const math::Turned w = factors_[static_cast<std::size_t>(m)];
      to[c] = imaginary ? -w.sin : w.cos;
      to[c + 1] = imaginary ? w.cos : w.sin;
      m += j;
      m -= m >= transform_.n ? transform_.n : 0;
    }
    std::fill(to + columns, to + tile_columns_, 0.0f);
  }

  int tile_columns_;
  Transform transform_;
  std::vector<math::Turned> factors_;
  std::int64_t floats_ = 0;
  std::optional<PackedFloats> panels_;
};

/// Where the inputs of the transforms lie: line i begins at i / group * group_step + i % group *
/// line_step; from one number to the next it is `step`.
struct Lines {
  const float* from = nullptr;
  std::int64_t count = 0, group = 1, group_step = 0, line_step = 0, step = 1;
  const float* window = nullptr;  // null: none

  /// Numbers [first, first + count) of line i.
  template <int kParts>
  void copy(std::int64_t i, std::int64_t first, std::int64_t numbers, float* to) const {
    const float* at = from + i / group * group_step + i % group * line_step + first * step;
    if (step == kParts && window == nullptr) {
      std::copy_n(at, numbers * kParts, to);
      return;
    }
    for (std::int64_t j = 0; j < numbers; ++j, at += step) {
      const float factor = window == nullptr ? 1 : window[first + j];
      for (int part = 0; part < kParts; ++part) *to++ = at[part] * factor;
    }
  }
};

/// The lines as a product's left matrix, which is in `to`.
core::Result<Rows> pack_lines(const Lines& lines, const Transform& t, float* to, Workspace& ws) {
  constexpr std::int64_t kPiece = 1 << 10;  // numbers
  const CpuKernels& kernels = kernels_for(ws.isa);
  const std::int64_t parts = t.parts(), height = kernels.tile_rows;
  const std::int64_t panels = ceil_div(lines.count, height), pieces = ceil_div(t.terms, kPiece);
  COMMENSAL_TRY(run_with_scratch(ws, panels * pieces, height * std::min(kPiece, t.terms) * parts,
                                 [&](std::int64_t i, float* scratch) {
                                   const std::int64_t line = i / pieces * height,
                                                      first = i % pieces * kPiece;
                                   const std::int64_t used = std::min(height, lines.count - line);
                                   const std::int64_t numbers = std::min(kPiece, t.terms - first),
                                                      depth = numbers * parts;
                                   for (std::int64_t r = 0; r < used; ++r) {
                                     float* const row = scratch + r * depth;
                                     t.complex ? lines.copy<2>(line + r, first, numbers, row)
                                               : lines.copy<1>(line + r, first, numbers, row);
                                   }
                                   pack_rows(kernels, scratch, used, depth, depth, 1,
                                             to + line * t.steps() + first * parts * height);
                                 }));
  return Rows{to, t.steps() * height, height};
}

/// Ends the chains of a transform's own bins [first, first + count), and makes their conjugates.
void finish_bins(const Transform& t, std::int64_t first, std::int64_t count, float* bins) {
  const auto divisor = static_cast<float>(t.n);
  const std::int64_t own = own_bins(t);
  for (std::int64_t k = first; k < first + count; ++k) {
    float* const bin = bins + 2 * k;
    if (t.inverse) {
      bin[0] = ref::store<float>(bin[0] / divisor + 0.0f);
      bin[1] = ref::store<float>(bin[1] / divisor + 0.0f);
    }
    if (t.n - k < own || t.n - k >= t.bins) continue;
    float* const other = bins + 2 * (t.n - k);
    other[0] = bin[0];
    other[1] = ref::store<float>(0.0f - bin[1]);
  }
}

/// All bins of all lines, one line after the other.
core::Result<void> transform_lines(const Lines& lines, const Transform& t, const Call& call,
                                   float* to, Workspace& ws) {
  constexpr std::int64_t kPiece = 1 << 12;
  const CpuKernels& kernels = kernels_for(ws.isa);
  COMMENSAL_ASSIGN(const auto factors, call.memo.of([&] {
    return core::Result<FactorColumns>(tl::in_place, call.pulse, kernels, t);
  }));
  const std::int64_t floats = packed_rows_floats(kernels, lines.count, t.steps());
  Room room;
  COMMENSAL_ASSIGN(float* const packed, room.of(ws.arena, floats));
  COMMENSAL_ASSIGN(const Rows rows, pack_lines(lines, t, packed, ws));
  const Product product{.a = rows, .b = factors.get(), .c = to, .c_step = 2 * t.bins};
  const std::int64_t own = own_bins(t), pieces = ceil_div(own, kPiece);
  COMMENSAL_TRY(
      multiply({.rows = lines.count, .depth = t.steps(), .columns = 2 * own}, {&product, 1}, ws));
  if (!t.inverse && own == t.bins) return {};
  ws.threads.run(lines.count * pieces, [&](std::int64_t i) {
    const std::int64_t first = i % pieces * kPiece;
    finish_bins(t, first, std::min(kPiece, own - first), to + i / pieces * 2 * t.bins);
  });
  return {};
}

core::Result<bool> dft_served(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto made, call.memo.of([&] { return shape_inference::dft_of(call); }));
  const shape_inference::Dft& op = *made;
  if (op.to.elements() == 0) return true;
  const Transform& t = op.transform;
  const std::int64_t inner = op.to_view.inner_size / 2;  // lines side by side
  Lines lines;
  lines.from = call.in(0).data<float>().data();
  lines.count = op.to.elements() / (2 * t.bins);
  lines.group = inner;
  lines.step = inner * t.parts();
  lines.group_step = op.from_view.length * lines.step;
  lines.line_step = t.parts();
  float* const y = outputs[0].mutable_data<float>().data();
  if (inner == 1) {
    COMMENSAL_TRY(transform_lines(lines, t, call, y, ws));
    return true;
  }
  Room room;
  COMMENSAL_ASSIGN(float* const bins, room.of(ws.arena, op.to.elements()));
  COMMENSAL_TRY(transform_lines(lines, t, call, bins, ws));
  constexpr std::int64_t kBinBytes = 2 * sizeof(float);
  const CopyPlan copy(
      {.dims = {lines.count / inner, t.bins, inner}, .strides = {inner * t.bins, 1, t.bins}});
  copy.run(kBinBytes, reinterpret_cast<const std::uint8_t*>(bins),
           outputs[0].mutable_bytes().data(), ws);
  return true;
}

core::Result<bool> stft_served(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto made, call.memo.of([&] { return shape_inference::stft_of(call); }));
  const shape_inference::Stft& op = *made;
  if (op.to.elements() == 0) return true;
  const std::int64_t parts = op.transform.parts();
  Lines lines;
  lines.from = call.in(0).data<float>().data();
  lines.count = op.to[0] * op.frames;
  lines.group = op.frames;
  lines.step = parts;
  lines.group_step = op.length * parts;
  lines.line_step = op.step * parts;
  if (call.has(2)) lines.window = call.in(2).data<float>().data();
  COMMENSAL_TRY(
      transform_lines(lines, op.transform, call, outputs[0].mutable_data<float>().data(), ws));
  return true;
}

}  // namespace

core::Result<void> dft(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kDft, dft_served);
}

core::Result<void> stft(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kStft, stft_served);
}

}  // namespace commensal::kernels::cpu
