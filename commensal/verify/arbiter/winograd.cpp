// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/arbiter/products.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using scalar::Soft64;

// Constants by their bits.
constexpr std::uint64_t kA64 = 0x3fe4000000000000, kB64 = 0x3ff8000000000000;  // 5/8, 3/2
constexpr std::uint64_t kOne64 = 0x3ff0000000000000, kHalf64 = 0x3fe0000000000000;
constexpr std::uint64_t kTwo64 = 0x4000000000000000, kSign64 = 0x8000000000000000;

using Row = std::array<std::uint64_t, 3>;

// Row of point p: (1, p, p^2) / N(p), N the product of p's distances to the other finite points.
std::vector<Row> filter_rows(int tile) {
  const Row last = {0, 0, kOne64};
  if (tile == 2) {
    return {
        {kOne64, 0, 0}, {kHalf64, kHalf64, kHalf64}, {kHalf64, kHalf64 | kSign64, kHalf64}, last};
  }
  const std::uint64_t a2 = Soft64::mul(kA64, kA64), b2 = Soft64::mul(kB64, kB64);
  const auto row = [](std::uint64_t p, std::uint64_t p2, std::uint64_t n) {
    return Row{Soft64::div(kOne64, n), Soft64::div(p, n), Soft64::div(p2, n)};
  };
  const auto twice = [](std::uint64_t x) { return Soft64::mul(kTwo64, x); };
  const std::uint64_t na = Soft64::mul(twice(a2), Soft64::sub(a2, b2));
  const std::uint64_t nb = Soft64::mul(twice(b2), Soft64::sub(b2, a2));
  const std::uint64_t n0 = Soft64::mul(a2, b2);
  return {{Soft64::div(kOne64, n0), 0, 0}, row(kA64, a2, na),
          row(kA64 | kSign64, a2, na),     row(kB64, b2, nb),
          row(kB64 | kSign64, b2, nb),     last};
}

using Grid = std::vector<Operand>;  // T x T, row-major

// (g0 x + g1 y) + g2 z, in binary64.
Operand entry(StepBuilder& steps, const Row& g, Operand x, Operand y, Operand z) {
  const Operand first = steps.put(Op::kMul64, {constant(g[0]), x});
  const Operand both = steps.put(Op::kAdd64, {first, steps.put(Op::kMul64, {constant(g[1]), y})});
  return steps.put(Op::kAdd64, {both, steps.put(Op::kMul64, {constant(g[2]), z})});
}

Grid filter(StepBuilder& steps, const std::vector<Row>& rows, std::int64_t first_weight) {
  std::vector<Operand> f, t;
  for (int i = 0; i < 9; ++i) f.push_back(steps.put(Op::kWiden, {element_of(1, first_weight + i)}));
  for (const Row& row : rows) {
    for (std::size_t j = 0; j < 3; ++j) t.push_back(entry(steps, row, f[j], f[3 + j], f[6 + j]));
  }
  Grid u;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Row& row : rows) {
      const Operand sum = entry(steps, row, t[3 * i], t[3 * i + 1], t[3 * i + 2]);
      u.push_back(steps.put(Op::kNarrow, {sum}));
    }
  }
  return u;
}

// binary32 constants: -(a^2 + b^2), a^2 b^2, a, b and their powers, all exact.
constexpr std::uint64_t kSum = 0xc0290000, kProduct = 0x3f610000, kA = 0x3f200000, kB = 0x3fc00000,
                        kA2 = 0x3ec80000, kB2 = 0x40100000, kA3 = 0x3e7a0000, kB3 = 0x40580000,
                        kSign = 0x80000000;

// One dimension of the input transform: T numbers become T.
Grid input_row(const Emitter& emit, const Grid& d) {
  const auto with = [&emit](std::uint64_t c, Operand x, Operand y) {
    return emit.fma(constant(c), x, y);
  };
  if (d.size() == 4) {
    Grid o = {emit.sub(d[0], d[2]), emit.add(d[1], d[2])};
    o.push_back(emit.sub(d[2], d[1]));
    o.push_back(emit.sub(d[1], d[3]));
    return o;
  }
  Grid o = {with(kProduct, d[0], with(kSum, d[2], d[4]))};
  const Operand even_a = with(kB2 | kSign, d[2], d[4]), odd_a = with(kB2 | kSign, d[1], d[3]);
  o.push_back(with(kA, odd_a, even_a));
  o.push_back(with(kA | kSign, odd_a, even_a));
  const Operand even_b = with(kA2 | kSign, d[2], d[4]), odd_b = with(kA2 | kSign, d[1], d[3]);
  o.push_back(with(kB, odd_b, even_b));
  o.push_back(with(kB | kSign, odd_b, even_b));
  o.push_back(with(kProduct, d[1], with(kSum, d[3], d[5])));
  return o;
}

