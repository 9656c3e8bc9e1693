// SPDX-License-Identifier: Apache-2.0
// Operators whose gradient is that of others which spell them out.
#include <algorithm>
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>

namespace commensal::grad::rules {

namespace shapes = kernels::shape_inference;

namespace {

using Values = std::vector<Value>;

/// The p-th root of sums of |x| to the power of p, by what sums.
template <class Sum>
Value root_of_powers(Value x, double p, const Sum& sum) {
  const Value size = apply("Abs", x);
  if (p == 1) return sum(size);
  if (p == 2) return apply("Sqrt", sum(x * x));
  return pow(sum(pow(size, p)), 1 / p);
}

double power_of(Step& step) {
  return step.opset() < 2 ? step.real("p", 2) : static_cast<double>(step.integer("p", 2));
}

}  // namespace

/// Of each group as InstanceNormalization of a channel; before opset 21 it has one scale a group.
void group_normalization(Step& step) {
  const std::int64_t groups = step.integer("num_groups", 1);
  const Dims dims = step.x().dims();
  if (groups < 1 || dims.size() < 2 || dims[1] % groups != 0)
    return step.refuse("its groups do not divide its channels");
  step.through([&](const Values& xs) -> Values {
    Maker& maker = step.maker();
    const tensor::DType dtype = xs[0].type().dtype;
    const bool by_channel = step.opset() >= 21;
    const auto constant = [&](double value) {
      return filled(maker, value, {dtype, maker.shape({groups})});
    };
    const Value rows = grad::reshape(
        xs[0], {dims[0], groups, xs[0].type().shape.elements(1, xs[0].rank()) / groups});
    const Value made =
        maker.add("InstanceNormalization",
                  {rows, by_channel ? constant(1) : xs[1], by_channel ? constant(0) : xs[2]},
                  attributes_of({{"epsilon", static_cast<float>(step.real("epsilon", 1e-5f))}}));
    const Value y = grad::reshape(made, dims);
    if (!by_channel) return {y};
    Dims beside(dims.size(), 1);
    beside[1] = dims[1];
    return {y * grad::reshape(xs[1], beside) + grad::reshape(xs[2], beside)};
  });
}

void lrn(Step& step) {
  const auto call = step.read_call([](const kernels::Call& c) { return shapes::lrn_of(c); });
  if (!step.maker().state()) return;
  step.through([&](const Values& xs) -> Values {
    // The mean of `size` channels with those that are not there counts them as zeros.
    const Dims dims = xs[0].dims();
    const Value lines = grad::reshape(xs[0] * xs[0], {dims[0], 1, call.channels, call.plane});
    const Value means =
        step.maker().add("AveragePool", {lines},
                         attributes_of({{"count_include_pad", std::int64_t{1}},
                                        {"kernel_shape", Dims{call.size, 1}},
                                        {"pads", Dims{call.before, 0, call.after, 0}}}));
    const Value base = grad::reshape(means, dims) * static_cast<double>(call.alpha);
    return {xs[0] /
            grad::pow(base + static_cast<double>(call.bias), static_cast<double>(call.beta))};
  });
}

void lp_normalization(Step& step) {
  const auto axis = tensor::normalise_axis(step.integer("axis", -1), step.x().rank());
  if (!axis) return step.refuse(axis.error().message);
  const double p = static_cast<double>(step.integer("p", 2));
  step.through([&](const Values& xs) -> Values {
    return {xs[0] / root_of_powers(xs[0], p, [&](Value x) { return grad::sum(x, {*axis}, true); })};
  });
}

void mean_variance_normalization(Step& step) {
  Dims axes = step.attributes().has("axes") ? step.integers("axes") : Dims{0, 2, 3};
  for (std::int64_t& axis : axes) axis += axis < 0 ? step.x().rank() : 0;
  step.through([&](const Values& xs) -> Values {
    const Value off = xs[0] - grad::mean(xs[0], axes, true);
    return {off / (apply("Sqrt", grad::mean(off * off, axes, true)) + static_cast<double>(1e-9f))};
  });
}

/// The sums of a pool's windows are a Conv of ones over planes.
void lp_pool(Step& step) {
  const auto pool = step.read_call([](const kernels::Call& c) { return shapes::pool_of(c); });
  if (!step.maker().state()) return;
  const shapes::Window& window = pool.window;
  Dims in, out, kernel, strides, dilations, pads, ends;
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    in.push_back(window.in[d]);
    out.push_back(window.out[d]);
    kernel.push_back(window.kernel[d]);
    strides.push_back(window.stride[d]);
    dilations.push_back(window.dilation[d]);
    pads.push_back(window.pad_begin[d]);
    const std::int64_t reach =
        (window.out[d] - 1) * window.stride[d] + (window.kernel[d] - 1) * window.dilation[d] + 1;
    ends.push_back(std::max<std::int64_t>(0, reach - window.pad_begin[d] - window.in[d]));
  }
  pads.insert(pads.end(), ends.begin(), ends.end());
  const auto planes = [&](Dims rest) {
    rest.insert(rest.begin(), {pool.planes, 1});
    return rest;
  };
  const double p = power_of(step);
  step.through([&](const Values& xs) -> Values {
    Dims taps = {1, 1};
    taps.insert(taps.end(), kernel.begin(), kernel.end());
    const Value ones = filled(step.maker(), 1, {xs[0].type().dtype, step.maker().shape(taps)});
    const auto sums = [&](Value x) {
      const Value all = step.maker().add(
          "Conv", {grad::reshape(x, planes(in)), ones},
          attributes_of({{"dilations", dilations}, {"pads", pads}, {"strides", strides}}));
      const Dims wanted = planes(out);
      const Value made = all.dims() == wanted
                             ? all
                             : grad::slice(all, Dims(wanted.size(), 0), wanted,
                                           range(0, static_cast<std::int64_t>(wanted.size())));
      return grad::reshape(made, step.y().dims());
    };
    return {root_of_powers(xs[0], p, sums)};
  });
}

