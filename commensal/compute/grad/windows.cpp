// SPDX-License-Identifier: Apache-2.0
// Conv and the pools: their gradients are convolutions too, in the order that docs/numerics.md has
// for those.
#include <algorithm>
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>
#include <commensal/compute/kernels/shape_inference/conv_transpose.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>
#include <limits>

namespace commensal::grad::rules {

namespace shapes = kernels::shape_inference;
using shapes::Window;
using tensor::DType;

namespace {

Dims first_of(const shapes::Dims& dims, const Window& window) {
  return {dims.begin(), dims.begin() + window.rank};
}

Dims joined(Dims first, const Dims& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

/// What the places of the output reach, laid on the input: Conv's own transpose.
Value spread(Value dy, Value w, const Window& window, std::int64_t group) {
  Dims ends, more;
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    const std::int64_t reach = (window.out[d] - 1) * window.stride[d] +
                               (window.kernel[d] - 1) * window.dilation[d] + 1 -
                               window.pad_begin[d];
    ends.push_back(std::max<std::int64_t>(0, reach - window.in[d]));
    more.push_back(std::max<std::int64_t>(0, window.in[d] - reach));
  }
  return dy.maker->add("ConvTranspose", {dy, w},
                       attributes_of({{"dilations", first_of(window.dilation, window)},
                                      {"group", group},
                                      {"output_padding", more},
                                      {"pads", joined(first_of(window.pad_begin, window), ends)},
                                      {"strides", first_of(window.stride, window)}}));
}

/// [O, C/G, K...] -> [C, O/G, K...], the taps turned round: what a Conv goes back with.
Value turned_weights(Value w, const Window& window, std::int64_t group) {
  Maker& maker = *w.maker;
  Dims axes, dims = w.dims();
  for (int axis = 2; axis < w.rank(); ++axis) {
    if (w.dim(axis) > 1) axes.push_back(axis);
  }
  const Dims back(axes.size(), -1);
  const Dims before_first(axes.size(), std::numeric_limits<std::int64_t>::min());
  if (!axes.empty()) {
    w = maker.add("Slice", {w, maker.list(back), maker.list(before_first), maker.list(axes),
                            maker.list(back)});
  }
  if (group == 1) return transpose(w, joined({1, 0}, range(2, w.rank())));
  const Dims kernel = first_of(window.kernel, window);
  const Value apart = reshape(w, joined({group, dims[0] / group, dims[1]}, kernel));
  const Value turned = transpose(apart, joined({0, 2, 1}, range(3, 3 + window.rank)));
  return reshape(turned, joined({dims[1] * group, dims[0] / group}, kernel));
}

/// The gradient of a Conv's input. Without strides it is a Conv of dy, which may be one by the
/// Winograd clause.
Value input_gradient(Value dy, Value w, const Window& window, std::int64_t group) {
  Dims begins, ends;
  bool is_conv = true;
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilation[d];
    begins.push_back(reach - window.pad_begin[d]);
    ends.push_back(window.in[d] - window.out[d] + reach - begins.back());
    is_conv = is_conv && window.stride[d] == 1 && begins.back() >= 0 && ends.back() >= 0;
  }
  if (!is_conv) return spread(dy, w, window, group);
  return dy.maker->add("Conv", {dy, turned_weights(w, window, group)},
                       attributes_of({{"dilations", first_of(window.dilation, window)},
                                      {"group", group},
                                      {"pads", joined(begins, ends)}}));
}

/// [N, G * C, D...] -> [C, G * N, D...]
Value channels_first(Value x, std::int64_t group) {
  if (group == 1) return transpose(x, joined({1, 0}, range(2, x.rank())));
  const Dims dims = x.dims(), places(dims.begin() + 2, dims.end());
  const std::int64_t channels = dims[1] / group;
  const Value split = reshape(x, joined({dims[0], group, channels}, places));
  const Value turned = transpose(split, joined({2, 1, 0}, range(3, x.rank() + 1)));
  return reshape(turned, joined({channels, group * dims[0]}, places));
}

/// The gradient of a Conv's weights: the input's channels are the images of a Conv whose weights
/// are dy, with strides for dilations and dilations for strides.
Value weight_gradient(Value x, Value dy, const Window& window, std::int64_t group) {
  const std::int64_t channels = x.dim(1) / group, made = dy.dim(1);
  const Value images = channels_first(x, group);
  const Value taps = transpose(dy, joined({1, 0}, range(2, 2 + window.rank)));
  Dims ends, kernel = first_of(window.kernel, window);
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilation[d] +
                               (window.out[d] - 1) * window.stride[d] + 1 - window.pad_begin[d];
    ends.push_back(std::max<std::int64_t>(0, reach - window.in[d]));
  }
  Value made_by =
      x.maker->add("Conv", {images, taps},
                   attributes_of({{"dilations", first_of(window.stride, window)},
                                  {"group", group},
                                  {"pads", joined(first_of(window.pad_begin, window), ends)},
                                  {"strides", first_of(window.dilation, window)}}));
  const Dims wanted = joined({channels, made}, kernel);
  if (made_by.dims() != wanted)  // what the strides left over
    made_by = slice(made_by, Dims(kernel.size(), 0), kernel, range(2, 2 + window.rank));
  return transpose(made_by, joined({1, 0}, range(2, 2 + window.rank)));
}

