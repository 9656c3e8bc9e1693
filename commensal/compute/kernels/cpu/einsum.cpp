// SPDX-License-Identifier: Apache-2.0
// Einsum of two operands as products of matrices: labels of both and the output count the products,
// those of the output and one operand are rows or columns, those that are summed are the depth, in
// the order of the chain. (Files' Einsums of more operands are pairs: graph/onnx/einsum_pairs.hpp.)
#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/pack_across.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/einsum.hpp>
#include <cstring>
#include <optional>

namespace commensal::kernels::cpu {

namespace {

using shape_inference::Einsum;
using Loops = std::vector<Einsum::Loop>;

constexpr std::int64_t kRows = 128, kColumns = 192, kDepth = 512;  // of a block

/// The equation as products; `left` is the operand whose labels are the rows, so that the output's
/// last label is one of the columns where it can be.
struct Products {
  static constexpr std::size_t kOutput = 2;  // the view after those of the operands
  Loops batches, rows, columns, depth;
  std::size_t left = 0, right = 1;

  explicit Products(const Einsum& e) {
    Einsum::Labels labels[2], both;
    for (const char label : e.output) {
      const bool first = e.step(0, label) != 0, second = e.step(1, label) != 0;
      (first == second ? both : labels[second ? 1 : 0]) += label;
    }
    const auto last_of = [&](const Einsum::Labels& some) {
      return some.empty() ? 0 : e.output.find(some.back()) + 1;
    };
    if (last_of(labels[0]) > last_of(labels[1])) std::swap(left, right);
    batches = e.loops(both);
    rows = e.loops(labels[left]);
    columns = e.loops(labels[right]);
    depth = e.loops(e.summed);
  }
  bool pays() const {
    return Einsum::turns(rows) > 1 && Einsum::turns(columns) > 1 &&
           Einsum::turns(rows) * Einsum::turns(columns) >= 32;
  }
};

/// What the runs of a call have in common: made once for all runs of a node.
struct EinsumCall {
  std::optional<Products> products;  // where they pay
  std::int64_t depth = 0;

  static core::Result<EinsumCall> of(const Call& call) {
    EinsumCall made;
    const bool serves = call.inputs.size() == 2 && call.in(0).dtype() == tensor::DType::kFloat32;
    if (!serves) return made;
    COMMENSAL_ASSIGN(const Einsum e, shape_inference::einsum_of(call));
    made.depth = e.depth();
    made.products.emplace(e);
    if (!made.products->pays()) made.products.reset();
    return made;
  }
};

/// Where entries [from, from + count) lie, beyond the first of all.
class Places {
 public:
  Places(const Loops& loops, std::size_t view, std::int64_t from, std::int64_t count)
      : count_(count) {
    if (loops.size() <= 1) {  // nothing is to be listed
      step_ = loops.empty() ? 0 : loops[0].steps[view];
      first_ = from * step_;
      return;
    }
    at_.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = from; i < from + count; ++i) {
      at_.push_back(Einsum::place(loops, view, i));
      if (i == from) first_ = at_[0];
      if (i == from + 1) step_ = at_[1] - at_[0];
      even_ = even_ && at_.back() == first_ + (i - from) * step_;
    }
  }
  /// Whether all are as far apart as the first two.
  bool even() const { return even_; }
  std::int64_t step() const { return step_; }
  std::int64_t count() const { return count_; }
  std::int64_t operator[](std::int64_t i) const {
    return even_ ? first_ + i * step_ : at_[static_cast<std::size_t>(i)];
  }