// One dimension of the output transform: T numbers become T - 2.
Grid output_row(const Emitter& emit, const Grid& m) {
  if (m.size() == 4) {
    return {emit.add(emit.add(m[0], m[1]), m[2]), emit.sub(emit.sub(m[1], m[2]), m[3])};
  }
  const auto product = [&emit](std::uint64_t c, Operand x) { return emit.mul(constant(c), x); };
  const Operand sum_a = emit.add(m[1], m[2]), less_a = emit.sub(m[1], m[2]);
  const Operand sum_b = emit.add(m[3], m[4]), less_b = emit.sub(m[3], m[4]);
  return {emit.add(emit.add(m[0], sum_a), sum_b),
          emit.fma(constant(kB), less_b, product(kA, less_a)),
          emit.fma(constant(kB2), sum_b, product(kA2, sum_a)),
          emit.fma(constant(kB3), less_b, emit.fma(constant(kA3), less_a, m[5]))};
}

// Both dimensions, columns first.
template <class Transform>
Grid transform(const Emitter& emit, const Grid& d, std::size_t side, std::size_t to,
               Transform&& one) {
  std::vector<Grid> columns;
  for (std::size_t x = 0; x < side; ++x) {
    Grid column;
    for (std::size_t y = 0; y < side; ++y) column.push_back(d[y * side + x]);
    columns.push_back(one(emit, column));
  }
  Grid made;
  for (std::size_t y = 0; y < to; ++y) {
    Grid row;
    for (std::size_t x = 0; x < side; ++x) row.push_back(columns[x][y]);
    const Grid turned = one(emit, row);
    made.insert(made.end(), turned.begin(), turned.end());
  }
  return made;
}

}  // namespace

int winograd_tile(const Conv& conv, bool is_float32) {
  const Window& w = conv.window;
  const auto all = [](const Dims& dims, std::int64_t value) { return dims == Dims{value, value}; };
  const bool applies = is_float32 && w.in.size() == 2 && all(w.kernel, 3) && all(w.stride, 1) &&
                       all(w.dilation, 1) && conv.group == 1 && conv.channels >= 16;
  if (!applies) return 0;
  return w.out[0] >= 13 && w.out[1] >= 13 ? 4 : 2;
}

void winograd(const Conv& conv, const Emitter& emit, std::int64_t element, Operand bias) {
  const std::int64_t m = conv.tile, height = conv.window.out[0], width = conv.window.out[1];
  const std::int64_t column = element % width, row = element / width % height;
  const std::int64_t plane = element / (width * height);
  const std::int64_t image = plane / conv.out_channels, channel = plane % conv.out_channels;
  const auto side = static_cast<std::size_t>(m + 2);
  // Places in the image of the tile's input; -1 outside of it.
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < (m + 2) * (m + 2); ++i) {
    const Dims at = {row / m * m + i / (m + 2), column / m * m + i % (m + 2)};
    places.push_back(conv.window.source(at, {0, 0}));
  }
  const std::vector<Row> rows = filter_rows(conv.tile);
  const std::int64_t in = product(conv.window.in);
  Grid sums(side * side, emit.zero());
  emit.steps.fold(conv.channels, sums, [&](std::int64_t c, std::span<Operand> state) {
    const Grid u = filter(emit.steps, rows, (channel * conv.channels + c) * 9);
    Grid d;
    for (const std::int64_t place : places) {
      const std::int64_t at = (image * conv.channels + c) * in + place;
      d.push_back(place < 0 ? emit.zero() : element_of(0, at));
    }
    const Grid v = transform(emit, d, side, side, input_row);
    for (std::size_t p = 0; p < v.size(); ++p) state[p] = emit.fma(u[p], v[p], state[p]);
  });
  const Grid y = transform(emit, sums, side, side - 2, output_row);
  add_bias(emit, y[static_cast<std::size_t>(row % m * m + column % m)], bias);
}

}  // namespace commensal::arbiter
