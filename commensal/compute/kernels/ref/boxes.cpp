// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression and RoiAlign.
#include <commensal/compute/kernels/ref/sampling.hpp>
#include <numeric>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

struct Box {
  float top = 0, left = 0, bottom = 0, right = 0, area = 0;
};

float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0)) return 0;
  const float both = height * width;
  return both / (a.area + b.area - both);
}

// Boxes side by side, to be compared with another several at a time.
class Taken {
 public:
  std::int64_t size() const { return std::ssize(area_); }
  void add(const Box& box) {
    top_.push_back(box.top);
    left_.push_back(box.left);
    bottom_.push_back(box.bottom);
    right_.push_back(box.right);
    area_.push_back(box.area);
  }
  /// Whether the overlap of any with `box` is above `most`.
  bool any_overlaps(const Call& call, const Box& box, float most) const {
    std::size_t i = 0;
    for (; i + kAtOnce <= area_.size(); i += kAtOnce) {
      call.pulse(kAtOnce);
      if (some_overlap(i, box, most)) return true;
    }
    for (; i < area_.size(); ++i) {
      call.pulse();
      if (overlap(box, {top_[i], left_[i], bottom_[i], right_[i], area_[i]}) > most) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kAtOnce = 16;
  // overlap() without a branch, of which compilers make vectors.
  bool some_overlap(std::size_t from, const Box& box, float most) const {
    const float *const top = top_.data() + from, *const left = left_.data() + from;
    const float *const bottom = bottom_.data() + from, *const right = right_.data() + from;
    const float* const area = area_.data() + from;
    const std::int32_t apart = 0.0f > most ? 1 : 0;
    std::int32_t any = 0;
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      const float height = std::min(box.bottom, bottom[k]) - std::max(box.top, top[k]);
      const float width = std::min(box.right, right[k]) - std::max(box.left, left[k]);
      const float both = height * width;
      const float ratio = both / (box.area + area[k] - both);
      const std::int32_t meets = std::int32_t{height > 0} & std::int32_t{width > 0};
      any |= (meets & std::int32_t{ratio > most}) | (~meets & apart);
    }
    return any != 0;
  }

  std::vector<float> top_, left_, bottom_, right_, area_;
};

// Output [found, 3]: batch, class, box; of each class the best boxes that do not overlap better
// ones of the same class by more than the threshold. A score of NaN is never selected.
struct NmsPlan {
  std::vector<std::int64_t> selected;
  TensorType to;
  std::int64_t most = 0;
  float overlap_max = 0, score_min = 0;
  bool has_score_min = false, centered = false;

