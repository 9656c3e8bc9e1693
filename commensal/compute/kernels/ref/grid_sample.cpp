// SPDX-License-Identifier: Apache-2.0
// GridSample: every output element lies where a grid says, in [-1, 1] along each axis of the
// image, the last axis first.
#include <commensal/compute/kernels/ref/sampling.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"bilinear", Mode::kLinear}, {"linear", Mode::kLinear}, {"nearest", Mode::kNearest},
    {"bicubic", Mode::kCubic},   {"cubic", Mode::kCubic},
};
constexpr std::pair<std::string_view, Padding> kPaddings[] = {
    {"zeros", Padding::kZeros}, {"border", Padding::kBorder}, {"reflection", Padding::kReflection}};
constexpr float kFar = 1 << 30;  // beyond every image, safe to convert
constexpr float kCubicA = -0.75f;

template <class T, std::size_t N>
core::Result<T> named(const Call& call, std::string_view attribute, std::string_view fallback,
                      const std::pair<std::string_view, T> (&names)[N]) {
  COMMENSAL_ASSIGN(const std::string given, call.attributes->text(attribute, fallback));
  for (const auto& [name, value] : names) {
    if (name == given) return value;
  }
  return fail(ErrorCode::kInvalidArgument, "attribute '{}' is '{}'", attribute, given);
}

// std::floor of what is at most kFar from 0, but for a zero's sign.
float floored(float x) {
  const auto whole = static_cast<float>(static_cast<std::int32_t>(x));
  return whole > x ? whole - 1 : whole;
}

// Mirrors x at low and high until it lies between them.
float reflected(float x, float low, float high) {
  const float range = high - low;
  if (x >= low && x <= high) return x;
  if (range <= 0) return low;
  const float beyond = x < low ? low - x : x - high;
  const float turns = std::floor(beyond / range), rest = beyond - turns * range;
  const bool from_low = (std::fmod(turns, 2.0f) == 0) == (x < low);
  return from_low ? low + rest : high - rest;
}

struct GridSample {
  TensorType from, to;
  Mode mode = Mode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  int axes = 0;             // of the image
  std::vector<float> grid;  // where it is read

