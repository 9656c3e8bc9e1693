// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample (docs/numerics.md, "Places and interpolation"). Places and weights follow
// from shapes, attributes and scales alone: they are computed here, in integers, and stand in the
// program as constants.
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using S = scalar::Soft32;
using Bits = std::uint32_t;

constexpr Bits kOne = 0x3f800000, kTwo = 0x40000000, kHalf = 0x3f000000;

Bits whole(std::int64_t value) { return S::of_integer(value); }
std::int64_t integer(Bits x) { return S::to_integer(x, 41); }
Bits floor(Bits x) { return S::round(x, S::Towards::kDown); }
Bits ceil(Bits x) { return S::round(x, S::Towards::kUp); }
Bits clamped(Bits x, Bits low, Bits high) {
  return S::less(x, low) ? low : S::less(high, x) ? high : x;
}

struct Axis {
  std::int64_t in = 0, out = 0;
  Bits scale = kOne, length = 0;  // length: of the output before it was rounded down
  Bits start = 0, end = kOne;     // the crop
  bool still = true;              // position i lies at i
};
// A neighbour and its weight.
struct Tap {
  std::int64_t index = 0;
  Bits weight = kOne;
};
using Taps = std::vector<Tap>;

struct Resize {
  std::string mode, coordinates, rounding;
  Bits cubic_a = 0, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<Axis> axes;

  bool moves() const { return !std::ranges::all_of(axes, &Axis::still); }
  bool copies() const { return mode == "nearest" || !moves(); }
};

// The numbers of input `i`, by their bits: nothing where they cannot be shown.
std::optional<std::vector<Bits>> reals_of(const NodeCall& call, std::size_t i) {
  std::vector<Bits> made;
  if (!call.has(i)) return made;
  if (!call.inputs[i].is(Element::kFloat32) || !call.lists[i]) return std::nullopt;
  for (const std::int64_t bits : *call.lists[i]) made.push_back(static_cast<Bits>(bits));
  return made;
}

bool set_scales(Resize& r, const std::vector<Bits>& scales, const Dims& where) {
  constexpr Bits kScaleMax = 0x4b800000, kLengthMax = 0x53800000;  // 2^24, 2^40
  if (scales.size() != where.size()) return false;
  for (std::size_t i = 0; i < where.size(); ++i) {
    Axis& a = r.axes[static_cast<std::size_t>(where[i])];
    a.scale = scales[i];
    a.length = S::mul(S::mul(whole(a.in), S::sub(a.end, a.start)), a.scale);
    const bool fits = S::less(0, a.scale) && S::less(a.scale, kScaleMax) && !S::less(a.length, 0) &&
                      S::less(a.length, kLengthMax);
    if (!fits) return false;
    a.out = integer(floor(a.length));
  }
  return true;
}

bool set_sizes(Resize& r, const NodeCall& call, const Dims& sizes, const Dims& where) {
  const std::string policy = call.node.text("keep_aspect_ratio_policy", "stretch");
  if (sizes.size() != where.size()) return false;
  Bits common = 0;
  for (std::size_t i = 0; i < where.size(); ++i) {
    Axis& a = r.axes[static_cast<std::size_t>(where[i])];
    if (sizes[i] < 0 || sizes[i] > limits::kTensorElementsMax) return false;
    a.out = sizes[i];
    a.length = whole(a.out);
    a.scale = a.in == 0 ? kOne : S::div(a.length, whole(a.in));
    const bool takes = policy == "not_larger" ? S::less(a.scale, common) : S::less(common, a.scale);
    if (i == 0 || takes) common = a.scale;
  }
  for (std::size_t i = 0; i < where.size() && policy != "stretch"; ++i) {
    Axis& a = r.axes[static_cast<std::size_t>(where[i])];
    a.scale = common;
    a.length = floor(S::add(S::mul(common, whole(a.in)), kHalf));
    a.out = integer(a.length);
  }
  return true;
}

bool set_axes(Resize& r, const NodeCall& call) {
  const auto rank = static_cast<std::int64_t>(r.axes.size());
  const NodeText& node = call.node;
  Dims where = node.integers("axes");
  for (std::int64_t d = 0; !node.has("axes") && d < rank; ++d) where.push_back(d);
  for (std::int64_t& axis : where) axis = normal_axis(axis, rank);
  if (std::ranges::count(where, -1) > 0) return false;
  if (node.opset < 11) {
    const auto scales = call.has(1) ? reals_of(call, 1) : std::optional(node.reals("scales"));
    return scales && set_scales(r, *scales, where);
  }
  if (r.coordinates == "tf_crop_and_resize") {
    const auto roi = reals_of(call, 1);
    if (!roi || roi->size() != 2 * where.size()) return false;
    for (std::size_t i = 0; i < where.size(); ++i) {
      Axis& a = r.axes[static_cast<std::size_t>(where[i])];
      a.start = (*roi)[i];
      a.end = (*roi)[i + where.size()];
    }
  }
  const auto scales = reals_of(call, 2);
  const auto sizes = call.list("", 3, 11);
  if (!scales || !sizes) return false;
  return sizes->empty() ? set_scales(r, *scales, where) : set_sizes(r, call, *sizes, where);
}