 private:
  std::vector<std::int64_t> at_;
  std::int64_t count_, first_ = 0, step_ = 0;
  bool even_ = true;
};

/// Calls put(j, element) for entries [i, i + count) of the step of depth at `from`.
template <class Put>
void put_entries(const float* from, const Places& entries, std::int64_t i, std::int64_t count,
                 const Put& put) {
  const float* const first = from + entries[i];
  const std::int64_t step = entries.step();
  if (!entries.even()) {
    for (std::int64_t j = 0; j < count; ++j) put(j, from[entries[i + j]]);
  } else if (step == 0) {
    for (std::int64_t j = 0; j < count; ++j) put(j, *first);
  } else if (step == 1) {
    for (std::int64_t j = 0; j < count; ++j) put(j, first[j]);
  } else {
    for (std::int64_t j = 0; j < count; ++j) put(j, first[j * step]);
  }
}

/// A panel: entries [i, i + used) of it, zeros up to `tile`. kTile: the same, if it is known.
template <int kTile>
void pack_panel(const float* from, const Places& entries, const Places& depth, std::int64_t i,
                std::int64_t used, int given_tile, float* to) {
  const int tile = kTile > 0 ? kTile : given_tile;
  const auto bytes = static_cast<std::size_t>(tile) * sizeof(float);
  for (std::int64_t k = 0; k < depth.count(); ++k, to += tile) {
    if (k > 0 && depth[k] == depth[k - 1]) {  // a label that only others have
      std::memcpy(to, to - tile, bytes);
      continue;
    }
    put_entries(from + depth[k], entries, i, used, [&](std::int64_t j, float x) { to[j] = x; });
    std::fill(to + used, to + tile, 0.0f);
  }
}

/// Entries by depth in panels of `tile`, as pack_across has them.
void pack(const CpuKernels& kernels, const float* from, const Places& entries, const Places& depth,
          int tile, float* to) {
  if (depth.count() == 0) return;
  if (entries.even() && depth.even()) {
    const MatrixView view{from + entries[0] + depth[0], entries.step(), depth.step()};
    return pack_across(kernels, view, entries.count(), depth.count(), tile, to);
  }
  for (std::int64_t i = 0; i < entries.count(); i += tile, to += depth.count() * tile) {
    const std::int64_t used = std::min<std::int64_t>(tile, entries.count() - i);
    if (tile == 8) {
      pack_panel<8>(from, entries, depth, i, used, tile, to);
    } else if (tile == 4) {
      pack_panel<4>(from, entries, depth, i, used, tile, to);
    } else {
      pack_panel<0>(from, entries, depth, i, used, tile, to);
    }
  }
}

class EinsumBlocks {
 public:
  EinsumBlocks(const Call& call, const Products& products, std::int64_t depth, Isa isa, float* y)
      : call_(call),
        p_(products),
        kernels_(kernels_for(isa)),
        y_(y),
        rows_(Einsum::turns(p_.rows)),
        columns_(Einsum::turns(p_.columns)),
        depth_(depth) {
    down_ = ceil_div(rows_, kRows);
    across_ = ceil_div(columns_, kColumns);
    const std::int64_t deep = std::min(depth_, kDepth), high = std::min(rows_, kRows);
    const std::int64_t wide = std::min(columns_, kColumns);
    right_ = packed_across_floats(high, deep, kernels_.tile_rows);
    made_ = right_ + packed_across_floats(wide, deep, kernels_.tile_columns) + kernels_.lanes;
    floats_ = made_ + high * kColumns + kernels_.lanes;
  }
  std::int64_t tasks() const { return Einsum::turns(p_.batches) * down_ * across_; }
  std::int64_t floats() const { return floats_; }

  void run(const ThreadPool& threads, std::int64_t task, float* scratch) const {
    const std::int64_t batch = task / across_ / down_;
    const std::int64_t row = task / across_ % down_ * kRows, column = task % across_ * kColumns;
    const std::int64_t high = std::min(kRows, rows_ - row);
    const std::int64_t wide = std::min(kColumns, columns_ - column);
    const Places to_rows(p_.rows, Products::kOutput, row, high);
    const Places to_columns(p_.columns, Products::kOutput, column, wide);
    float* const y = y_ + Einsum::place(p_.batches, Products::kOutput, batch);
    const bool in_place =
        to_rows.even() && to_columns.even() && (wide == 1 || to_columns.step() == 1);
    float* const to = in_place ? y + to_rows[0] + to_columns[0] : scratch + made_;
    const std::int64_t to_step = in_place ? to_rows.step() : kColumns;
    Pulse pulse(&threads);
    std::int64_t k = 0;
    do {  // once even for a depth of 0
      const std::int64_t deep = std::min(kDepth, depth_ - k);
      pack_operand(p_.left, batch, {p_.rows, row, high}, k, deep, kernels_.tile_rows, scratch);
      pack_operand(p_.right, batch, {p_.columns, column, wide}, k, deep, kernels_.tile_columns,
                   scratch + right_);
      multiply_packed(kernels_, pulse,
                      {scratch, scratch + right_, high, wide, deep, k > 0, k + deep == depth_}, to,
                      to_step);
      k += deep;
      threads.yield();
    } while (k < depth_);
    for (std::int64_t r = 0; r < high && !in_place; ++r) {
      for (std::int64_t c = 0; c < wide; ++c) y[to_rows[r] + to_columns[c]] = to[r * to_step + c];
    }
  }

 private:
  /// Some rows, or some columns.
  struct Entries {
    const Loops& loops;
    std::int64_t from, count;
  };
  void pack_operand(std::size_t o, std::int64_t batch, const Entries& entries, std::int64_t k,
                    std::int64_t deep, int tile, float* to) const {
    const float* const x =
        call_.in(static_cast<int>(o)).data<float>().data() + Einsum::place(p_.batches, o, batch);
    pack(kernels_, x, Places(entries.loops, o, entries.from, entries.count),
         Places(p_.depth, o, k, deep), tile, to);
  }

  const Call& call_;
  const Products& p_;
  const CpuKernels& kernels_;
  float* y_;
  std::int64_t rows_, columns_, depth_, down_ = 1, across_ = 1;
  std::int64_t right_ = 0, made_ = 0, floats_ = 0;
};

}  // namespace

core::Result<void> einsum(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto parsed, call.memo.of([&] { return EinsumCall::of(call); }));
  if (!parsed->products || outputs[0].elements() == 0) {
    return ref::kEinsum.best()(call, outputs, ws);
  }
  const EinsumBlocks blocks(call, *parsed->products, parsed->depth, ws.isa,
                            outputs[0].mutable_data<float>().data());
  return run_with_scratch(ws, blocks.tasks(), blocks.floats(), [&](std::int64_t i, float* scratch) {
    blocks.run(ws.threads, i, scratch);
  });
}

}  // namespace commensal::kernels::cpu