/// The sum over images and places of each channel.
Value channel_sums(Value dy) { return sum(dy, joined({0}, range(2, dy.rank())), false); }

/// dy's elements back to where `indices` of all of x say that they came from.
Value to_indices(Value dy, Value indices, const tensor::TensorType& x) {
  const std::int64_t moved = dy.type().shape.elements();
  const Value zeros = filled(*dy.maker, 0, {x.dtype, dy.maker->shape({x.shape.elements()})});
  const Value all =
      dy.maker->add("ScatterElements", {zeros, reshape(indices, {moved}), reshape(dy, {moved})},
                    attributes_of({{"axis", std::int64_t{0}}, {"reduction", std::string("add")}}));
  return reshape(all, {x.shape.dims().begin(), x.shape.dims().end()});
}

}  // namespace

void conv(Step& step) {
  const auto call = step.read_call([](const kernels::Call& c) { return shapes::conv_of(c); });
  if (!step.maker().state()) return;
  step.give(0, [&] { return input_gradient(step.dy(), step.x(1), call.window, call.group); });
  step.give(1, [&] { return weight_gradient(step.x(0), step.dy(), call.window, call.group); });
  step.give(2, [&] { return channel_sums(step.dy()); });
}

void conv_transpose(Step& step) {
  const auto call =
      step.read_call([](const kernels::Call& c) { return shapes::conv_transpose_of(c); });
  if (!step.maker().state()) return;
  // As the Conv that it is the transpose of.
  Window window = call.window;
  std::swap(window.in, window.out);
  Dims ends;
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    const std::int64_t reach = (window.out[d] - 1) * window.stride[d] +
                               (window.kernel[d] - 1) * window.dilation[d] + 1 -
                               window.pad_begin[d];
    ends.push_back(std::max<std::int64_t>(0, reach - window.in[d]));
    if (window.pad_begin[d] < 0) return step.refuse("its negative pads have no gradient");
  }
  step.give(0, [&] {
    Value made =
        step.maker().add("Conv", {step.dy(), step.x(1)},
                         attributes_of({{"dilations", first_of(window.dilation, window)},
                                        {"group", call.group},
                                        {"pads", joined(first_of(window.pad_begin, window), ends)},
                                        {"strides", first_of(window.stride, window)}}));
    const Dims wanted = step.x(0).dims();
    return made.dims() == wanted ? made
                                 : slice(made, Dims(wanted.size(), 0), wanted,
                                         range(0, static_cast<std::int64_t>(wanted.size())));
  });
  step.give(1, [&] { return weight_gradient(step.dy(), step.x(0), window, call.group); });
  step.give(2, [&] { return channel_sums(step.dy()); });
}

void average_pool(Step& step) {
  const auto pool = step.read_call([](const kernels::Call& c) { return shapes::pool_of(c); });
  if (!step.maker().state()) return;
  const Window& window = pool.window;
  if (!step.maker().has_room_for(window.out_elements(), DType::kFloat32)) return;
  kernels::Pulse pulse;
  std::vector<float> counts = pool.divisors(pulse);
  // A window that has nothing but padding gives nothing.
  for (float& count : counts) count = count == 0 ? 1.0f : count;
  const Dims out = first_of(window.out, window), kernel = first_of(window.kernel, window);
  const tensor::Shape shape = step.maker().shape(out);
  Value divisors = step.maker().constant(tensor::Tensor::of<float>(shape, counts));
  const Value each = step.dy() / cast(divisors, step.dy().type().dtype);
  // Planes are images of one channel: one set of weights serves all.
  const Value planes = reshape(each, joined({pool.planes, 1}, out));
  const tensor::Shape taps = step.maker().shape(joined({1, 1}, kernel));
  const Value ones = filled(step.maker(), 1, {step.dy().type().dtype, taps});
  step.give(0, reshape(spread(planes, ones, window, 1), step.x().dims()));
}

void global_average_pool(Step& step) {
  const std::int64_t places = step.x().type().shape.elements(2, step.x().rank());
  step.give(0, expand(step.dy() / static_cast<double>(places), step.x().dims()));
}

void max_pool(Step& step) {
  const tensor::TensorType places{DType::kInt64, step.y().type().shape};
  if (step.integer("storage_order", 0) != 0)
    return step.refuse("its storage_order 1 has no gradient");
  if (step.opset() >= 8) {
    const Value dy = step.dy();
    return step.give(0, to_indices(dy, step.y_or_more(1, places), step.x().type()));
  }
  const auto both = step.maker().add_many("MaxPool", {step.x()}, step.attributes(), 2);
  step.give(0, to_indices(step.dy(), both[1], step.x().type()));
}

void global_max_pool(Step& step) {
  const Dims all = step.x().dims();
  const auto both =
      step.maker().add_many("MaxPool", {step.x()},
                            attributes_of({{"kernel_shape", Dims(all.begin() + 2, all.end())}}), 2);
  step.give(0, to_indices(step.dy(), both[1], step.x().type()));
}

}  // namespace commensal::grad::rules