  /// All but the grid.
  static core::Result<GridSample> parse(const Call& call) {
    GridSample op;
    op.from = call.in(0).type();
    COMMENSAL_ASSIGN(op.mode, named(call, "mode", "bilinear", kModes));
    COMMENSAL_ASSIGN(op.padding, named(call, "padding_mode", "zeros", kPaddings));
    COMMENSAL_ASSIGN(op.align_corners, call.attributes->integer("align_corners", 0));
    COMMENSAL_TRY(shape_inference::check_dtype<Everything>(call, 0));
    if (op.mode != Mode::kNearest) COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 1));
    const Shape &x = op.from.shape, &at = call.in(1).shape();
    op.axes = x.rank() - 2;
    bool fits =
        op.axes >= 1 && at.rank() == x.rank() && at[0] == x[0] && at[at.rank() - 1] == op.axes;
    for (int d = 2; d < x.rank() && fits; ++d) fits = x[d] > 0 && x[d] < std::int64_t{1} << 24;
    if (!fits) {
      return fail(ErrorCode::kInvalidArgument, "a grid {} does not fit input {}", at.text(),
                  x.text());
    }
    std::vector<std::int64_t> dims = {x[0], x[1]};
    dims.insert(dims.end(), at.dims().begin() + 1, at.dims().end() - 1);
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    op.to = {op.from.dtype, shape};
    return op;
  }
  static core::Result<GridSample> make(const Call& call) {
    COMMENSAL_ASSIGN(GridSample op, parse(call));
    if (!call.unknown.has(1)) read(call, 0, call.in(1).elements(), op.grid);
    return op;
  }
  // Entries [first, first + count) of the grid.
  static void read(const Call& call, std::int64_t first, std::int64_t count,
                   std::vector<float>& to) {
    to.reserve(static_cast<std::size_t>(count));
    visit(Floats{}, call.in(1).dtype(), [&]<class T>() {
      constexpr std::size_t kPiece = 1 << 13;
      const auto all = call.in(1).data<T>().subspan(static_cast<std::size_t>(first),
                                                    static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < all.size(); i += kPiece) {
        const auto part = all.subspan(i, std::min(kPiece, all.size() - i));
        call.pulse(part.size());
        if constexpr (std::is_same_v<T, float>) {
          to.insert(to.end(), part.begin(), part.end());
        } else {
          for (const T value : part) to.push_back(static_cast<float>(load(value)));
        }
      }
    });
  }

  // Where the grid's entry for an output begins.
  std::int64_t entry(std::int64_t index) const {
    const std::int64_t spatial = to.shape.elements(2, to.shape.rank());
    const std::int64_t n = index / spatial / to.shape[1];
    return (n * spatial + index % spatial) * axes;
  }
  float low() const { return align_corners ? 0.0f : -0.5f; }
  float high(std::int64_t dim) const {
    return static_cast<float>(dim) - (align_corners ? 1.0f : 0.5f);
  }
  float place(float g, std::int64_t dim) const {
    const auto length = static_cast<float>(dim);
    float x = align_corners ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
    x = x != x ? -kFar : std::clamp(x, -kFar, kFar);
    if (mode == Mode::kNearest) x = std::nearbyint(x);
    if (x >= low() && x <= high(dim)) return x;
    if (padding == Padding::kBorder) return std::clamp(x, 0.0f, length - 1);
    if (padding == Padding::kReflection) return reflected(x, low(), high(dim));
    return x;
  }
  // Of weight 0, as what weighs nothing has it: outside of the zeros' image.
  Tap tap(std::int64_t at, float weight, std::int64_t dim) const {
    const bool inside = at >= 0 && at < dim;
    if (inside) return {at, weight};
    if (padding == Padding::kZeros) return {0, 0};
    if (padding == Padding::kReflection) {
      at = static_cast<std::int64_t>(reflected(static_cast<float>(at), low(), high(dim)));
    }
    return {std::clamp<std::int64_t>(at, 0, dim - 1), weight};
  }
  // Of a place along one axis.
  int taps_along() const { return mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : 4; }
  std::array<Tap, 2> two_along(float g, std::int64_t dim) const {
    const float x = place(g, dim), floor = floored(x), t = x - floor + 0.0f;
    const auto at = static_cast<std::int64_t>(floor);
    return {tap(at, 1 - t, dim), tap(at + 1, t, dim)};
  }
  std::array<Tap, 4> along(float g, std::int64_t dim) const {
    const float x = place(g, dim), floor = floored(x), t = x - floor + 0.0f;
    const auto at = static_cast<std::int64_t>(floor);
    if (mode == Mode::kNearest) return {tap(at, 1, dim)};
    if (mode == Mode::kLinear) {
      const auto [low, high] = two_along(g, dim);
      return {low, high};
    }
    const auto w = cubic_weights(t, kCubicA);
    return {tap(at - 1, w[0], dim), tap(at, w[1], dim), tap(at + 1, w[2], dim),
            tap(at + 2, w[3], dim)};
  }

  TensorType type() const { return to; }
  bool copies() const { return mode == Mode::kNearest; }
  float outside() const { return 0; }
  float divisor(std::int64_t) const { return 1; }
  void taps(std::int64_t index, Taps& out) const {
    const auto first = static_cast<std::size_t>(entry(index));
    std::vector<Taps> found;
    for (int d = 0; d < axes; ++d) {
      const float g = grid[first + static_cast<std::size_t>(axes - 1 - d)];
      const auto all = along(g, from.shape[2 + d]);
      found.emplace_back(all.begin(), all.begin() + taps_along());
    }
    cross(found, from.shape, index / to.shape.elements(2, to.shape.rank()), out);
  }
  void extra_reads(const Call&, std::int64_t index, std::vector<ElementRef>& out) const {
    for (int d = 0; d < axes; ++d) out.push_back({1, entry(index) + d});
  }
};

