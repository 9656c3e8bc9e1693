// SPDX-License-Identifier: Apache-2.0
// AffineGrid: the places of a regular grid in [-1, 1], turned by a matrix. A place along an axis of
// n is start + i * step, the product rounded first: with align_corners start = -1 and
// step = 2 / (n - 1) (0 if n is 1), else step = 2 / n and start = -1 + step / 2. Output d is one
// chain fma(theta[d][k], place k, acc) from +0, the last axis first, and theta's last column times
// 1.
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold_rows.hpp>
#include <commensal/compute/kernels/ref/sampling.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

struct AffineGrid {
  using In = Floats;
  DType dtype = DType::kUndefined;
  Shape to;  // [N, (D,) H, W, axes]
  int axes = 2;
  bool align_corners = false;

  static core::Result<AffineGrid> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    AffineGrid op;
    op.dtype = call.in(0).dtype();
    COMMENSAL_ASSIGN(op.align_corners, call.attributes->integer("align_corners", 0));
    COMMENSAL_ASSIGN(const auto size, shape_inference::integer_list(call, 1));
    op.axes = static_cast<int>(size.size()) - 2;
    const Shape& theta = call.in(0).shape();
    if ((op.axes != 2 && op.axes != 3) || theta.rank() != 3 || theta[0] != size[0] ||
        theta[1] != op.axes || theta[2] != op.axes + 1) {
      return fail(ErrorCode::kInvalidArgument,
                  "theta {} and a size of {} entries, expected [N,2,3] and 4 or [N,3,4] and 5",
                  theta.text(), size.size());
    }
    std::vector<std::int64_t> dims = {size[0]};
    dims.insert(dims.end(), size.begin() + 2, size.end());
    dims.push_back(op.axes);
    COMMENSAL_ASSIGN(op.to, Shape::of(dims));
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }

  std::int64_t entry(std::int64_t index, std::int64_t k) const {
    const std::int64_t n = index / to.elements(1, to.rank());
    return (n * axes + index % axes) * (axes + 1) + k;
  }
  template <class T>
  Compute<T> chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    using C = Compute<T>;
    std::int64_t rest = index / axes;
    C acc{0};
    for (int k = 0; k < std::min<std::int64_t>(steps, axes + 1); ++k) {
      const int axis = axes - k;  // of `to`; 0 is the batch
      const C at = k < axes ? grid_place<C>(rest % to[axis], to[axis], align_corners) : C{1};
      if (k < axes) rest /= to[axis];
      acc = std::fma(load(paced<T>(call, 0)[static_cast<std::size_t>(entry(index, k))]), at, acc);
    }
    return acc;
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(chain<T>(call, index, kAllSteps) + Compute<T>{0}));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (int k = 0; k <= axes; ++k) out.push_back({0, entry(index, k)});
    read_whole(call, 1, out);
  }
  std::int64_t steps(int, std::int64_t) const { return axes + 1; }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<Compute<T>>(chain<T>(call, index, steps)));
  }
};

// MaxRoiPool: corners are corner * spatial_scale, halves rounded away from zero; the region ends
// with its second corner and is at least 1 long. Bin b of n reaches from floor(b * (length / n)) to
// before ceil((b + 1) * (length / n)), cut at the image; the maximum of nothing is +0.
struct MaxRoiPool {
  using In = Floats;
  DType dtype = DType::kUndefined;
  Shape from, to;
  struct Region {
    std::int64_t n = 0;
    float start[2] = {0, 0}, length[2] = {1, 1};
  };
  std::vector<Region> regions;

