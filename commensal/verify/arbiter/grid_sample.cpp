// SPDX-License-Identifier: Apache-2.0
// GridSample (docs/numerics.md, "Places and interpolation"): places follow from data, so that they,
// the neighbours and their weights are operations too.
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using S = scalar::Soft32;

constexpr std::uint64_t kOne = 0x3f800000, kTwo = 0x40000000, kHalf = 0x3f000000, kFar = 0x4e800000,
                        kMinusFar = 0xce800000, kCubicA = 0xbf400000;

struct Grid {
  std::string mode, padding;
  bool align_corners = false;
  Dims image;                // the spatial dimensions
  std::int64_t spatial = 1;  // of the output
};
std::optional<Grid> grid_of(const NodeCall& call) {
  const bool there = call.has(0) && call.has(1) && is_binary32(call.inputs[1]);
  if (!there) return std::nullopt;
  const Dims x = dims_of(call.inputs[0]), at = dims_of(call.inputs[1]);
  Grid g;
  g.mode = call.node.text("mode", "bilinear");
  g.padding = call.node.text("padding_mode", "zeros");
  g.align_corners = call.node.integer("align_corners", 0) != 0;
  if (x.size() < 3 || at.size() != x.size() || at[0] != x[0] ||
      at.back() != static_cast<std::int64_t>(x.size()) - 2 || x.size() > 6) {
    return std::nullopt;
  }
  g.image.assign(x.begin() + 2, x.end());
  const auto is_sane = [](std::int64_t dim) { return dim > 0 && dim < std::int64_t{1} << 24; };
  if (!std::ranges::all_of(g.image, is_sane)) return std::nullopt;
  g.spatial = product(std::span(at).subspan(1, at.size() - 2));
  return g;
}

TypeResult grid_type(const NodeCall& call, std::size_t output) {
  const auto g = output == 0 ? grid_of(call) : std::nullopt;
  if (!g || (g->mode != "nearest" && !is_binary32(call.inputs[0]))) {
    return unsupported("no program for this form or element type");
  }
  const Dims x = dims_of(call.inputs[0]), at = dims_of(call.inputs[1]);
  Dims dims = {x[0], x[1]};
  dims.insert(dims.end(), at.begin() + 1, at.end() - 1);
  return shaped(call.inputs[0].dtype, dims);
}

// One axis of the image.
struct Along {
  StepBuilder& steps;
  const Grid& g;
  std::int64_t dim = 1;