// How far a neighbour may be: the kernel is as wide as the output's pixels.
Bits reach(const Resize& r, const Axis& a) {
  return S::div(r.mode == "cubic" ? kTwo : kOne, S::minimum(a.scale, kOne));
}

std::optional<Resize> resize_of(const NodeCall& call) {
  const NodeText& node = call.node;
  const bool legacy = node.opset < 11;
  Resize r;
  r.mode = node.text("mode", "nearest");
  if (r.mode == "bilinear") r.mode = "linear";
  r.coordinates = legacy ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  r.rounding = legacy ? "legacy" : node.text("nearest_mode", "round_prefer_floor");
  r.cubic_a = node.real("cubic_coeff_a", 0xbf400000);
  r.extrapolation = node.real("extrapolation_value", 0);
  r.exclude_outside = !legacy && node.integer("exclude_outside", 0) != 0;
  r.antialias = !legacy && node.integer("antialias", 0) != 0;
  for (const std::int64_t dim : dims_of(call.inputs[0])) {
    r.axes.push_back({.in = dim, .out = dim, .length = whole(dim)});
  }
  if (!set_axes(r, call)) return std::nullopt;
  std::int64_t neighbours = 1;
  for (Axis& a : r.axes) {
    if (a.in == 0 && a.out > 0) return std::nullopt;
    a.still = a.in == a.out && a.scale == kOne && S::is_zero(a.start) && a.end == kOne;
    if (a.still) continue;
    const std::int64_t each = r.antialias ? 2 * integer(ceil(reach(r, a))) + 3 : 4;
    if (each > kTapsMax / neighbours) return std::nullopt;
    neighbours *= each;
  }
  return r;
}

// Where output `position` lies in the input.
Bits place_of(const Resize& r, const Axis& a, std::int64_t position) {
  const Bits x = whole(position), last = S::sub(whole(a.in), kOne);
  const Bits half_pixel = S::sub(S::div(S::add(x, kHalf), a.scale), kHalf);
  if (r.coordinates == "asymmetric") return S::div(x, a.scale);
  if (r.coordinates == "tf_half_pixel_for_nn") return S::div(S::add(x, kHalf), a.scale);
  if (r.coordinates == "pytorch_half_pixel") return a.out > 1 ? half_pixel : 0;
  if (r.coordinates == "align_corners") {
    return a.out > 1 ? S::div(S::mul(x, last), S::sub(a.length, kOne)) : 0;
  }
  if (r.coordinates == "tf_crop_and_resize") {
    if (a.out <= 1) return S::mul(S::mul(kHalf, S::add(a.start, a.end)), last);
    const Bits along = S::mul(S::mul(x, S::sub(a.end, a.start)), last);
    return S::add(S::mul(a.start, last), S::div(along, S::sub(whole(a.out), kOne)));
  }
  if (r.coordinates != "half_pixel_symmetric") return half_pixel;
  const Bits missing = S::sub(kOne, S::div(whole(a.out), a.length));
  const Bits offset = S::mul(S::div(whole(a.in), kTwo), missing);
  return S::sub(S::add(offset, S::div(S::add(x, kHalf), a.scale)), kHalf);
}

Bits rounded(const Resize& r, const Axis& a, Bits x) {
  if (r.rounding == "round_prefer_floor") return ceil(S::sub(x, kHalf));
  if (r.rounding == "round_prefer_ceil") return floor(S::add(x, kHalf));
  const bool up = r.rounding == "ceil" || (r.rounding == "legacy" && S::less(a.scale, kOne));
  return up ? ceil(x) : floor(x);
}

// Keys' kernel with coefficient a at distance d: up to 1, and from 1 to 2.
Bits cubic_inner(Bits d, Bits a) {
  const Bits line = S::sub(S::mul(S::add(a, kTwo), d), S::add(a, whole(3)));
  return S::add(S::mul(S::mul(line, d), d), kOne);
}
Bits cubic_outer(Bits d, Bits a) {
  const Bits line = S::sub(S::mul(a, d), S::mul(whole(5), a));
  const Bits bow = S::add(S::mul(line, d), S::mul(whole(8), a));
  return S::sub(S::mul(bow, d), S::mul(whole(4), a));
}

void divide_weights(Taps& taps, Bits sum) {
  for (Tap& tap : taps) tap.weight = S::div(tap.weight, sum);
}