  static core::Result<MaxRoiPool> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 4));
    MaxRoiPool op;
    op.dtype = call.in(0).dtype();
    op.from = call.in(0).shape();
    const Shape& rois = call.in(1).shape();
    COMMENSAL_ASSIGN(const auto pooled, call.attributes->integers("pooled_shape"));
    COMMENSAL_ASSIGN(const float scale, call.attributes->real("spatial_scale", 1));
    if (rois.rank() != 2 || rois[1] != 5 || pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) {
      return fail(ErrorCode::kInvalidArgument,
                  "regions must be [R,5], not {}, and attribute 'pooled_shape' two numbers",
                  rois.text());
    }
    COMMENSAL_ASSIGN(op.to, Shape::of(std::array{rois[0], op.from[1], pooled[0], pooled[1]}));
    op.regions.reserve(static_cast<std::size_t>(rois[0]));
    COMMENSAL_TRY(visit(In{}, op.dtype, [&]<class T>() -> core::Result<void> {
      const auto given = paced<T>(call, 1);
      for (std::size_t r = 0; r < given.size(); r += 5) {
        float roi[5];
        for (std::size_t i = 0; i < 5; ++i) roi[i] = static_cast<float>(load(given[r + i]));
        COMMENSAL_ASSIGN(const Region one, region(op.from[0], roi, scale));
        op.regions.push_back(one);
      }
      return {};
    }));
    return op;
  }
  // [batch entry, x1, y1, x2, y2]
  static core::Result<Region> region(std::int64_t batch, const float* roi, float scale) {
    constexpr float kFar = 1 << 22;  // all sums below stay exact
    Region made;
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(batch))) {
      return fail(ErrorCode::kInvalidArgument, "a region of image {} of {}", roi[0], batch);
    }
    made.n = static_cast<std::int64_t>(roi[0]);
    for (int d = 0; d < 2; ++d) {
      const float low = std::round(roi[2 - d] * scale), high = std::round(roi[4 - d] * scale);
      if (!(std::abs(low) < kFar && std::abs(high) < kFar)) {
        return fail(ErrorCode::kInvalidArgument, "a region from {} to {}", low, high);
      }
      made.start[d] = low;
      made.length[d] = std::max(high - low + 1, 1.0f);
    }
    return made;
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }

  // What a bin holds along an axis.
  struct Part {
    std::int64_t first = 0, last = 0;
  };
  Part part(const Region& region, int d, std::int64_t bin) const {
    const float size = region.length[d] / static_cast<float>(to[2 + d]);
    const float low = std::floor(static_cast<float>(bin) * size) + region.start[d];
    const float high = std::ceil(static_cast<float>(bin + 1) * size) + region.start[d];
    return {std::clamp<std::int64_t>(static_cast<std::int64_t>(low), 0, from[2 + d]),
            std::clamp<std::int64_t>(static_cast<std::int64_t>(high), 0, from[2 + d])};
  }
  // Calls f(input index) for the elements of a bin, row-major.
  template <class F>
  void for_elements(std::int64_t index, F&& f) const {
    const std::int64_t channel = index / to[3] / to[2] % to[1];
    const Region& region = regions[static_cast<std::size_t>(index / to[3] / to[2] / to[1])];
    const Part rows = part(region, 0, index / to[3] % to[2]);
    const Part columns = part(region, 1, index % to[3]);
    const std::int64_t plane = (region.n * from[1] + channel) * from[2];
    for (std::int64_t y = rows.first; y < rows.last; ++y) {
      for (std::int64_t x = columns.first; x < columns.last; ++x) f((plane + y) * from[3] + x);
    }
  }
  template <class T>
  Compute<T> fold(const Call& call, std::int64_t index, std::int64_t steps) const {
    Extreme<Compute<T>, true> best(steps);
    for_elements(index, [&](std::int64_t at) {
      best.add(at, load(paced<T>(call, 0)[static_cast<std::size_t>(at)]));
    });
    return best.position() < 0 ? Compute<T>{0} : best.value();
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(fold<T>(call, index, kAllSteps)));
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for_elements(index, [&](std::int64_t at) { out.push_back({0, at}); });
    const std::int64_t roi = index / to[3] / to[2] / to[1];
    for (std::int64_t i = 0; i < 5; ++i) out.push_back({1, roi * 5 + i});
  }
  std::int64_t steps(int, std::int64_t index) const {
    std::int64_t count = 0;
    for_elements(index, [&](auto) { ++count; });
    return count;
  }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<Compute<T>>(fold<T>(call, index, steps)));
  }
};

