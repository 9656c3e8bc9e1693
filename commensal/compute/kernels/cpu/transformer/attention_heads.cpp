// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/transformer/attention_heads.hpp>
#include <commensal/compute/kernels/cpu/transformer/weighted_row.hpp>

namespace commensal::kernels::cpu {

namespace {

std::int64_t round_up(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

/// One call and what its tasks share.
class Attention {
 public:
  Attention(const AttentionHeads& a, Isa isa)
      : a_(a),
        kernels_(kernels_for(isa)),
        rows_apart_(weighted_row_kernels_for(isa)),
        score_step_(round_up(a.keys, kernels_.lanes)),
        block_rows_(std::min(rows_of_a_block(score_step_, kernels_.tile_rows),
                             round_up(a.queries, kernels_.tile_rows))) {
    place(k_, packed_across_floats(a.keys, a.depth, kernels_.tile_columns));
    place(v_, packed_across_floats(a.columns, a.keys, kernels_.tile_columns));
    place(q_, block_rows_ * a.depth);
    place(scores_, block_rows_ * score_step_);
    place(weights_, block_rows_ * a.keys);
    place(apart_, block_rows_ * score_step_);
  }

  /// Scratch of one task.
  std::int64_t floats() const { return floats_; }
  /// Of one head.
  std::int64_t blocks() const { return (a_.queries + block_rows_ - 1) / block_rows_; }

  /// Blocks [first, last) of one head.
  void run(Pulse& pulse, std::int64_t head, std::int64_t first, std::int64_t last,
           float* scratch) const {
    const AttentionHeads::Head h = a_.head(head);
    const int columns = kernels_.tile_columns;
    pack_across(kernels_, h.k, a_.keys, a_.depth, columns, scratch + k_);
    pulse(a_.keys * a_.depth);
    pack_across(kernels_, h.v, a_.columns, a_.keys, columns, scratch + v_);
    pulse(a_.keys * a_.columns);
    for (std::int64_t row = first * block_rows_; row < std::min(a_.queries, last * block_rows_);
         row += block_rows_) {
      const std::int64_t rows = std::min(block_rows_, a_.queries - row);
      scores_of(pulse, {h.q.data + row * h.q.step, h.q.step, h.q.depth_step}, rows, scratch);
      std::uint64_t apart = 0;  // a bit for each row
      for (std::int64_t r = 0; r < rows; ++r) {
        float* const scores = scratch + scores_ + r * score_step_;
        a_.finish(head, row + r, scores);
        kernels_.softmax(scores, scores, a_.keys);
        if (takes_apart(r, scratch)) apart |= std::uint64_t{1} << r;
        pulse(a_.keys);
      }
      float* const out = h.y + row * h.y_step;
      weighted_sums(pulse, rows, scratch, out, h.y_step);
      for (; apart != 0; apart &= apart - 1) {
        row_apart(std::countr_zero(apart), scratch, out, h.y_step);
        pulse(a_.keys * a_.columns);
      }
    }
  }

 private:
  /// So that scores and their packed copy leave half of a first-level cache of 48 KiB to the rest.
  static std::int64_t rows_of_a_block(std::int64_t row, std::int64_t tile_rows) {
    constexpr std::int64_t kFloats = 3072;
    return std::clamp<std::int64_t>(kFloats / std::max<std::int64_t>(row, 1) / tile_rows, 1, 8) *
           tile_rows;
  }
  /// Parts of the scratch begin at whole vectors, and may be read to the end of one.
  void place(std::int64_t& part, std::int64_t floats) {
    part = floats_;
    floats_ += round_up(floats, 16) + 16;
  }

  void scores_of(Pulse& pulse, const MatrixView& q, std::int64_t rows, float* scratch) const {
    pack_across(kernels_, q, rows, a_.depth, kernels_.tile_rows, scratch + q_);
    const std::int64_t packed = packed_across_floats(rows, a_.depth, kernels_.tile_rows);
    if (a_.prepare) a_.prepare(scratch + q_, packed);
    multiply_packed(kernels_, pulse, {scratch + q_, scratch + k_, rows, a_.keys, a_.depth},
                    scratch + scores_, score_step_);
  }

  /// Rows with subnormal weights are put aside: the product, whose tiles they would slow down by
  /// much, gets zeros for them.
  bool takes_apart(std::int64_t r, float* scratch) const {
    float* const weights = scratch + scores_ + r * score_step_;
    if (a_.keys > 65536 || !rows_apart_.has_subnormal(weights, a_.keys)) return false;
    std::copy_n(weights, a_.keys, scratch + apart_ + r * score_step_);
    std::fill_n(weights, a_.keys, 0.0f);
    return true;
  }

  void row_apart(std::int64_t r, const float* scratch, float* out, std::int64_t out_step) const {
    for (std::int64_t j = 0; j < a_.columns; j += kernels_.tile_columns) {
      rows_apart_.weighted_row({scratch + apart_ + r * score_step_, a_.keys,
                                scratch + v_ + j * a_.keys, kernels_.tile_columns,
                                out + r * out_step + j,
                                std::min<std::int64_t>(kernels_.tile_columns, a_.columns - j)});
    }
  }

  void weighted_sums(Pulse& pulse, std::int64_t rows, float* scratch, float* out,
                     std::int64_t out_step) const {
    pack_across(kernels_, {scratch + scores_, score_step_, 1}, rows, a_.keys, kernels_.tile_rows,
                scratch + weights_);
    multiply_packed(kernels_, pulse, {scratch + weights_, scratch + v_, rows, a_.columns, a_.keys},
                    out, out_step);
  }

  const AttentionHeads& a_;
  const CpuKernels& kernels_;
  const WeightedRowKernels& rows_apart_;
  std::int64_t score_step_, block_rows_;
  std::int64_t k_ = 0, v_ = 0, q_ = 0, scores_ = 0, weights_ = 0, apart_ = 0;
  std::int64_t floats_ = 0;
};

}  // namespace

core::Result<void> AttentionHeads::run(Workspace& ws) const {
  const Attention attention(*this, ws.isa);
  // A head is a task; where there are few, so is each part of one, which packs keys and values
  // anew.
  const std::int64_t blocks = attention.blocks();
  const std::int64_t parts = std::clamp<std::int64_t>(2 * ws.threads.threads() / heads, 1, blocks);
  const std::int64_t blocks_a_part = (blocks + parts - 1) / parts;
  return run_with_scratch(ws, heads * parts, attention.floats(), [&](std::int64_t i, float* room) {
    const std::int64_t first = i % parts * blocks_a_part;
    Pulse pulse(&ws.threads);
    attention.run(pulse, i / parts, first, std::min(blocks, first + blocks_a_part), room);
  });
}

}  // namespace commensal::kernels::cpu
