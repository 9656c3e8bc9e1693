// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: where each output lies in the input, in binary32, axis by axis.
#include <commensal/compute/kernels/ref/sampling.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

enum class Mode { kNearest, kLinear, kCubic };
enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixel,
  kCrop
};
enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil, kLegacy };

template <class T>
using Named = std::pair<std::string_view, T>;
constexpr Named<Mode> kModes[] = {{"nearest", Mode::kNearest},
                                  {"linear", Mode::kLinear},
                                  {"bilinear", Mode::kLinear},
                                  {"cubic", Mode::kCubic}};
constexpr Named<Coordinates> kCoordinates[] = {
    {"half_pixel", Coordinates::kHalfPixel},
    {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
    {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
    {"align_corners", Coordinates::kAlignCorners},
    {"asymmetric", Coordinates::kAsymmetric},
    {"tf_half_pixel_for_nn", Coordinates::kTfHalfPixel},
    {"tf_crop_and_resize", Coordinates::kCrop}};
constexpr Named<Rounding> kRoundings[] = {{"round_prefer_floor", Rounding::kPreferFloor},
                                          {"round_prefer_ceil", Rounding::kPreferCeil},
                                          {"floor", Rounding::kFloor},
                                          {"ceil", Rounding::kCeil}};

template <class T, std::size_t N>
core::Result<T> named(const Call& call, std::string_view attribute, std::string_view fallback,
                      const Named<T> (&names)[N]) {
  COMMENSAL_ASSIGN(const std::string given, call.attributes->text(attribute, fallback));
  for (const auto& [name, value] : names) {
    if (name == given) return value;
  }
  return fail(ErrorCode::kInvalidArgument, "attribute '{}' is '{}'", attribute, given);
}

core::Result<std::vector<float>> real_list(const Call& call, int input) {
  std::vector<float> made;
  if (!call.has(input)) return made;
  COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, input));
  if (call.in(input).shape().rank() > 1 || call.in(input).elements() > limits::kNodeInputsMax) {
    return fail(ErrorCode::kInvalidArgument, "input {} must be a list of numbers", input);
  }
  visit(Floats{}, call.in(input).dtype(), [&]<class T>() {
    for (const T value : paced<T>(call, input)) made.push_back(static_cast<float>(load(value)));
  });
  return made;
}

struct Axis {
  std::int64_t in = 0, out = 0;
  float scale = 1, length = 0;  // length: of the output before it was rounded down
  float start = 0, end = 1;     // the crop
  bool still = true;            // position i lies at i
};

constexpr float kScaleMax = 1 << 24;
constexpr float kNeighboursMax = 1 << 20;
constexpr float kListedMax = 1 << 22;
constexpr float kLengthMax = static_cast<float>(std::int64_t{1} << 40);

struct Resize {
  TensorType from, to;
  Mode mode = Mode::kNearest;
  Coordinates coordinates = Coordinates::kAsymmetric;
  Rounding rounding = Rounding::kLegacy;
  float cubic_a = -0.75f, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<Axis> axes;
  int inner_axes = 0;  // from the first axis that moves: the axes that are sampled