  Operand put(Op op, std::initializer_list<Operand> x) const { return steps.put(op, x); }
  Operand select(Operand condition, Operand yes, Operand no) const {
    return put(Op::kSelect, {condition, yes, no});
  }
  std::uint32_t low() const { return g.align_corners ? 0 : 0xbf000000; }
  std::uint32_t high() const {
    return S::sub(S::of_integer(dim), g.align_corners ? 0x3f800000 : 0x3f000000);
  }
  Operand outside(Operand x) const {
    const Operand below = put(Op::kLess32, {x, constant(low())});
    const Operand above = put(Op::kLess32, {constant(high()), x});
    return select(below, constant(1), above);
  }
  // Mirrored at the bounds until it lies between them.
  Operand reflected(Operand x) const {
    const std::uint32_t range = S::sub(high(), low());
    if (!S::less(0, range)) return select(outside(x), constant(low()), x);
    const Operand below = put(Op::kLess32, {x, constant(low())});
    const Operand before = put(Op::kSub32, {constant(low()), x});
    const Operand behind = put(Op::kSub32, {x, constant(high())});
    const Operand beyond = select(below, before, behind);
    const Operand quotient = put(Op::kDiv32, {beyond, constant(range)});
    const Operand turns = put(Op::kFloor32, {quotient});
    const Operand whole = put(Op::kMul32, {turns, constant(range)});
    const Operand rest = put(Op::kSub32, {beyond, whole});
    const Operand half = put(Op::kMul32, {turns, constant(kHalf)});
    const Operand pairs = put(Op::kMul32, {put(Op::kFloor32, {half}), constant(kTwo)});
    const Operand is_even = put(Op::kEqual32, {turns, pairs});
    const Operand from_low = put(Op::kEqualInteger, {is_even, below});
    const Operand up = put(Op::kAdd32, {constant(low()), rest});
    const Operand down = put(Op::kSub32, {constant(high()), rest});
    const Operand inside = select(from_low, up, down);
    return select(outside(x), inside, x);
  }
  Operand place(Operand grid) const {
    const Operand moved = put(Op::kAdd32, {grid, constant(kOne)});
    const std::uint32_t length = S::of_integer(dim), last = S::sub(length, 0x3f800000);
    Operand x;
    if (g.align_corners) {
      const Operand part = put(Op::kDiv32, {moved, constant(kTwo)});
      x = put(Op::kMul32, {part, constant(last)});
    } else {
      const Operand scaled = put(Op::kMul32, {moved, constant(length)});
      const Operand less = put(Op::kSub32, {scaled, constant(kOne)});
      x = put(Op::kDiv32, {less, constant(kTwo)});
    }
    x = select(put(Op::kEqual32, {x, x}), x, constant(kMinusFar));
    x = put(Op::kMaximum32, {x, constant(kMinusFar)});
    x = put(Op::kMinimum32, {x, constant(kFar)});
    if (g.mode == "nearest") x = put(Op::kRound32, {x});
    if (g.padding == "reflection") return reflected(x);
    if (g.padding != "border") return x;
    const Operand above = put(Op::kMaximum32, {x, constant(0)});
    const Operand kept = put(Op::kMinimum32, {above, constant(last)});
    return select(outside(x), kept, x);
  }
  // A neighbour: its place along the axis, its weight, and whether it counts.
  struct Tap {
    Operand index, weight, counts;
  };
  Tap tap(Operand at, Operand weight) const {
    const auto length = constant(static_cast<std::uint64_t>(dim));
    const Operand below = put(Op::kLessInteger, {at, constant(0)});
    const Operand within = put(Op::kLessInteger, {at, length});
    const Operand inside = select(below, constant(0), within);
    const Operand counts = g.padding == "zeros" ? inside : constant(1);
    if (g.padding == "reflection") {
      const Operand mirrored = reflected(put(Op::kFloatOfInteger, {at}));
      at = select(inside, at, put(Op::kIntegerOfFloat, {mirrored}));
    }
    const Operand least = put(Op::kMaximumInteger, {at, constant(0)});
    const auto last = constant(static_cast<std::uint64_t>(dim - 1));
    return {put(Op::kMinimumInteger, {least, last}), weight, counts};
  }
  Operand cubic_inner(Operand d) const {
    const std::uint32_t a = static_cast<std::uint32_t>(kCubicA);
    Operand x = put(Op::kMul32, {constant(S::add(a, 0x40000000)), d});
    x = put(Op::kSub32, {x, constant(S::add(a, 0x40400000))});
    x = put(Op::kMul32, {x, d});
    x = put(Op::kMul32, {x, d});
    return put(Op::kAdd32, {x, constant(kOne)});
  }
  Operand cubic_outer(Operand d) const {
    const std::uint32_t a = static_cast<std::uint32_t>(kCubicA);
    Operand x = put(Op::kMul32, {constant(a), d});
    x = put(Op::kSub32, {x, constant(S::mul(S::of_integer(5), a))});
    x = put(Op::kMul32, {x, d});
    x = put(Op::kAdd32, {x, constant(S::mul(S::of_integer(8), a))});
    x = put(Op::kMul32, {x, d});
    return put(Op::kSub32, {x, constant(S::mul(S::of_integer(4), a))});
  }
  std::vector<Tap> taps(Operand grid) const {
    const Operand x = place(grid), floor = put(Op::kFloor32, {x});
    const Operand at = put(Op::kIntegerOfFloat, {floor});
    if (g.mode == "nearest") return {tap(at, constant(kOne))};
    const Operand t = put(Op::kSub32, {x, floor}), other = put(Op::kSub32, {constant(kOne), t});
    std::vector<Operand> weights = {other, t};
    const bool is_cubic = g.mode == "cubic" || g.mode == "bicubic";
    if (is_cubic) {
      const Operand first = cubic_outer(put(Op::kAdd32, {t, constant(kOne)}));
      const Operand second = cubic_inner(t), third = cubic_inner(other);
      const Operand last = cubic_outer(put(Op::kAdd32, {other, constant(kOne)}));
      weights = {first, second, third, last};
    }
    std::vector<Tap> made;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto offset = static_cast<std::uint64_t>(i) - (is_cubic ? 1 : 0);
      made.push_back(tap(put(Op::kAddInteger, {at, constant(offset)}), weights[i]));
    }
    return made;
  }
};