  static core::Result<NmsPlan> make(const Call& call) {
    NmsPlan plan;
    COMMENSAL_TRY(shape_inference::check_dtype<Types<float>>(call, 0));
    COMMENSAL_TRY(shape_inference::check_dtype<Types<float>>(call, 1));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 3));
    COMMENSAL_TRY(shape_inference::check_rank(call, 1, 3));
    const Shape &boxes = call.in(0).shape(), &scores = call.in(1).shape();
    if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2]) {
      return fail(ErrorCode::kInvalidArgument, "boxes {} and scores {} do not fit", boxes.text(),
                  scores.text());
    }
    COMMENSAL_ASSIGN(plan.centered, call.attributes->integer("center_point_box", 0));
    if (call.has(2)) {
      COMMENSAL_ASSIGN(const auto most, shape_inference::integer_list(call, 2));
      if (most.size() == 1) plan.most = most[0];
    }
    for (const int input : {3, 4}) {
      if (!call.has(input)) continue;
      COMMENSAL_TRY(shape_inference::check_dtype<Types<float>>(call, input));
      if (call.in(input).elements() != 1) {
        return fail(ErrorCode::kInvalidArgument, "input {} must be one number", input);
      }
      (input == 3 ? plan.overlap_max : plan.score_min) = paced<float>(call, input)[0];
      plan.has_score_min = plan.has_score_min || input == 4;
    }
    for (std::int64_t n = 0; scores.elements() > 0 && n < scores[0]; ++n) {
      for (std::int64_t c = 0; c < scores[1]; ++c) plan.select(call, n, c);
    }
    const std::int64_t dims[] = {static_cast<std::int64_t>(plan.selected.size()) / 3, 3};
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    plan.to = {DType::kInt64, shape};
    return plan;
  }
  Box box(const Call& call, std::int64_t place) const {
    const float* at = paced<float>(call, 0).data() + place * 4;
    Box made{std::min(at[0], at[2]), std::min(at[1], at[3]), std::max(at[0], at[2]),
             std::max(at[1], at[3])};
    if (centered) {  // x, y, width, height
      const float x = at[0], y = at[1], half_width = at[2] / 2, half_height = at[3] / 2;
      made = {y - half_height, x - half_width, y + half_height, x + half_width};
    }
    made.area = (made.bottom - made.top) * (made.right - made.left);
    return made;
  }
  void select(const Call& call, std::int64_t n, std::int64_t c) {
    const Shape& scores = call.in(1).shape();
    const std::int64_t count = scores[2];
    const auto first = static_cast<std::size_t>((n * scores[1] + c) * count);
    const auto score = [&, all = paced<float>(call, 1)](std::int64_t i) {
      return all[first + static_cast<std::size_t>(i)];
    };
    struct Scored {
      float score;
      std::int64_t box;
    };
    std::vector<Scored> order;
    for (std::int64_t i = 0; i < count; ++i) {
      const float one = score(i);
      if (has_score_min ? one > score_min : one == one) order.push_back({one, i});
    }
    const auto before = [&call](const Scored& a, const Scored& b) {
      call.pulse();
      return a.score != b.score ? a.score > b.score : a.box < b.box;
    };
    Taken taken;
    auto sorted = order.begin();  // as far as is needed: often the first few fill what may be taken
    for (auto at = order.begin(); at != order.end() && taken.size() < most; ++at) {
      if (at == sorted) {
        constexpr std::ptrdiff_t kFirst = 512;
        sorted += std::min(order.end() - at, std::max(kFirst, at - order.begin()));
        if (sorted != order.end()) std::nth_element(at, sorted, order.end(), before);
        std::sort(at, sorted, before);
      }
      const Scored& one = *at;
      const Box candidate = box(call, n * count + one.box);
      if (taken.any_overlaps(call, candidate, overlap_max)) continue;
      taken.add(candidate);
      selected.insert(selected.end(), {n, c, one.box});
    }
  }
  std::vector<TensorType> types() const { return {to}; }
  Scalar element(const Call&, int, std::int64_t index) const {
    return scalar_of(selected[static_cast<std::size_t>(index)]);
  }
  void run(const Call&, std::span<Tensor> outputs) const {
    std::ranges::copy(selected, outputs[0].mutable_data<std::int64_t>().begin());
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) read_whole(call, i, out);
  }
};

// The mean over a grid of samples in each bin of a region, bilinear, as in He et al., "Mask
// R-CNN", 2017.
struct RoiAlign {
  static constexpr float kSamplesMax = 1024;  // along one axis of a bin
  static constexpr float kPlaceMax = 1 << 24;
  struct Region {
    std::int64_t image = 0;
    float start[2] = {}, bin[2] = {};
    std::int64_t samples[2] = {};
  };
  TensorType from, to;
  bool maximum = false;  // of the weighted neighbours, instead of the mean of the samples
  std::vector<Region> regions;

