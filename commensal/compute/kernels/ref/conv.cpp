// SPDX-License-Identifier: Apache-2.0
// Conv: Y = B + X * W, one chain per output over k = (tap row-major) * C_group + channel,
// ascending; taps in the padding are no steps at all.
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/ref/winograd.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

namespace commensal::kernels::ref {
namespace {

using shape_inference::Dims;

// Output element `index` and where its operands lie.
struct Place {
  std::int64_t out_channel = 0;
  std::int64_t x_base = 0;  // first input plane of the element's group
  std::int64_t w_base = 0;  // first weight of the output channel
  Dims at{};                // spatial coordinates
};

struct ConvPlan {
  shape_inference::Conv conv;

  static core::Result<ConvPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto conv, shape_inference::conv_of(call));
    return ConvPlan{conv};
  }
  std::vector<TensorType> types() const { return {shape_inference::conv_type(conv)}; }

  Place place_of(std::int64_t index) const {
    const std::int64_t spatial = conv.window.out_elements();
    const std::int64_t plane = index / spatial, n = plane / conv.out_channels;
    Place place;
    place.out_channel = plane % conv.out_channels;
    const std::int64_t group = place.out_channel / conv.group_out_channels();
    place.x_base = (n * conv.channels + group * conv.group_channels()) * conv.window.in_elements();
    place.w_base = place.out_channel * conv.depth();
    place.at = conv.window.split(index % spatial, conv.window.out);
    return place;
  }

  // Calls f(input offset of channel 0, weight offset of channel 0) for each tap that is not
  // padded, in order.
  template <class F>
  void for_taps(const Place& place, F&& f) const {
    conv.window.for_taps(place.at, [&](std::int64_t tap, std::int64_t source) {
      f(place.x_base + source, place.w_base + tap);
    });
  }

  template <class T>
  Compute<T> sum(const Call& call, const Place& place, std::int64_t steps_max) const {
    const auto x = paced<T>(call, 0), w = paced<T>(call, 1);
    const std::int64_t x_step = conv.window.in_elements(), w_step = conv.window.taps();
    Compute<T> acc{0};
    for_taps(place, [&](std::int64_t x_at, std::int64_t w_at) {
      for (std::int64_t c = 0; c < conv.group_channels() && steps_max > 0; ++c, --steps_max) {
        acc = step(load(w[static_cast<std::size_t>(w_at + c * w_step)]),
                   load(x[static_cast<std::size_t>(x_at + c * x_step)]), acc);
      }
    });
    return acc;
  }

  template <class T>
  Compute<T> bias(const Call& call, std::int64_t out_channel) const {
    if (!conv.has_bias) return 0;
    return load(paced<T>(call, 2)[static_cast<std::size_t>(out_channel)]);
  }

  Scalar element(const Call& call, int, std::int64_t index) const {
    if (conv.winograd_tile != 0) return scalar_of(winograd_element(conv, call, index));
    return visit(Products{}, conv.dtype, [&]<class T>() {
      const Place place = place_of(index);
      const Compute<T> acc = sum<T>(call, place, conv.depth());
      return scalar_of(store<T>(add_bias(acc, bias<T>(call, place.out_channel))));
    });
  }

  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    if (conv.winograd_tile != 0) return winograd_reads(conv, index, out);
    const Place place = place_of(index);
    for_taps(place, [&](std::int64_t x_at, std::int64_t w_at) {
      for (std::int64_t c = 0; c < conv.group_channels(); ++c) {
        out.push_back({0, x_at + c * conv.window.in_elements()});
        out.push_back({1, w_at + c * conv.window.taps()});
      }
    });
    if (conv.has_bias) out.push_back({2, place.out_channel});
  }

  std::int64_t steps(const Call&, int, std::int64_t index) const {
    if (conv.winograd_tile != 0) return winograd_steps(conv);
    return conv.window.taps_inside(place_of(index).at) * conv.group_channels();
  }

  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    if (conv.winograd_tile != 0) return scalar_of(winograd_partial(conv, call, index, steps));
    return visit(Products{}, conv.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(sum<T>(call, place_of(index), steps)));
    });
  }

  // All outputs of one row (the last spatial dimension), step by step: the same chains, but fast
  // enough to judge whole networks.
  template <class C>
  void row(const Call& call, const Place& start, const C* x, const C* w, C* acc) const {
    const shape_inference::Window& win = conv.window;
    const auto last = static_cast<std::size_t>(win.rank - 1);
    for (std::int64_t tap = 0; tap < win.taps(); ++tap) {
      const Dims tap_at = win.split(tap, win.kernel);
      const auto source = [&](std::int64_t o) {
        Dims at = start.at;
        at[last] = o;
        return win.source(at, tap_at);
      };
      std::int64_t first = 0, end = win.out[last];
      while (first < end && source(first) < 0) ++first;
      while (end > first && source(end - 1) < 0) --end;
      call.pulse(4 * (win.out[last] - (end - first)));
      if (first == end) continue;
      const C* x_row = x + start.x_base + source(first);
      for (std::int64_t c = 0; c < conv.group_channels(); ++c) {
        step_row(call.pulse, w[start.w_base + tap + c * win.taps()], x_row + c * win.in_elements(),
                 win.stride[last], acc + first, end - first);
      }
    }
  }

  void run(const Call& call, std::span<Tensor> outputs) const {
    if (conv.winograd_tile != 0) return winograd_run(conv, call, outputs[0]);
    visit(Products{}, conv.dtype, [&]<class T>() {
      const Widened<T> x(call, 0), w(call, 1);
      const auto y = outputs[0].mutable_data<T>();
      const auto width =
          static_cast<std::size_t>(conv.window.out[static_cast<std::size_t>(conv.window.rank - 1)]);
      std::vector<Compute<T>> acc(width);
      for (std::size_t base = 0; base < y.size(); base += width) {
        const Place place = place_of(static_cast<std::int64_t>(base));
        call.pulse(width);
        std::fill(acc.begin(), acc.end(), Compute<T>{0});
        row(call, place, x.data(), w.data(), acc.data());
        const Compute<T> last = bias<T>(call, place.out_channel);
        for (std::size_t i = 0; i < width; ++i) y[base + i] = store<T>(add_bias(acc[i], last));
      }
    });
  }
};

}  // namespace

constinit const Judge kConv = judge_of<ConvPlan>();

}  // namespace commensal::kernels::ref