// Every combination of one neighbour of each axis, row-major.
std::vector<Along::Tap> cross(StepBuilder& steps, const Grid& g,
                              const std::vector<std::vector<Along::Tap>>& axes,
                              std::int64_t plane) {
  std::vector<Along::Tap> made = {{constant(static_cast<std::uint64_t>(plane)), {}, constant(1)}};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const auto dim = constant(static_cast<std::uint64_t>(g.image[d]));
    std::vector<Along::Tap> next;
    for (const Along::Tap& before : made) {
      for (const Along::Tap& tap : axes[d]) {
        const Operand index = steps.put(Op::kMulAddInteger, {before.index, dim, tap.index});
        const Operand weight =
            d == 0 ? tap.weight : steps.put(Op::kMul32, {before.weight, tap.weight});
        const Operand counts = steps.put(Op::kSelect, {before.counts, tap.counts, constant(0)});
        next.push_back({index, weight, counts});
      }
    }
    made = std::move(next);
  }
  return made;
}

void grid_sample(const NodeCall& call, std::size_t output, std::int64_t element,
                 StepBuilder& steps) {
  const Grid g = *grid_of(call);
  const Kit& kit = *kit_of(call.inputs[1]);
  const auto count = static_cast<std::int64_t>(g.image.size());
  const std::int64_t plane = element / g.spatial, image = plane / call.inputs[0].dim(1);
  const std::int64_t entry = (image * g.spatial + element % g.spatial) * count;
  std::vector<std::vector<Along::Tap>> axes;
  for (std::int64_t d = 0; d < count; ++d) {
    Operand at = element_of(1, entry + count - 1 - d);
    at = steps.put(kit.load ? *kit.load : Op::kCopy, {at});
    axes.push_back(Along{steps, g, g.image[static_cast<std::size_t>(d)]}.taps(at));
  }
  const std::vector<Along::Tap> taps = cross(steps, g, axes, plane);
  if (g.mode == "nearest") {
    steps.put(Op::kSelect, {taps[0].counts, element_at(0, taps[0].index), constant(0)});
    return;
  }
  const Emitter emit = computing(call, output, steps);
  Operand acc = emit.zero();
  for (const Along::Tap& tap : taps) {
    const Operand weightless = emit.equal(tap.weight, emit.zero());
    const Operand kept = emit.select(weightless, constant(0), tap.counts);
    const Operand sum = emit.fma(tap.weight, element_at(0, tap.index), acc);
    acc = emit.select(kept, sum, acc);
  }
}

}  // namespace

std::span<const OperatorRow> grid_rows() {
  static constexpr OperatorRow kRows[] = {
      {"GridSample", 16, 0, "float32, float16, bfloat16; nearest: all", grid_type, grid_sample},
  };
  return kRows;
}

}  // namespace commensal::arbiter