  static core::Result<RoiAlign> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 2));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 4));
    RoiAlign op;
    op.from = call.in(0).type();
    const Shape &x = op.from.shape, &rois = call.in(1).shape();
    COMMENSAL_ASSIGN(const std::string mode, call.attributes->text("mode", "avg"));
    if (mode != "avg" && mode != "max") {
      return fail(ErrorCode::kInvalidArgument, "attribute 'mode' is '{}', not avg or max", mode);
    }
    op.maximum = mode == "max";
    COMMENSAL_ASSIGN(const std::int64_t height, call.attributes->integer("output_height", 1));
    COMMENSAL_ASSIGN(const std::int64_t width, call.attributes->integer("output_width", 1));
    const bool fits = rois.rank() == 2 && rois[1] == 4 && call.in(2).shape() == Shape{rois[0]} &&
                      std::min({x[2], x[3], height, width}) > 0 &&
                      std::max({x[2], x[3], height, width}) < std::int64_t{1} << 24;
    if (!fits) {
      return fail(ErrorCode::kInvalidArgument, "regions {} and images {} do not fit input {}",
                  rois.text(), call.in(2).shape().text(), x.text());
    }
    const std::int64_t dims[] = {rois[0], x[1], height, width};
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    op.to = {op.from.dtype, shape};
    COMMENSAL_ASSIGN(const std::string transform,
                     call.attributes->text("coordinate_transformation_mode", "half_pixel"));
    Bins bins;
    COMMENSAL_ASSIGN(bins.sampling, call.attributes->integer("sampling_ratio", 0));
    COMMENSAL_ASSIGN(bins.scale, call.attributes->real("spatial_scale", 1));
    bins.half_pixel = call.opset >= 16 && transform == "half_pixel";
    op.regions.reserve(static_cast<std::size_t>(rois[0]));
    for (std::int64_t r = 0; r < rois[0]; ++r) COMMENSAL_TRY(op.add_region(call, bins, r));
    return op;
  }
  // How regions are cut, as the attributes say.
  struct Bins {
    bool half_pixel = false;
    std::int64_t sampling = 0;
    float scale = 1;
  };
  core::Result<void> add_region(const Call& call, const Bins& bins, std::int64_t r) {
    const bool half_pixel = bins.half_pixel;
    const std::int64_t sampling = bins.sampling;
    const float scale = bins.scale;
    Region made;
    made.image = paced<std::int64_t>(call, 2)[static_cast<std::size_t>(r)];
    bool sane = made.image >= 0 && made.image < from.shape[0];
    for (const int d : {0, 1}) {  // a region is x, y, x, y
      const auto corner = [&](int i) {
        return visit(Floats{}, call.in(1).dtype(), [&]<class T>() {
          const auto roi = paced<T>(call, 1);
          return static_cast<float>(load(roi[static_cast<std::size_t>(r * 4 + i)]));
        });
      };
      const float offset = half_pixel ? 0.5f : 0.0f;
      made.start[d] = corner(1 - d) * scale - offset;
      float size = corner(3 - d) * scale - offset - made.start[d];
      if (!half_pixel) size = size < 1 ? 1 : size;
      made.bin[d] = size / static_cast<float>(to.shape[2 + d]);
      const float samples = sampling > 0 ? static_cast<float>(sampling) : std::ceil(made.bin[d]);
      sane = sane && samples <= kSamplesMax && std::abs(made.start[d]) < kPlaceMax &&
             std::abs(size) < kPlaceMax;
      made.samples[d] = sane ? std::max<std::int64_t>(static_cast<std::int64_t>(samples), 0) : 0;
    }
    if (!sane) {
      return fail(ErrorCode::kInvalidArgument, "region {} does not fit {} images", r,
                  from.shape[0]);
    }
    regions.push_back(made);
    return {};
  }

  const Region& region(std::int64_t index) const {
    return regions[static_cast<std::size_t>(index / to.shape.elements(1, 4))];
  }
  // The two neighbours of a sample along an axis; none beyond one place outside of the image, whose
  // weights are 0.
  struct Two {
    bool is_outside = true;
    std::array<Tap, 2> taps = {Tap{0, 0}, Tap{0, 0}};
  };
  Two along(const Region& r, int d, std::int64_t bin, std::int64_t sample) const {
    const std::int64_t dim = from.shape[2 + d];
    const float step = (static_cast<float>(sample) + 0.5f) * r.bin[d];
    const float inside = step / static_cast<float>(r.samples[d]);
    float x = r.start[d] + static_cast<float>(bin) * r.bin[d] + inside;
    if (!(x >= -1 && x <= static_cast<float>(dim))) return {};
    x = std::clamp(x, 0.0f, static_cast<float>(dim - 1));
    const float low = std::floor(x), t = x - low;
    const auto at = static_cast<std::int64_t>(low);
    return {false, {Tap{at, 1 - t}, Tap{std::min(at + 1, dim - 1), t}}};
  }

  TensorType type() const { return to; }
  bool copies() const { return false; }
  float outside() const { return 0; }
  bool takes_maximum() const { return maximum; }
  float divisor(std::int64_t index) const {
    const Region& r = region(index);
    return static_cast<float>(std::max<std::int64_t>(r.samples[0] * r.samples[1], 1));
  }
  void taps(std::int64_t index, Taps& out) const {
    const shape_inference::Dims at = shape_inference::split(to.shape, index);
    const Region& r = region(index);
    const std::int64_t plane = r.image * from.shape[1] + at[1];
    // To grow step by step takes longer than all else where a first touch of a page is dear.
    out.reserve(out.size() + static_cast<std::size_t>(r.samples[0] * r.samples[1]));
    std::vector<Two> columns;
    for (std::int64_t x = 0; x < r.samples[1]; ++x) columns.push_back(along(r, 1, at[3], x));
    for (std::int64_t y = 0; y < r.samples[0]; ++y) {
      const Two rows = along(r, 0, at[2], y);
      for (const Two& column : columns) {
        if (rows.is_outside || column.is_outside) {
          out.push_back({0, 0});
          continue;
        }
        for (const Tap& row : rows.taps) {
          const std::int64_t first = (plane * from.shape[2] + row.index) * from.shape[3];
          for (const Tap& one : column.taps) {
            out.push_back({first + one.index, row.weight * one.weight});
          }
        }
      }
    }
  }
  void extra_reads(const Call& call, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 1, out);
    read_whole(call, 2, out);
  }
};