Taps cubic(const Resize& r, const Axis& a, Bits x) {
  const Bits low = floor(x), t = S::sub(x, low), other = S::sub(kOne, t);
  const Bits weights[] = {cubic_outer(S::add(t, kOne), r.cubic_a), cubic_inner(t, r.cubic_a),
                          cubic_inner(other, r.cubic_a),
                          cubic_outer(S::add(other, kOne), r.cubic_a)};
  const std::int64_t first = integer(low) - 1;
  Taps taps;
  Bits sum = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    const bool outside = first + i < 0 || first + i >= a.in;
    const Bits weight = r.exclude_outside && outside ? 0 : weights[i];
    sum = S::add(sum, weight);
    taps.push_back({std::clamp<std::int64_t>(first + i, 0, a.in - 1), weight});
  }
  if (r.exclude_outside) divide_weights(taps, sum);
  return taps;
}

Bits kernel_at(const Resize& r, Bits distance) {
  if (r.mode == "linear") return S::less(distance, kOne) ? S::sub(kOne, distance) : 0;
  if (S::less(distance, kOne)) return cubic_inner(distance, r.cubic_a);
  return S::less(distance, kTwo) ? cubic_outer(distance, r.cubic_a) : 0;
}
Taps smooth(const Resize& r, const Axis& a, Bits x) {
  const Bits shrink = S::minimum(a.scale, kOne), far = reach(r, a);
  const std::int64_t first = integer(floor(S::sub(x, far))), last = integer(ceil(S::add(x, far)));
  Taps taps;
  Bits sum = 0;
  for (std::int64_t at = first; at <= last; ++at) {
    if (r.exclude_outside && (at < 0 || at >= a.in)) continue;
    const Bits weight = kernel_at(r, S::mul(S::abs(S::sub(whole(at), x)), shrink));
    if (S::is_zero(weight)) continue;
    sum = S::add(sum, weight);
    taps.push_back({std::clamp<std::int64_t>(at, 0, a.in - 1), weight});
  }
  divide_weights(taps, sum);
  return taps;
}

// The neighbours along one axis; nothing beyond the crop.
std::optional<Taps> along(const Resize& r, const Axis& a, std::int64_t position) {
  if (a.still) return Taps{{position, kOne}};
  const Bits last = S::sub(whole(a.in), kOne), x = place_of(r, a, position);
  const Bits inside = clamped(x, 0, last);
  if (r.coordinates == "tf_crop_and_resize" && !S::equal(x, inside)) return std::nullopt;
  if (r.mode == "nearest") return Taps{{integer(clamped(rounded(r, a, x), 0, last)), kOne}};
  if (r.antialias) return smooth(r, a, x);
  if (r.mode == "cubic") return cubic(r, a, x);
  const Bits low = floor(inside), t = S::sub(inside, low);
  Taps taps = {{integer(low), S::sub(kOne, t)}};
  if (!S::is_zero(t)) taps.push_back({integer(low) + 1, t});
  return taps;
}

// Row-major over the axes, weights multiplied in their order; those of 0 are left out.
Taps taps_of(const Resize& r, std::int64_t element) {
  Dims to;
  for (const Axis& a : r.axes) to.push_back(a.out);
  const Dims at = split(element, to);
  Taps made = {{0, kOne}};
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto one = along(r, r.axes[d], at[d]);
    if (!one) return {};
    Taps next;
    for (const Tap& before : made) {
      for (const Tap& tap : *one) {
        next.push_back({before.index * r.axes[d].in + tap.index,
                        r.axes[d].still ? before.weight : S::mul(before.weight, tap.weight)});
      }
    }
    made = std::move(next);
  }
  std::erase_if(made, [](const Tap& tap) { return S::is_zero(tap.weight); });
  return made;
}

TypeResult resize_type(const NodeCall& call, std::size_t output) {
  const auto r = output == 0 && call.has(0) ? resize_of(call) : std::nullopt;
  if (!r) return unsupported("scales or sizes that nobody can show");
  const bool takes_any = r->mode == "nearest" && S::is_zero(r->extrapolation);
  if (!takes_any && !is_float(call.inputs[0])) {
    return unsupported("no program for this element type");
  }
  Dims dims;
  for (const Axis& a : r->axes) dims.push_back(a.out);
  return shaped(call.inputs[0].dtype, dims);
}

void resize(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Resize r = *resize_of(call);
  const Taps taps = taps_of(r, element);
  if (r.copies() && !taps.empty()) {
    steps.put(Op::kCopy, {element_of(0, taps[0].index)});
    return;
  }
  if (!is_float(call.inputs[0])) {
    steps.put(Op::kCopy, {constant(0)});
    return;
  }
  const Emitter emit = computing(call, output, steps);
  if (taps.empty()) {
    emit.canonical(emit.real(r.extrapolation));
    return;
  }
  Operand acc = emit.zero();
  for (const Tap& tap : taps) acc = emit.fma(emit.real(tap.weight), element_of(0, tap.index), acc);
}

}  // namespace

std::span<const OperatorRow> resize_rows() {
  constexpr std::string_view kTypes = "floats; nearest: all";
  static constexpr OperatorRow kRows[] = {
      {"Resize", 10, 0, kTypes, resize_type, resize},
      {"Upsample", 7, 9, kTypes, resize_type, resize},
  };
  return kRows;
}

}  // namespace commensal::arbiter