// The best of each column of a bin's rows first, then that of each bin's columns: extremes may be
// taken in any order, by whole numbers that stand for the elements.
struct MaxRoiPoolPlan : EachPlan<MaxRoiPool> {
  static constexpr bool kPlainRows = false;
  using Part = MaxRoiPool::Part;

  static core::Result<MaxRoiPoolPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, MaxRoiPool::make(call));
    return MaxRoiPoolPlan{{std::move(op)}};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (op.to.elements() == 0) return;
    // What is listed beside the arena: keys of the whole input, parts of a region.
    constexpr std::int64_t kKeysMax = 1 << 26, kPartsMax = 1 << 20;
    if (call.in(0).elements() > kKeysMax || op.to[2] + op.to[3] > kPartsMax) {
      return run_judged(*this, call, outputs);
    }
    visit(MaxRoiPool::In{}, op.dtype, [&]<class T>() {
      using K = ExtremeKey<Compute<T>, true>;
      const auto x = call.in(0).data<T>();
      std::vector<typename K::Key> keys(x.size());
      in_pieces(call, threads, static_cast<std::int64_t>(x.size()), 1 << 13,
                [&](const Call&, std::int64_t begin, std::int64_t end) {
                  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                       ++i) {
                    keys[i] = K::of(load(x[i]));
                  }
                });
      T* const y = outputs[0].mutable_data<T>().data();
      threads.run(op.to[0], [&](std::int64_t r) {
        Pulse pulse(&threads);
        pool<T>(pulse, op.regions[static_cast<std::size_t>(r)], keys.data(),
                y + r * op.to.elements(1, 4));
      });
    });
  }

 private:
  template <class T, class Key>
  void pool(Pulse& pulse, const MaxRoiPool::Region& region, const Key* keys, T* y) const {
    using K = ExtremeKey<Compute<T>, true>;
    std::vector<Part> rows, columns;
    rows.reserve(static_cast<std::size_t>(op.to[2]));
    columns.reserve(static_cast<std::size_t>(op.to[3]));
    for (std::int64_t b = 0; b < op.to[2]; ++b) rows.push_back(op.part(region, 0, b));
    for (std::int64_t b = 0; b < op.to[3]; ++b) columns.push_back(op.part(region, 1, b));
    // Bins ascend.
    const std::int64_t left = columns.front().first;
    const std::int64_t width = std::max<std::int64_t>(columns.back().last - left, 0);
    std::vector<Key> best(static_cast<std::size_t>(width));
    for (std::int64_t c = 0; c < op.to[1]; ++c) {
      const Key* const plane = keys + (region.n * op.from[1] + c) * op.from[2] * op.from[3] + left;
      for (const Part& part : rows) {
        if (part.first >= part.last) {
          for (std::size_t i = 0; i < columns.size(); ++i) *y++ = store<T>(Compute<T>{0});
          pulse(columns.size());
          continue;
        }
        std::ranges::fill(best, K::start());
        pulse(width * std::max<std::int64_t>(part.last - part.first, 1));
        for (std::int64_t row = part.first; row < part.last; ++row) {
          keep_best<K>(plane + row * op.from[3], width, best.data());
        }
        for (const Part& column : columns) {
          pulse(column.last - column.first + 1);
          const bool is_empty = column.first >= column.last;
          Key found = K::start();
          for (std::int64_t i = column.first; i < column.last; ++i) {
            found = K::better(found, best[static_cast<std::size_t>(i - left)]);
          }
          *y++ = store<T>(is_empty ? Compute<T>{0} : K::value(found));
        }
      }
    }
  }
  template <class K, class Key>
  static void keep_best(const Key* __restrict from, std::int64_t count, Key* __restrict best) {
    constexpr int kAtOnce = 8;
    std::int64_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce) {
      for (int k = 0; k < kAtOnce; ++k) best[i + k] = K::better(best[i + k], from[i + k]);
    }
    for (; i < count; ++i) best[i] = K::better(best[i], from[i]);
  }
};

}  // namespace

constinit const Judge kAffineGrid = each<AffineGrid>();
constinit const Judge kMaxRoiPool = judge_of<MaxRoiPoolPlan>();

}  // namespace commensal::kernels::ref
