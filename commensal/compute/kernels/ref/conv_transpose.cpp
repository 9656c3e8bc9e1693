// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: each output gathers what Conv would have scattered: one chain over
// k = (tap row-major) * C_group + channel, ascending; taps that meet no input are no steps.
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/covering.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/conv_transpose.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

struct ConvTransposePlan : shape_inference::ConvTranspose {
  static core::Result<ConvTransposePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_ASSIGN(const auto parsed, shape_inference::conv_transpose_of(call));
    return ConvTransposePlan{parsed};
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