class GridSampling final : public Sampling {
 public:
  explicit GridSampling(GridSample op) : op_(std::move(op)) {}

  TensorType from() const override { return op_.from; }
  std::int64_t groups() const override { return op_.from.shape[0]; }
  std::int64_t image(std::int64_t group) const override { return group; }
  bool copies() const override { return op_.copies(); }
  std::int64_t taps(std::int64_t) const override {
    std::int64_t count = 1;
    for (int d = 0; d < op_.axes; ++d) count *= op_.taps_along();
    return count;
  }
  void fill(const Call& call, std::int64_t group, std::int64_t first, std::int64_t count,
            const TapTable& table) const override {
    const std::int64_t places = op_.to.shape.elements(2, op_.to.shape.rank());
    const std::int64_t at = (group * places + first) * op_.axes;
    if (call.in(1).dtype() == DType::kFloat32) {
      return fill_from(call.in(1).data<float>().data() + at, group, count, table);
    }
    Call own = call;  // which any thread may pace
    own.pulse = Pulse();
    std::vector<float> grid;
    GridSample::read(own, at, count * op_.axes, grid);
    fill_from(grid.data(), group, count, table);
  }

 private:
  void fill_from(const float* g, std::int64_t group, std::int64_t count,
                 const TapTable& table) const {
    if (op_.axes == 2 && op_.mode == Mode::kLinear) return fill_pairs(g, count, table);
    Taps made(static_cast<std::size_t>(taps(group)));
    for (std::int64_t p = 0; p < count; ++p, g += op_.axes) {
      made[0] = {0, 1};
      std::int64_t before = 1;
      for (int d = 0; d < op_.axes; ++d) before = join(g, d, before, made.data());
      for (std::int64_t k = 0; k < before; ++k) {
        table.set(k, p, made[static_cast<std::size_t>(k)].index,
                  made[static_cast<std::size_t>(k)].weight);
      }
    }
  }
  // Two axes of two taps: most calls.
  void fill_pairs(const float* g, std::int64_t count, const TapTable& table) const {
    const std::int64_t height = op_.from.shape[2], width = op_.from.shape[3], step = table.step;
    std::int32_t* index = table.index.data();
    float* weights = table.weights.data();
    for (std::int64_t p = 0; p < count; ++p, g += 2, ++index, ++weights) {
      const auto rows = op_.two_along(g[1], height), columns = op_.two_along(g[0], width);
      for (std::size_t k = 0; k < 4; ++k) {
        const Tap &row = rows[k / 2], &column = columns[k % 2];
        const auto at = static_cast<std::int64_t>(k) * step;
        index[at] = static_cast<std::int32_t>(row.index * width + column.index);
        weights[at] = row.weight * column.weight;
      }
    }
  }
  // As `cross` does, in place, from the last on: how many there are then.
  std::int64_t join(const float* g, int d, std::int64_t before, Tap* made) const {
    const std::int64_t dim = op_.from.shape[2 + d], each = op_.taps_along();
    const auto found = op_.along(g[op_.axes - 1 - d], dim);
    for (std::int64_t i = before; i-- > 0;) {
      const Tap one = made[i];
      for (std::int64_t k = 0; k < each; ++k) {
        const Tap& own = found[static_cast<std::size_t>(k)];
        made[i * each + k] = {one.index * dim + own.index, one.weight * own.weight};
      }
    }
    return before * each;
  }
  GridSample op_;
};

struct GridSamplePlan : WeightedPlan<GridSample> {
  static constexpr bool kHoldsElements = true;  // the grid

  static core::Result<GridSamplePlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, GridSample::make(call));
    return GridSamplePlan{{std::move(op)}};
  }
};

}  // namespace

core::Result<std::unique_ptr<const Sampling>> grid_sampling(const Call& call) {
  COMMENSAL_ASSIGN(GridSample op, GridSample::parse(call));
  return std::make_unique<const GridSampling>(std::move(op));
}

constinit const Judge kGridSample = judge_of<GridSamplePlan>();

}  // namespace commensal::kernels::ref
