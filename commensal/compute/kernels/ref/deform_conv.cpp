// SPDX-License-Identifier: Apache-2.0
// DeformConv: a Conv over two spatial dimensions whose taps lie where offsets say. The chain is
// that of Conv, k = tap * C_group + channel, every tap being a step; a tap's value is interpolated
// linearly between its four neighbours, fma(w, x, acc) from +0, leaving out those outside of the
// image and those of weight 0, and multiplied by the mask, rounded.
#include <algorithm>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/neighbours.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

constexpr int kX = 0, kWeights = 1, kOffset = 2, kBias = 3, kMask = 4;
struct DeformConv {
  using In = Floats;
  DType dtype = DType::kUndefined;
  shape_inference::Conv conv;
  std::int64_t offset_groups = 1;

  static core::Result<DeformConv> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, kX));
    for (int i = 1; i <= 4; ++i) COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
    DeformConv op;
    op.dtype = call.in(kX).dtype();
    if (call.in(kX).shape().rank() != 4) {
      return fail(ErrorCode::kUnsupported,
                  "a deformable convolution over other than two spatial "
                  "dimensions");
    }
    COMMENSAL_ASSIGN(op.conv, shape_inference::conv_of(call, {kX, kWeights, kBias}));
    COMMENSAL_ASSIGN(op.offset_groups, call.attributes->integer("offset_group", 1));
    if (op.offset_groups < 1 || op.conv.channels % op.offset_groups != 0) {
      return fail(ErrorCode::kInvalidArgument, "{} channels cannot be cut into {} offset groups",
                  op.conv.channels, op.offset_groups);
    }
    const shape_inference::Window& w = op.conv.window;
    COMMENSAL_TRY(Shape::of(std::array{op.offset_groups, w.taps(), std::int64_t{2}}));
    const std::int64_t taps = op.offset_groups * w.taps();
    for (const auto& [input, planes] : {std::pair(kOffset, 2 * taps), std::pair(kMask, taps)}) {
      if (!call.has(input)) continue;
      const std::array dims = {op.conv.batch, planes, w.out[0], w.out[1]};
      if (std::ranges::equal(call.in(input).shape().dims(), dims)) continue;
      return fail(ErrorCode::kInvalidArgument, "input {} must be [{},{},{},{}], not {}", input,
                  dims[0], dims[1], dims[2], dims[3], call.in(input).shape().text());
    }
    return op;
  }
  std::vector<TensorType> types() const { return {shape_inference::conv_type(conv)}; }

  // Which output an element is.
  struct Place {
    std::int64_t n = 0, channel = 0, group = 0, at = 0;  // at: within the plane
    Dims spatial{};
  };
  Place place_of(std::int64_t index) const {
    const std::int64_t plane = conv.window.out_elements();
    Place made;
    made.at = index % plane;
    made.channel = index / plane % conv.out_channels;
    made.n = index / plane / conv.out_channels;
    made.group = made.channel / conv.group_out_channels();
    made.spatial = conv.window.split(made.at, conv.window.out);
    return made;
  }
  // Of entry `entry` of the offset's or mask's planes.
  std::int64_t plane_index(const Place& p, std::int64_t planes, std::int64_t entry) const {
    return (p.n * planes + entry) * conv.window.out_elements() + p.at;
  }
  std::int64_t offset_index(const Place& p, std::int64_t group, std::int64_t tap, int axis) const {
    const std::int64_t taps = conv.window.taps();
    return plane_index(p, 2 * offset_groups * taps, (group * taps + tap) * 2 + axis);
  }
  std::int64_t mask_index(const Place& p, std::int64_t group, std::int64_t tap) const {
    const std::int64_t taps = conv.window.taps();
    return plane_index(p, offset_groups * taps, group * taps + tap);
  }
  std::int64_t weight_index(const Place& p, std::int64_t tap, std::int64_t c) const {
    return (p.channel * conv.group_channels() + c) * conv.window.taps() + tap;
  }

  // Calls f(input index, weight) for the neighbours of a tap that lie in the image.
  template <class T, class F>
  void for_neighbours(const Call& call, const Place& p, std::int64_t tap, std::int64_t channel,
                      F&& f) const {
    using C = Compute<T>;
    const shape_inference::Window& w = conv.window;
    const Dims in_kernel = w.split(tap, w.kernel);
    const std::int64_t group = channel / (conv.channels / offset_groups);
    Neighbours<C> axis[2];
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t base =
          p.spatial[d] * w.stride[d] - w.pad_begin[d] + in_kernel[d] * w.dilation[d];
      const std::int64_t at = offset_index(p, group, tap, static_cast<int>(d));
      const C offset = load(paced<T>(call, kOffset)[static_cast<std::size_t>(at)]);
      axis[d] = Neighbours<C>::of(static_cast<C>(base) + offset);
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t j = 0; j < 2; ++j) {
        const std::int64_t y = axis[0].first + i, x = axis[1].first + j;
        const C weight = axis[0].weight[i] * axis[1].weight[j];
        if (weight == 0 || y < 0 || y >= w.in[0] || x < 0 || x >= w.in[1]) continue;
        f(((p.n * conv.channels + channel) * w.in[0] + y) * w.in[1] + x, weight);
      }
    }
  }
  template <class T>
  Compute<T> tap_value(const Call& call, const Place& p, std::int64_t tap,
                       std::int64_t channel) const {
    using C = Compute<T>;
    C acc{0};
    for_neighbours<T>(call, p, tap, channel, [&](std::int64_t at, C weight) {
      acc = std::fma(weight, load(paced<T>(call, kX)[static_cast<std::size_t>(at)]), acc);
    });
    if (!call.has(kMask)) return acc;
    const std::int64_t at = mask_index(p, channel / (conv.channels / offset_groups), tap);
    return acc * load(paced<T>(call, kMask)[static_cast<std::size_t>(at)]);
  }
  template <class T>
  Compute<T> chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    using C = Compute<T>;
    const Place p = place_of(index);
    const std::int64_t depth = conv.group_channels();
    C acc{0};
    for (std::int64_t k = 0; k < std::min(steps, conv.depth()); ++k) {
      const C value = tap_value<T>(call, p, k / depth, p.group * depth + k % depth);
      const auto at = static_cast<std::size_t>(weight_index(p, k / depth, k % depth));
      acc = std::fma(value, load(paced<T>(call, kWeights)[at]), acc);
    }
    return acc;
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    const auto channel = static_cast<std::size_t>(place_of(index).channel);
    const Compute<T> bias = call.has(kBias) ? load(paced<T>(call, kBias)[channel]) : Compute<T>{0};
    return scalar_of(store<T>(add_bias(chain<T>(call, index, kAllSteps), bias)));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    const Place p = place_of(index);
    const std::int64_t depth = conv.group_channels();
    for (std::int64_t k = 0; k < conv.depth(); ++k) {
      const std::int64_t tap = k / depth, channel = p.group * depth + k % depth;
      const std::int64_t group = channel / (conv.channels / offset_groups);
      out.push_back({kWeights, weight_index(p, tap, k % depth)});
      for (int d = 0; d < 2; ++d) out.push_back({kOffset, offset_index(p, group, tap, d)});
      if (call.has(kMask)) out.push_back({kMask, mask_index(p, group, tap)});
      visit(In{}, dtype, [&]<class T>() {
        for_neighbours<T>(call, p, tap, channel, [&](std::int64_t at, auto) {
          out.push_back({kX, at});
        });
      });
    }
    if (call.has(kBias)) out.push_back({kBias, p.channel});
  }
  std::int64_t steps(int, std::int64_t) const { return conv.depth(); }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<Compute<T>>(chain<T>(call, index, steps)));
  }
};

}  // namespace

constinit const Judge kDeformConv = each<DeformConv>();

}  // namespace commensal::kernels::ref