  static core::Result<Resize> make(const Call& call) {
    Resize op;
    op.from = op.to = call.in(0).type();
    COMMENSAL_TRY(shape_inference::check_dtype<Everything>(call, 0));
    COMMENSAL_ASSIGN(op.mode, named(call, "mode", "nearest", kModes));
    if (op.mode != Mode::kNearest) COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    for (const std::int64_t dim : op.from.shape.dims()) {
      op.axes.push_back({.in = dim, .out = dim, .length = static_cast<float>(dim)});
    }
    COMMENSAL_TRY(call.opset >= 11 ? op.set_modern(call) : op.set_legacy(call));
    std::vector<std::int64_t> dims;
    for (std::size_t d = 0; d < op.axes.size(); ++d) {
      Axis& a = op.axes[d];
      if (a.in == 0 && a.out > 0) {
        return fail(ErrorCode::kInvalidArgument, "an empty axis cannot grow to {}", a.out);
      }
      a.still = a.in == a.out && a.scale == 1 && a.start == 0 && a.end == 1;
      if (!a.still && op.inner_axes == 0) op.inner_axes = static_cast<int>(op.axes.size() - d);
      dims.push_back(a.out);
    }
    COMMENSAL_ASSIGN(op.to.shape, Shape::of(dims));
    COMMENSAL_TRY(op.check_neighbours());
    return op;
  }
  core::Result<void> check_neighbours() const {
    float most = 1;
    for (const Axis& a : axes) most *= a.still || !antialias ? 1 : 2 * reach(a) + 3;
    if (most <= kNeighboursMax) return {};
    return fail(ErrorCode::kInvalidArgument, "antialias over more than {} neighbours",
                kNeighboursMax);
  }
  core::Result<void> set_legacy(const Call& call) {
    if (call.has(1)) {
      COMMENSAL_ASSIGN(const auto scales, real_list(call, 1));
      return set_scales(scales, every_axis());
    }
    COMMENSAL_ASSIGN(const auto scales, call.attributes->reals("scales"));
    return set_scales(scales, every_axis());
  }
  std::vector<std::int64_t> every_axis() const {
    std::vector<std::int64_t> made;
    for (std::size_t d = 0; d < axes.size(); ++d) made.push_back(static_cast<std::int64_t>(d));
    return made;
  }
  core::Result<void> set_modern(const Call& call) {
    COMMENSAL_ASSIGN(coordinates,
                     named(call, "coordinate_transformation_mode", "half_pixel", kCoordinates));
    COMMENSAL_ASSIGN(rounding, named(call, "nearest_mode", "round_prefer_floor", kRoundings));
    COMMENSAL_ASSIGN(cubic_a, call.attributes->real("cubic_coeff_a", -0.75f));
    COMMENSAL_ASSIGN(extrapolation, call.attributes->real("extrapolation_value", 0));
    COMMENSAL_ASSIGN(exclude_outside, call.attributes->integer("exclude_outside", 0));
    COMMENSAL_ASSIGN(antialias, call.attributes->integer("antialias", 0));
    COMMENSAL_ASSIGN(auto where, call.attributes->integers("axes", every_axis()));
    COMMENSAL_TRY(shape_inference::axes_of(where, from.shape.rank()));
    for (auto& axis : where) axis = *tensor::normalise_axis(axis, from.shape.rank());
    if (coordinates == Coordinates::kCrop) COMMENSAL_TRY(set_crop(call, where));
    COMMENSAL_ASSIGN(const auto scales, real_list(call, 2));
    std::vector<std::int64_t> sizes;
    if (call.has(3)) {
      COMMENSAL_ASSIGN(sizes, shape_inference::integer_list(call, 3));
    }
    if (scales.empty() == sizes.empty() && !where.empty()) {
      return fail(ErrorCode::kInvalidArgument, "exactly one of scales and sizes must be given");
    }
    return sizes.empty() ? set_scales(scales, where) : set_sizes(call, sizes, where);
  }
  core::Result<void> set_crop(const Call& call, const std::vector<std::int64_t>& where) {
    COMMENSAL_ASSIGN(const auto roi, real_list(call, 1));
    if (roi.size() != 2 * where.size()) {
      return fail(ErrorCode::kInvalidArgument, "roi has {} numbers for {} axes", roi.size(),
                  where.size());
    }
    for (std::size_t i = 0; i < where.size(); ++i) {
      Axis& a = axes[static_cast<std::size_t>(where[i])];
      a.start = roi[i];
      a.end = roi[i + where.size()];
      if (!(std::abs(a.start) < kScaleMax && std::abs(a.end) < kScaleMax)) {
        return fail(ErrorCode::kInvalidArgument, "roi goes from {} to {}", a.start, a.end);
      }
    }
    return {};
  }
  core::Result<void> set_scales(const std::vector<float>& scales,
                                const std::vector<std::int64_t>& where) {
    if (scales.size() != where.size()) {
      return fail(ErrorCode::kInvalidArgument, "{} scales for {} axes", scales.size(),
                  where.size());
    }
    for (std::size_t i = 0; i < where.size(); ++i) {
      Axis& a = axes[static_cast<std::size_t>(where[i])];
      a.scale = scales[i];
      a.length = static_cast<float>(a.in) * (a.end - a.start) * a.scale;
      if (!(a.scale > 0 && a.scale < kScaleMax && a.length >= 0 && a.length < kLengthMax)) {
        return fail(ErrorCode::kInvalidArgument, "a scale of {} for a dimension of {}", a.scale,
                    a.in);
      }
      a.out = static_cast<std::int64_t>(std::floor(a.length));
    }
    return {};
  }
  core::Result<void> set_sizes(const Call& call, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& where) {
    COMMENSAL_TRY(Shape::of(sizes));
    COMMENSAL_ASSIGN(const std::string policy,
                     call.attributes->text("keep_aspect_ratio_policy", "stretch"));
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
      return fail(ErrorCode::kInvalidArgument, "attribute 'keep_aspect_ratio_policy' is '{}'",
                  policy);
    }
    if (sizes.size() != where.size()) {
      return fail(ErrorCode::kInvalidArgument, "{} sizes for {} axes", sizes.size(), where.size());
    }
    float common = 0;
    for (std::size_t i = 0; i < where.size(); ++i) {
      Axis& a = axes[static_cast<std::size_t>(where[i])];
      a.out = sizes[i];
      a.length = static_cast<float>(a.out);
      a.scale = a.in == 0 ? 1 : a.length / static_cast<float>(a.in);
      const bool takes = policy == "not_larger" ? a.scale < common : a.scale > common;
      if (i == 0 || takes) common = a.scale;
    }
    for (std::size_t i = 0; i < where.size() && policy != "stretch"; ++i) {
      Axis& a = axes[static_cast<std::size_t>(where[i])];
      a.scale = common;
      a.length = std::floor(common * static_cast<float>(a.in) + 0.5f);
      if (!(a.length < kLengthMax)) {
        return fail(ErrorCode::kInvalidArgument, "a scale of {} for a dimension of {}", a.scale,
                    a.in);
      }
      a.out = static_cast<std::int64_t>(a.length);
    }
    return {};
  }

  // Where output `position` lies in the input.
  float place(const Axis& a, std::int64_t position) const {
    const auto x = static_cast<float>(position), in = static_cast<float>(a.in);
    switch (coordinates) {
      case Coordinates::kAsymmetric:
        return x / a.scale;
      case Coordinates::kTfHalfPixel:
        return (x + 0.5f) / a.scale;
      case Coordinates::kPytorchHalfPixel:
        return a.out > 1 ? (x + 0.5f) / a.scale - 0.5f : 0;
      case Coordinates::kAlignCorners:
        return a.out > 1 ? x * (in - 1) / (a.length - 1) : 0;
      case Coordinates::kCrop:
        return a.out > 1 ? a.start * (in - 1) +
                               x * (a.end - a.start) * (in - 1) / (static_cast<float>(a.out) - 1)
                         : 0.5f * (a.start + a.end) * (in - 1);
      case Coordinates::kHalfPixelSymmetric:
        return in / 2 * (1 - static_cast<float>(a.out) / a.length) + (x + 0.5f) / a.scale - 0.5f;
      case Coordinates::kHalfPixel:
        break;
    }
    return (x + 0.5f) / a.scale - 0.5f;
  }
  float rounded(const Axis& a, float x) const {
    switch (rounding) {
      case Rounding::kPreferFloor:
        return std::ceil(x - 0.5f);
      case Rounding::kPreferCeil:
        return std::floor(x + 0.5f);
      case Rounding::kFloor:
        return std::floor(x);
      case Rounding::kCeil:
        return std::ceil(x);
      case Rounding::kLegacy:
        break;
    }
    return a.scale < 1 ? std::ceil(x) : std::floor(x);
  }
  // The taps along one axis; false: beyond the crop.
  bool along(const Axis& a, std::int64_t position, Taps& out) const {
    if (a.still) {
      out.push_back({position, 1});
      return true;
    }
    const auto last = static_cast<float>(a.in - 1);
    const float x = place(a, position), inside = std::clamp(x, 0.0f, last);
    if (coordinates == Coordinates::kCrop && x != inside) return false;
    if (antialias && mode != Mode::kNearest) {
      smooth(a, x, out);
    } else if (mode == Mode::kNearest) {
      const float at = std::clamp(rounded(a, x), 0.0f, last);
      out.push_back({static_cast<std::int64_t>(at), 1});
    } else if (mode == Mode::kLinear) {
      const float low = std::floor(inside), t = inside - low;
      const auto at = static_cast<std::int64_t>(low);
      out.push_back({at, 1 - t});
      if (t != 0) out.push_back({at + 1, t});
    } else {
      cubic(a, x, out);
    }
    return true;
  }
  // How far a neighbour may be: the kernel is as wide as the output's pixels.
  float reach(const Axis& a) const {
    return (mode == Mode::kCubic ? 2.0f : 1.0f) / std::min(a.scale, 1.0f);
  }
  float kernel(float distance) const {
    if (mode == Mode::kLinear) return distance < 1 ? 1 - distance : 0;
    if (distance < 1) return cubic_inner(distance, cubic_a);
    return distance < 2 ? cubic_outer(distance, cubic_a) : 0;
  }
  // Whether the taps of all axes are few enough to be listed.
  bool lists_taps() const {
    float count = 0;
    for (const Axis& a : axes) {
      const float of_place = antialias ? 2 * reach(a) + 3 : 4;
      count += a.still ? 0 : static_cast<float>(a.out) * of_place;
    }
    return count <= kListedMax;
  }
  void smooth(const Axis& a, float x, Taps& out) const {
    const float shrink = std::min(a.scale, 1.0f);
    const auto first = static_cast<std::int64_t>(std::floor(x - reach(a)));
    const auto last = static_cast<std::int64_t>(std::ceil(x + reach(a)));
    const std::size_t begin = out.size();
    float sum = 0;
    for (std::int64_t at = first; at <= last; ++at) {
      const bool counts = !exclude_outside || (at >= 0 && at < a.in);
      const float weight = counts ? kernel(std::abs(static_cast<float>(at) - x) * shrink) : 0;
      if (weight == 0) continue;
      sum = sum + weight;
      out.push_back({std::clamp<std::int64_t>(at, 0, a.in - 1), weight});
    }
    for (std::size_t i = begin; i < out.size(); ++i) out[i].weight = out[i].weight / sum;
  }
  void cubic(const Axis& a, float x, Taps& out) const {
    const float low = std::floor(x);
    std::array<float, 4> weights = cubic_weights(x - low, cubic_a);
    const auto first = static_cast<std::int64_t>(low) - 1;
    float sum = 0;
    for (std::int64_t i = 0; i < 4 && exclude_outside; ++i) {
      float& weight = weights[static_cast<std::size_t>(i)];
      if (first + i < 0 || first + i >= a.in) weight = 0;
      sum = sum + weight;
    }
    for (std::int64_t i = 0; i < 4; ++i) {
      const float weight = weights[static_cast<std::size_t>(i)];
      out.push_back({std::clamp<std::int64_t>(first + i, 0, a.in - 1),
                     exclude_outside ? weight / sum : weight});
    }
  }

  TensorType type() const { return to; }
  bool copies() const { return mode == Mode::kNearest || inner_axes == 0; }
  float outside() const { return extrapolation; }
  float divisor(std::int64_t) const { return 1; }
  void taps(std::int64_t index, Taps& out) const {
    const int outer = to.shape.rank() - inner_axes;
    const shape_inference::Dims at = shape_inference::split(to.shape, index);
    std::vector<Taps> found(static_cast<std::size_t>(inner_axes));
    for (int d = outer; d < to.shape.rank(); ++d) {
      const auto axis = static_cast<std::size_t>(d);
      if (!along(axes[axis], at[axis], found[static_cast<std::size_t>(d - outer)])) return;
    }
    cross(found, from.shape, index / to.shape.elements(outer, to.shape.rank()), out);
  }
  void extra_reads(const Call& call, std::int64_t, std::vector<ElementRef>& out) const {
    for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) read_whole(call, i, out);
  }
};

}  // namespace

core::Result<Resizing> resizing_of(const Call& call) {
  COMMENSAL_ASSIGN(const Resize op, Resize::make(call));
  Resizing made{op.from, op.to, op.copies(), op.outside(), op.lists_taps(), {}};
  const auto first = op.axes.size() - static_cast<std::size_t>(op.inner_axes);
  for (std::size_t d = first; d < op.axes.size(); ++d) {
    AxisTaps& one = made.axes.emplace_back();
    one.in = op.axes[d].in, one.out = op.axes[d].out, one.still = op.axes[d].still;
    if (one.still || !made.is_listed) continue;
    one.begin.reserve(static_cast<std::size_t>(one.out) + 1);
    for (std::int64_t at = 0; at < one.out; ++at) {
      one.begin.push_back(static_cast<std::int64_t>(one.taps.size()));
      op.along(op.axes[d], at, one.taps);
      call.pulse(8 + static_cast<std::int64_t>(one.taps.size()) - one.begin.back());
    }
    one.begin.push_back(static_cast<std::int64_t>(one.taps.size()));
  }
  return made;
}

constinit const Judge kResize = judge_of<WeightedPlan<Resize>>();

}  // namespace commensal::kernels::ref
