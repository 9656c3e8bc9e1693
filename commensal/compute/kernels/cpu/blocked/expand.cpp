// SPDX-License-Identifier: Apache-2.0
// A direct convolution and the depthwise one that alone reads it, row by row: what lies in between
// is larger than what comes in, and never leaves the cache.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/direct_rows.hpp>
#include <commensal/compute/kernels/cpu/blocked/lanes_rows.hpp>
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::kernels::cpu {

namespace {

enum Input { kX, kFirst, kSecond, kFirstBias, kSecondBias };

Attributes first_attributes(const Attributes& both) {
  constexpr std::string_view kPrefix = "first_";
  Attributes first;
  for (const auto& [name, value] : both.all()) {
    if (name.starts_with(kPrefix)) first.set(name.substr(kPrefix.size()), value);
  }
  return first;
}

/// The two convolutions as calls of their own. What lies between them has a type, but no elements.
struct Pair {
  BlockedConv first, second;

  static core::Result<Pair> of(const Call& call) {
    Pair made;
    const Attributes attributes = first_attributes(*call.attributes);
    const Tensor* inputs[] = {&call.in(kX), &call.in(kFirst)};
    Call one = call;
    one.attributes = &attributes;
    one.inputs = inputs;
    COMMENSAL_ASSIGN(made.first, BlockedConv::of(one));
    const Tensor expanded = tensor::stand_in(made.first.out().type());
    const Tensor* then[] = {&expanded, &call.in(kSecond)};
    one.attributes = call.attributes;
    one.inputs = then;
    COMMENSAL_ASSIGN(made.second, BlockedConv::of(one));
    return made;
  }
};

struct PairWeights final : Packed {
  BlockedWeights first, second;
  PairWeights(const BlockedKernels& kernels, const Call& call)
      : first(kernels, ConvWay::kDirect, 0, call.in(kFirst),
              call.has(kFirstBias) ? &call.in(kFirstBias) : nullptr, 1),
        second(kernels, ConvWay::kDepthwise, 0, call.in(kSecond),
               call.has(kSecondBias) ? &call.in(kSecondBias) : nullptr,
               call.in(kSecond).shape()[0]) {}
};

/// The rows between the two, of one image and panel, the last few of them: row y is in place y mod
/// `places`, for each block of the panel, with zeros at both sides.
class ExpandedRows {
 public:
  ExpandedRows(const BlockedKernels& kernels, const Pair& pair, const DirectRows& from,
               const PairWeights& weights, const Panels::Panel& panel, std::int64_t image,
               float* scratch)
      : kernels_(kernels),
        pair_(pair),
        from_(from),
        weights_(weights),
        panel_(panel),
        image_(image),
        scratch_(scratch) {
    std::fill(scratch, scratch + blocks(kernels, panel) * block_floats(pair), 0.0f);
  }

  static std::int64_t places(const Pair& pair) { return pair.second.conv.window.kernel[0]; }
  static std::int64_t row_floats(const Pair& pair) {
    const shape_inference::Window& w = pair.second.conv.window;
    return (w.pad_begin[1] + w.in[1] + w.pad_end[1]) * kBlock;
  }
  static std::int64_t block_floats(const Pair& pair) { return places(pair) * row_floats(pair); }
  static std::int64_t blocks(const BlockedKernels& kernels, const Panels::Panel& panel) {
    return panel.vectors * kernels.lanes / kBlock;
  }

  /// Rows from `y` on are wanted, none before it any more.
  void begin_at(std::int64_t y) { next_ = std::max<std::int64_t>(next_, y); }
  /// Null outside of the picture. Rows are asked for in windows that move down.
  const float* row(std::int64_t block, std::int64_t y) {
    if (y < 0 || y >= pair_.second.conv.window.in[0]) return nullptr;
    for (; next_ <= y; ++next_) expand(next_);
    return place(block, y);
  }

 private:
  float* place(std::int64_t block, std::int64_t y) const {
    return scratch_ + block * block_floats(pair_) + y % places(pair_) * row_floats(pair_);
  }

  void expand(std::int64_t y) const {
    const std::int64_t width = pair_.first.out().width;
    float* const to = place(0, y) + pair_.second.conv.window.pad_begin[1] * kBlock;
    std::int64_t c_vectors[8];
    for (int v = 0; v < panel_.vectors; ++v) {
      c_vectors[v] = vector_offset(v, kernels_.lanes, block_floats(pair_));
    }
    RowProduct p;
    p.a = from_.at(image_, y, 0);
    p.a_step = from_.right();
    p.runs = from_.runs().data();
    p.run_count = static_cast<int>(from_.runs().size());
    p.b = weights_.first.matrix() + weights_.first.panels().offset(panel_, 0);
    p.c = to;
    p.c_step = kBlock;
    p.c_vectors = c_vectors;
    p.rows = static_cast<int>(width);
    p.vectors = panel_.vectors;
    p.last = kernels_.lanes;
    p.finish = true;
    p.how = pair_.first.finish;
    p.how.bias = weights_.first.bias() + panel_.vector * kernels_.lanes;
    kernels_.row_product(p);
    for (std::int64_t block = 0; block < blocks(kernels_, panel_); ++block) {
      pair_.first.pass_gate(kernels_, to + block * block_floats(pair_), width * kBlock);
    }
  }

  const BlockedKernels& kernels_;
  const Pair& pair_;
  const DirectRows& from_;
  const PairWeights& weights_;
  const Panels::Panel& panel_;
  const std::int64_t image_;
  float* const scratch_;
  std::int64_t next_ = 0;  // the first row that was not expanded
};

}  // namespace

Types infer_blocked_expand(const Call& call) {
  COMMENSAL_ASSIGN(const Pair pair, Pair::of(call));
  return std::vector{pair.second.out().type()};
}

std::int64_t blocked_expand_steps(const Call& call) {
  const auto pair = Pair::of(call);
  if (!pair || pair->second.out().pixels() == 0) return 0;
  const std::int64_t between = pair->first.out().pixels() * pair->first.conv.depth();
  return between / pair->second.out().pixels() + pair->second.conv.depth();
}

core::Result<std::shared_ptr<const Packed>> pack_blocked_expand(const Call& call, Isa isa) {
  return std::make_shared<const PairWeights>(blocked_kernels_for(isa), call);
}

Done blocked_expand(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const auto& weights = static_cast<const PairWeights&>(*ws.packed);
  COMMENSAL_ASSIGN(Pair pair, Pair::of(call));
  pair.second.y = outputs[0].mutable_data<float>().data();
  Room room;
  COMMENSAL_ASSIGN(const DirectRows from, DirectRows::of(pair.first, ws, room));
  const shape_inference::Window& w = pair.second.conv.window;
  const BlockedShape out = pair.second.out();
  const auto& panels = weights.first.panels().panels;
  const auto panel_count = static_cast<std::int64_t>(panels.size());
  // Bands expand the rows that they share twice.
  const Cut cut = Cut::of(out, panel_count, ws.threads);
  const std::int64_t blocks_max = kernels.vectors_max * kernels.lanes / kBlock;
  return run_with_scratch(
      ws, cut.tasks(), std::max<std::int64_t>(blocks_max, 1) * ExpandedRows::block_floats(pair),
      [&](std::int64_t task, float* scratch) {
        const Cut::Part part = cut.part(task, out.height, panel_count);
        for (std::int64_t i = part.units.begin; i < part.units.end; ++i) {
          const auto& panel = panels[static_cast<std::size_t>(i)];
          ExpandedRows between(kernels, pair, from, weights, panel, part.image, scratch);
          std::vector<LanesRows> rows;
          const std::int64_t first = panel.vector * kernels.lanes / kBlock;
          for (std::int64_t b = 0; b < ExpandedRows::blocks(kernels, panel); ++b) {
            const std::int64_t plane = part.image * pair.second.in().blocks + first + b;
            rows.emplace_back(kernels, pair.second, weights.second, plane);
          }
          between.begin_at(part.rows.begin * w.stride[0] - w.pad_begin[0]);
          for (std::int64_t y = part.rows.begin; y < part.rows.end; ++y) {
            for (std::size_t b = 0; b < rows.size(); ++b) {
              rows[b].compute(y, [&](std::int64_t in_y) {
                return between.row(static_cast<std::int64_t>(b), in_y);
              });
            }
          }
        }
      });
}

}  // namespace commensal::kernels::cpu
