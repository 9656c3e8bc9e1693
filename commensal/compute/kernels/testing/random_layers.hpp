// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/testing/random_calls.hpp>
#include <string_view>

/// Random calls of layers: products, convolutions, pools, normalisation, quantised codes. And the
/// list of all recipes.
namespace commensal::kernels::testing {

inline Tensor random_weights(Draw& draw, tensor::DType dtype, const tensor::Shape& shape) {
  return random_of(draw, dtype, shape, draw.one_in(6) ? Blend::kSpecial : Blend::kPlain);
}

struct RandomWindow {
  Ints kernel, strides, dilations, pads;
  explicit RandomWindow(Draw& draw, const Tensor& x) {
    for (int i = 2; i < x.shape().rank(); ++i) {
      kernel.push_back(draw.number(1, 4));
      strides.push_back(draw.number(1, 3));
      dilations.push_back(draw.one_in(3) ? 2 : 1);
    }
    for (int i = 0; i < 2 * (x.shape().rank() - 2); ++i) pads.push_back(draw.number(0, 2));
  }
  Attributes attributes(bool dilates) const {
    Attributes made =
        attributes_of({{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}});
    if (dilates) made.set("dilations", dilations);
    return made;
  }
};

inline std::optional<Sample> random_conv(Draw& draw, const Tensor& x) {
  if (x.shape().rank() < 3) return std::nullopt;
  RandomWindow window(draw, x);
  if (draw.one_in(2)) {  // the shapes of the Winograd clause, where there are 16 channels
    std::ranges::fill(window.kernel, 3);
    std::ranges::fill(window.strides, 1);
    std::ranges::fill(window.dilations, 1);
  }
  const std::int64_t channels = x.shape()[1];
  Ints groups = {1, 1};
  if (channels == 0) groups.push_back(2);
  for (std::int64_t g = 1; g <= channels; ++g) {
    if (channels % g == 0) groups.push_back(g);
  }
  const std::int64_t group = draw.of(groups);
  const bool turned = draw.one_in(4);
  Ints w = {group * draw.dimension(5), channels / group};
  if (turned) w = {channels, draw.dimension(4)};
  w.insert(w.end(), window.kernel.begin(), window.kernel.end());
  Sample made{turned ? "ConvTranspose" : "Conv",
              17,
              {x, random_weights(draw, x.dtype(), shape_of(w))},
              window.attributes(true)};
  made.attributes.set("group", group);
  const std::int64_t out = turned ? w[1] * group : w[0];
  if (draw.one_in(2)) made.inputs.push_back(random_weights(draw, x.dtype(), {out}));
  return made;
}

inline std::optional<Sample> random_pool(Draw& draw, const Tensor& x) {
  if (x.shape().rank() < 3) return std::nullopt;
  const RandomWindow window(draw, x);
  if (draw.one_in(3)) {
    return Sample{draw.of({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}), 17, {x}};
  }
  const auto* const name = draw.of({"MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"});
  Sample made{name, 19, {x}, window.attributes(true)};
  made.attributes.set("ceil_mode", draw.number(0, 1));
  if (made.name == "MaxPool") {
    if (draw.one_in(2)) made.outputs = 2;
    made.attributes.set("storage_order", draw.number(0, 1));
  }
  if (made.name == "AveragePool") made.attributes.set("count_include_pad", draw.number(0, 1));
  if (made.name == "LpPool") made.attributes.set("p", draw.number(1, 3));
  return made;
}

inline std::optional<Sample> random_gemm(Draw& draw, const Tensor& x) {
  if (x.shape().rank() != 2) return std::nullopt;
  const std::int64_t ta = draw.number(0, 1), tb = draw.number(0, 1);
  const std::int64_t m = x.shape()[ta == 0 ? 0 : 1], k = x.shape()[ta == 0 ? 1 : 0];
  const std::int64_t n = draw.one_in(4) ? draw.number(40, 70) : draw.dimension(12);
  Sample made{"Gemm",
              13,
              {x, random_weights(draw, x.dtype(), tb == 0 ? shape_of({k, n}) : shape_of({n, k}))},
              attributes_of({{"transA", ta}, {"transB", tb}})};
  if (draw.one_in(3)) made.attributes.set("alpha", draw.real(-2, 2));
  if (draw.one_in(3)) made.attributes.set("beta", draw.real(-2, 2));
  if (draw.one_in(2)) {
    const tensor::Shape c = broadcastable(draw, shape_of({m, n}));
    made.inputs.push_back(random_of(draw, x.dtype(), c, Blend::kSpecial));
  }
  return made;
}

inline std::optional<Sample> random_matmul(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  const Ints dims = dims_of(x);
  const std::int64_t k = dims.back();
  Ints other(dims.begin(), dims.begin() + std::max(x.shape().rank() - 2, 0));
  if (draw.one_in(3)) other.clear();
  for (auto& dim : other) dim = draw.one_in(3) ? 1 : dim;
  other.push_back(k);
  if (other.size() > 1 || !draw.one_in(4)) other.push_back(draw.dimension(50));
  return Sample{"MatMul", 13, {x, random_weights(draw, x.dtype(), shape_of(other))}};
}

inline std::optional<Sample> random_normalisation(Draw& draw, const Tensor& x) {
  if (x.shape().rank() < 2) return std::nullopt;
  const tensor::Shape c = {x.shape()[1]};
  const auto weights = [&] { return random_weights(draw, x.dtype(), c); };
  switch (draw.number(0, 6)) {
    case 0: {
      const Tensor scale = weights(), bias = weights(), mean = weights();
      return Sample{"BatchNormalization", 13, {x, scale, bias, mean, weights()}};
    }
    case 1: {
      const Tensor scale = weights();
      return Sample{"InstanceNormalization", 13, {x, scale, weights()}};
    }
    case 2:
      return Sample{
          "LRN", 13, {x}, attributes_of({{"size", draw.number(1, draw.one_in(4) ? 40 : 5)}})};
    case 3:
      return Sample{"LpNormalization",
                    13,
                    {x},
                    attributes_of({{"axis", random_axis(draw, x)}, {"p", draw.number(1, 2)}})};
    case 4: {
      Ints axes;
      for (int i = 0; i < x.shape().rank(); ++i) {
        if (draw.one_in(2)) axes.push_back(draw.one_in(2) ? i : i - x.shape().rank());
      }
      return Sample{"MeanVarianceNormalization", 13, {x}, attributes_of({{"axes", axes}})};
    }
    case 5: {
      const Ints all = dims_of(x);
      const std::int64_t from = draw.number(0, x.shape().rank() - 1);
      Ints scale(all.begin() + from, all.end());
      if (draw.one_in(4)) scale[0] = 1;
      const Tensor by = random_weights(draw, x.dtype(), shape_of(scale));
      return Sample{"RMSNormalization", 23, {x, by}, attributes_of({{"axis", from}})};
    }
    default:
      break;
  }
  const std::int64_t axis = draw.number(0, x.shape().rank() - 1);
  const Ints dims = dims_of(x);
  const tensor::Shape tail = shape_of({dims.begin() + axis, dims.end()});
  Sample made{"LayerNormalization",
              17,
              {x, random_weights(draw, x.dtype(), tail)},
              attributes_of({{"axis", axis}}),
              static_cast<int>(draw.number(1, 3))};
  if (draw.one_in(2)) made.inputs.push_back(random_weights(draw, x.dtype(), tail));
  return made;
}

inline std::optional<Sample> random_quantised(Draw& draw, const Tensor& x) {
  using tensor::DType;
  const auto scale = [&] { return scalar_of(draw.real(0.01f, 0.5f)); };
  if (x.dtype() == DType::kFloat32) {
    if (draw.one_in(2)) return Sample{"DynamicQuantizeLinear", 13, {x}, {}, 3};
    const DType to = draw.one_in(2) ? DType::kUint8 : DType::kInt8;
    return Sample{"QuantizeLinear", 13, {x, scale(), random_of(draw, to, {}, Blend::kWild)}};
  }
  if (x.dtype() != DType::kUint8 && x.dtype() != DType::kInt8) return std::nullopt;
  const Tensor zero = random_of(draw, x.dtype(), {}, Blend::kWild);
  if (draw.one_in(2) || x.shape().rank() == 0) {
    return Sample{"DequantizeLinear", 13, {x, scale(), zero}};
  }
  const std::int64_t k = x.shape()[x.shape().rank() - 1];
  const DType other = draw.one_in(2) ? DType::kUint8 : DType::kInt8;
  const tensor::Shape right = {k, draw.dimension(9)};
  return Sample{"MatMulInteger", 13, {x, random_of(draw, other, right, Blend::kWild), zero}};
}

inline std::optional<Sample> random_resize(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  std::vector<float> scales;
  for (int i = 0; i < x.shape().rank(); ++i) {
    scales.push_back(i == 0 || draw.one_in(2) ? 1.0f : draw.real(0.4f, 2.5f));
  }
  const Tensor by = Tensor::of<float>({x.shape().rank()}, scales);
  Sample made{"Resize", 13, {x, Tensor(), by}};
  made.attributes.set("mode", std::string(draw.of({"nearest", "linear", "cubic"})));
  made.attributes.set(
      "coordinate_transformation_mode",
      std::string(draw.of({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})));
  return made;
}

inline std::optional<Sample> random_scatter(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  const std::int64_t axis = random_axis(draw, x), dim = dim_at(x, axis);
  Ints dims = dims_of(x), places;
  for (auto& each : dims) each = each == 0 ? 0 : draw.dimension(each);
  const tensor::Shape shape = shape_of(dims);
  for (std::int64_t i = 0; i < shape.elements(); ++i) places.push_back(draw.number(-dim, dim - 1));
  const Blend blend = random_blend(draw);
  return Sample{
      "ScatterElements",
      18,
      {x, Tensor::of<std::int64_t>(shape, places), random_of(draw, x.dtype(), shape, blend)},
      attributes_of({{"axis", axis},
                     {"reduction", std::string(draw.of({"none", "add", "mul", "max", "min"}))}})};
}

/// Products of codes, whose scales are single numbers.
inline std::optional<Sample> random_code_product(Draw& draw, const Tensor& x) {
  using tensor::DType;
  if (x.dtype() != DType::kUint8 && x.dtype() != DType::kInt8) return std::nullopt;
  const auto scale = [&] { return scalar_of(draw.real(0.01f, 0.2f)); };
  const auto zero = [&] { return random_of(draw, x.dtype(), {}, Blend::kWild); };
  if (x.shape().rank() == 2) {
    const tensor::Shape right = {x.shape()[1], draw.dimension(7)};
    const Tensor b = random_of(draw, x.dtype(), right, Blend::kWild);
    Sample made{"QLinearMatMul", 13, {x}};
    for (const Tensor& input : {scale(), zero(), b, scale(), zero(), scale(), zero()}) {
      made.inputs.push_back(input);
    }
    return made;
  }
  if (x.shape().rank() != 4) return std::nullopt;
  const RandomWindow window(draw, x);
  const tensor::Shape w = {draw.dimension(4), x.shape()[1], window.kernel[0], window.kernel[1]};
  const Tensor weights = random_of(draw, x.dtype(), w, Blend::kWild);
  Sample made{draw.of({"ConvInteger", "QLinearConv"}), 10, {x}, window.attributes(true)};
  const Tensor x_scale = scale(), x_zero = zero(), w_zero = zero();
  if (made.name == "ConvInteger") {
    made.inputs = {x, weights, x_zero, w_zero};
  } else {
    const Tensor w_scale = scale(), y_scale = scale();
    made.inputs = {x, x_scale, x_zero, weights, w_scale, w_zero, y_scale, zero()};
  }
  return made;
}

inline std::optional<Sample> random_places(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  const std::int64_t axis = random_axis(draw, x);
  if (draw.one_in(2)) {
    const std::int64_t depth = draw.number(1, 5);
    const Tensor values = random_of(draw, tensor::DType::kFloat32, {2}, Blend::kWild);
    return Sample{"OneHot", 11, {x, list_of({depth}), values}, attributes_of({{"axis", axis}})};
  }
  return Sample{"Det", 13, {x}};
}

struct NamedRecipe {
  std::string_view name;
  Recipe make;
};
inline constexpr NamedRecipe kRecipes[] = {
    {"unary", random_unary},         {"binary", random_binary},
    {"variadic", random_variadic},   {"choice", random_choice},
    {"cast", random_cast},           {"transpose", random_transpose},
    {"reshape", random_reshape},     {"ones", random_ones},
    {"slice", random_slice},         {"join", random_join},
    {"gather", random_gather},       {"growth", random_growth},
    {"layout", random_layout},       {"reduction", random_reduction},
    {"along", random_along},         {"conv", random_conv},
    {"pool", random_pool},           {"gemm", random_gemm},
    {"matmul", random_matmul},       {"normalisation", random_normalisation},
    {"quantised", random_quantised}, {"resize", random_resize},
    {"scatter", random_scatter},     {"code_product", random_code_product},
    {"places", random_places},
};

}  // namespace commensal::kernels::testing