void global_lp_pool(Step& step) {
  const Dims axes = range(2, step.x().rank());
  const double p = power_of(step);
  step.through([&](const Values& xs) -> Values {
    return {root_of_powers(xs[0], p, [&](Value x) { return grad::sum(x, axes, true); })};
  });
}

/// y = x cos - partner sin, y of the partner = x sin + partner cos.
void rotary_embedding(Step& step) {
  const Dims dims = step.x().dims();
  const bool heads_first = dims.size() == 4;
  const std::int64_t heads = heads_first ? dims[1] : step.integer("num_heads", 0);
  const bool neighbours = step.integer("interleaved", 0) != 0;
  if (heads < 1) return step.refuse("it has no heads");
  step.through([&](const Values& xs) -> Values {
    const std::int64_t moments = dims[heads_first ? 2 : 1];
    const std::int64_t width = heads_first ? dims[3] : dims[2] / heads;
    std::int64_t turned = step.integer("rotary_embedding_dim", 0);
    if (turned == 0) turned = width;
    // [N, heads, S, D], the caches [N, 1, S, D / 2] beside it.
    Value x = heads_first ? xs[0]
                          : grad::transpose(grad::reshape(xs[0], {dims[0], moments, heads, width}),
                                            {0, 2, 1, 3});
    const auto cache = [&](Value all) {
      if (xs.size() > 3 && xs[3].maker != nullptr) {
        all = step.maker().add("Gather", {all, xs[3]}, attributes_of({{"axis", std::int64_t{0}}}));
      }
      all = grad::slice(all, {0}, {turned / 2}, {2});
      return grad::reshape(all, {dims[0], 1, moments, turned / 2});
    };
    const Value cosine = cache(xs[1]), sine = cache(xs[2]);
    const auto part = [&](std::int64_t which) {
      if (!neighbours)
        return grad::slice(x, {which * (turned / 2)}, {(which + 1) * (turned / 2)}, {3});
      const Value pairs = grad::reshape(grad::slice(x, {0}, {turned}, {3}),
                                        {dims[0], heads, moments, turned / 2, 2});
      return grad::reshape(grad::slice(pairs, {which}, {which + 1}, {4}),
                           {dims[0], heads, moments, turned / 2});
    };
    const Value a = part(0), b = part(1);
    const Value first = a * cosine - b * sine, second = a * sine + b * cosine;
    Value y = grad::concat({first, second}, 3);
    if (neighbours) {
      const Dims apart = {dims[0], heads, moments, turned / 2, 1};
      y = grad::reshape(
          grad::concat({grad::reshape(first, apart), grad::reshape(second, apart)}, 4),
          {dims[0], heads, moments, turned});
    }
    if (turned < width) y = grad::concat({y, grad::slice(x, {turned}, {width}, {3})}, 3);
    return {heads_first ? y : grad::reshape(grad::transpose(y, {0, 2, 1, 3}), dims)};
  });
}

}  // namespace commensal::grad::rules
