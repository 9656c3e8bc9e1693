// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: each output gathers what Conv would have scattered: one chain over
// k = (tap row-major) * C_group + channel, ascending; taps that meet no input are no steps.
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/covering.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

constexpr std::int64_t kPlaceMax = std::int64_t{1} << 31;

core::Result<std::vector<std::int64_t>> list_of(const Call& call, std::string_view name,
                                                std::size_t count, std::int64_t fallback) {
  COMMENSAL_ASSIGN(auto given, call.attributes->integers(name));
  if (given.empty()) given.assign(count, fallback);
  if (given.size() != count) {
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' must have {} entries, not {}", name,
                count, given.size());
  }
  for (const std::int64_t value : given) {
    if (value >= fallback && value < kPlaceMax) continue;
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' has an entry of {}", name, value);
  }
  return given;
}

struct ConvTransposePlan {
  TensorType to;
  shape_inference::Window window;  // in: of X, out: of Y
  std::int64_t channels = 0, out_channels = 0, group = 1;
  bool has_bias = false;

  static core::Result<ConvTransposePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    const Shape &x = call.in(0).shape(), &w = call.in(1).shape();
    ConvTransposePlan plan;
    COMMENSAL_ASSIGN(plan.group, call.attributes->integer("group", 1));
    if (x.rank() < 3 || x.rank() > limits::kRankMax / 2 + 2 || w.rank() != x.rank() ||
        w[0] != x[1] || plan.group < 1 || x[1] % plan.group != 0 || w[1] > kPlaceMax / plan.group) {
      return fail(ErrorCode::kInvalidArgument,
                  "weights {} do not fit input {} in {} groups (expected [C, O/groups, ...])",
                  w.text(), x.text(), plan.group);
    }
    plan.channels = x[1];
    plan.out_channels = w[1] * plan.group;
    plan.has_bias = call.has(2);
    if (plan.has_bias && call.in(2).shape() != Shape{plan.out_channels}) {
      return fail(ErrorCode::kInvalidArgument, "the bias must be [{}], not {}", plan.out_channels,
                  call.in(2).shape().text());
    }
    COMMENSAL_TRY(plan.set_window(call));
    std::vector<std::int64_t> dims = {x[0], plan.out_channels};
    dims.insert(dims.end(), plan.window.out.begin(), plan.window.out.begin() + plan.window.rank);
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    plan.to = {call.in(0).dtype(), shape};
    return plan;
  }

  core::Result<void> set_window(const Call& call) {
    const Shape &x = call.in(0).shape(), &w = call.in(1).shape();
    const auto count = static_cast<std::size_t>(x.rank() - 2);
    window.rank = x.rank() - 2;
    COMMENSAL_ASSIGN(const auto strides, list_of(call, "strides", count, 1));
    COMMENSAL_ASSIGN(const auto dilations, list_of(call, "dilations", count, 1));
    COMMENSAL_ASSIGN(const auto pads, list_of(call, "pads", 2 * count, 0));
    COMMENSAL_ASSIGN(const auto output_pads, list_of(call, "output_padding", count, 0));
    COMMENSAL_ASSIGN(const auto stated, call.attributes->integers("kernel_shape"));
    if (!stated.empty() && !std::ranges::equal(stated, w.dims().subspan(2))) {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'kernel_shape' disagrees with the weights {}", w.text());
    }
    for (std::size_t d = 0; d < count; ++d) {
      window.in[d] = x[static_cast<int>(d) + 2];
      window.kernel[d] = w[static_cast<int>(d) + 2];
      window.stride[d] = strides[d];
      window.dilation[d] = dilations[d];
      window.pad_begin[d] = pads[d];
      window.pad_end[d] = pads[d + count];
      if (window.in[d] < 1 || window.kernel[d] < 1 || window.in[d] > kPlaceMax ||
          window.kernel[d] > kPlaceMax) {
        return fail(ErrorCode::kInvalidArgument, "a kernel of {} over a dimension of {}",
                    window.kernel[d], window.in[d]);
      }
      // Both products stay below 2^62.
      window.out[d] = strides[d] * (window.in[d] - 1) + output_pads[d] +
                      (window.kernel[d] - 1) * dilations[d] + 1;
    }
    return set_pads(call, count);
  }
  // Takes the pads off `out`, which is everything that the kernel reaches.
  core::Result<void> set_pads(const Call& call, std::size_t count) {
    COMMENSAL_ASSIGN(const std::string auto_pad, call.attributes->text("auto_pad", "NOTSET"));
    const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (!same && auto_pad != "NOTSET" && auto_pad != "" && auto_pad != "VALID") {
      return fail(ErrorCode::kInvalidArgument, "attribute 'auto_pad' is '{}'", auto_pad);
    }
    const bool stated = call.attributes->has("output_shape");
    COMMENSAL_ASSIGN(const auto sizes, list_of(call, "output_shape", count, 0));
    // Until opset 10 ONNX's text has the odd pad the other way round for explicit shapes.
    const bool odd_at_end = auto_pad == "SAME_UPPER" || (!same && call.opset < 11);
    for (std::size_t d = 0; d < count; ++d) {
      if (auto_pad == "VALID") window.pad_begin[d] = window.pad_end[d] = 0;
      if (stated || same) {
        const std::int64_t size = stated ? sizes[d] : window.in[d] * window.stride[d];
        const std::int64_t total = window.out[d] - size;
        const std::int64_t half = total < 0 ? total : total / 2;  // below 0: zeros at the end
        window.pad_begin[d] = odd_at_end && total > 0 ? half : total - half;
        window.pad_end[d] = total - window.pad_begin[d];
      }
      window.out[d] -= window.pad_begin[d] + window.pad_end[d];
      if (window.out[d] < 0 || window.out[d] > kPlaceMax) {
        return fail(ErrorCode::kInvalidArgument, "spatial dimension {} of the output would be {}",
                    d, window.out[d]);
      }
    }
    return {};
  }
  std::vector<TensorType> types() const { return {to}; }

  std::int64_t group_channels() const { return channels / group; }
  std::int64_t group_out_channels() const { return out_channels / group; }
  std::int64_t channel(std::int64_t index) const {
    return index / window.out_elements() % out_channels;
  }

  // Calls f(index in X, index in W) for each step, in order.
  template <class F>
  void for_steps(std::int64_t index, F&& f) const {
    const std::int64_t out_channel = channel(index), spatial = window.out_elements();
    const std::int64_t n = index / spatial / out_channels;
    const std::int64_t first = out_channel / group_out_channels() * group_channels();
    const Dims at = window.split(index % spatial, window.out);
    Covering(window, window.in, at).for_each([&](std::int64_t tap, std::int64_t place) {
      for (std::int64_t c = first; c < first + group_channels(); ++c) {
        f((n * channels + c) * window.in_elements() + place,
          (c * group_out_channels() + out_channel % group_out_channels()) * window.taps() + tap);
      }
    });
  }
  template <class T>
  Compute<T> sum(const Call& call, std::int64_t index, std::int64_t steps_max) const {
    const auto x = paced<T>(call, 0), w = paced<T>(call, 1);
    Compute<T> acc{0};
    call.pulse(8);
    for_steps(index, [&](std::int64_t x_at, std::int64_t w_at) {
      call.pulse();
      if (steps_max-- <= 0) return;
      acc = step(load(w[static_cast<std::size_t>(w_at)]), load(x[static_cast<std::size_t>(x_at)]),
                 acc);
    });
    return acc;
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    Compute<T> bias{0};
    if (has_bias) bias = load(paced<T>(call, 2)[static_cast<std::size_t>(channel(index))]);
    return store<T>(add_bias(sum<T>(call, index, std::numeric_limits<std::int64_t>::max()), bias));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats{}, to.dtype, [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, to.dtype, [&]<class T>() {
      std::int64_t index = 0;
      for (T& y : outputs[0].mutable_data<T>()) y = value<T>(call, index++);
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for_steps(index, [&](std::int64_t x_at, std::int64_t w_at) {
      out.push_back({0, x_at});
      out.push_back({1, w_at});
    });
    if (has_bias) out.push_back({2, channel(index)});
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const {
    const Dims at = window.split(index % window.out_elements(), window.out);
    return Covering(window, window.in, at).count() * group_channels();
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Floats{}, to.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(sum<T>(call, index, steps)));
    });
  }
};

}  // namespace

constinit const Judge kConvTranspose = judge_of<ConvTransposePlan>();

}  // namespace commensal::kernels::ref