class RoiSampling final : public Sampling {
 public:
  using Plan = WeightedPlan<RoiAlign>;
  explicit RoiSampling(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  TensorType from() const override { return op_.from; }
  std::int64_t groups() const override { return op_.to.shape[0]; }
  std::int64_t image(std::int64_t group) const override { return region(group).image; }
  std::int64_t taps(std::int64_t group) const override {
    return region(group).samples[0] * region(group).samples[1] * 4;
  }
  float divisor(std::int64_t group) const override {
    return op_.divisor(group * op_.to.shape.elements(1, 4));
  }
  bool takes_maximum() const override { return op_.takes_maximum(); }
  void fill(const Call&, std::int64_t group, std::int64_t first, std::int64_t count,
            const TapTable& table) const override {
    const auto& r = region(group);
    const std::int64_t width = op_.to.shape[3], across = op_.from.shape[3];
    // Of the bins that these places are in, each once.
    const std::int64_t bins = std::min(count, width);
    std::vector<std::array<Tap, 2>> columns(static_cast<std::size_t>(r.samples[1] * bins));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      columns[i] = op_.along(r, 1, (first + at / r.samples[1]) % width, at % r.samples[1]).taps;
    }
    for (std::int64_t y = 0; y < r.samples[0]; ++y) {
      std::array<Tap, 2> rows;
      for (std::int64_t p = 0, bin = -1; p < count; ++p) {
        const std::int64_t at = first + p, tap = y * r.samples[1] * 4;
        if (bin != at / width) rows = op_.along(r, 0, bin = at / width, y).taps;
        const auto* column = columns.data() + p % bins * r.samples[1];
        for (std::int64_t x = 0; x < r.samples[1]; ++x, ++column) {
          for (std::int64_t k = 0; k < 4; ++k) {
            const Tap &row = rows[static_cast<std::size_t>(k / 2)],
                      &one = (*column)[static_cast<std::size_t>(k % 2)];
            table.set(tap + x * 4 + k, p, row.index * across + one.index, row.weight * one.weight);
          }
        }
      }
    }
  }

 private:
  const RoiAlign::Region& region(std::int64_t group) const {
    return op_.regions[static_cast<std::size_t>(group)];
  }
  std::shared_ptr<const Plan> plan_;
  const RoiAlign& op_ = plan_->op;
};

}  // namespace

core::Result<std::unique_ptr<const Sampling>> roi_sampling(const Call& call) {
  COMMENSAL_ASSIGN(auto plan, kept_plan<RoiSampling::Plan>(call));
  return std::make_unique<const RoiSampling>(std::move(plan));
}

constinit const Judge kNonMaxSuppression = judge_of<NmsPlan>();
constinit const Judge kRoiAlign = judge_of<WeightedPlan<RoiAlign>>();

}  // namespace commensal::kernels::ref
