// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/testing/random_layers.hpp>

/// Random calls of operators that sample images, and of those that put elements elsewhere by what
/// inputs say: along every axis, for every type, over more places than a vector has.
namespace commensal::kernels::testing {

/// Of x's type: what x is drawn from says which.
inline Tensor random_image(Draw& draw, const Tensor& x, int rank, std::int64_t most) {
  Ints dims;
  for (int d = 0; d < rank; ++d) dims.push_back(draw.dimension(d == rank - 1 ? most : 6));
  if (draw.one_in(3)) std::swap(dims[static_cast<std::size_t>(draw.number(0, rank - 1))], dims[0]);
  const Blend blend = random_blend(draw);
  return random_of(draw, x.dtype(), shape_of(dims), blend);
}

inline std::optional<Sample> random_resizing(Draw& draw, const Tensor& like) {
  const Tensor x = random_image(draw, like, static_cast<int>(draw.number(1, 4)), 40);
  Ints axes, sizes;
  std::vector<float> scales, crop;
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (draw.one_in(2)) continue;
    axes.push_back(draw.one_in(2) ? d : d - x.shape().rank());
    sizes.push_back(draw.dimension(draw.one_in(3) ? 90 : 12));
    scales.push_back(draw.one_in(4) ? 1.0f : draw.one_in(3) ? 2.0f : draw.real(0.3f, 3));
  }
  for (std::size_t i = 0; i < 2 * axes.size(); ++i) {
    crop.push_back(i < axes.size() ? draw.real(-0.2f, 0.4f) : draw.real(0.6f, 1.3f));
  }
  const auto list = [](const std::vector<float>& values) {
    return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
  };
  const char* place =
      draw.of({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
               "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  const bool crops = std::string_view(place) == "tf_crop_and_resize";
  Sample made{"Resize", 19, {x, crops ? list(crop) : Tensor()}};
  if (draw.one_in(2)) {
    made.inputs.insert(made.inputs.end(), {Tensor(), list_of(sizes)});
  } else {
    made.inputs.push_back(list(scales));
  }
  made.attributes = attributes_of(
      {{"axes", axes},
       {"mode", std::string(draw.of({"nearest", "linear", "cubic"}))},
       {"coordinate_transformation_mode", std::string(place)},
       {"nearest_mode",
        std::string(draw.of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))},
       {"antialias", draw.number(0, 1)},
       {"exclude_outside", draw.number(0, 1)},
       {"extrapolation_value", draw.real(-2, 2)}});
  return made;
}

inline std::optional<Sample> random_sampling(Draw& draw, const Tensor& like) {
  const auto spatial = static_cast<int>(draw.number(1, 3));
  const Tensor x = random_image(draw, like, 2 + spatial, 20);
  if (draw.one_in(2)) {
    Ints grid = {x.shape()[0]};
    for (int d = 0; d < spatial; ++d) grid.push_back(draw.dimension(spatial > 2 ? 5 : 12));
    grid.push_back(spatial);
    const tensor::DType of_grid =
        draw.one_in(4) ? tensor::DType::kFloat64 : tensor::DType::kFloat32;
    const Blend blend = draw.one_in(3) ? Blend::kSpecial : Blend::kPlain;
    Sample made{"GridSample", 20, {x, random_of(draw, of_grid, shape_of(grid), blend)}};
    made.attributes =
        attributes_of({{"mode", std::string(draw.of({"linear", "nearest", "cubic"}))},
                       {"padding_mode", std::string(draw.of({"zeros", "border", "reflection"}))},
                       {"align_corners", draw.number(0, 1)}});
    return made;
  }
  if (spatial != 2) return std::nullopt;
  const std::int64_t regions = x.shape()[0] == 0 ? 0 : draw.dimension(4);
  const bool aligns = draw.one_in(2);
  std::vector<float> corners;
  Ints images;
  for (std::int64_t r = 0; r < regions; ++r) {
    images.push_back(draw.number(0, x.shape()[0] - 1));
    if (!aligns) corners.push_back(static_cast<float>(images.back()));
    std::array<float, 4> corner{};  // padding is of zeros
    if (!draw.one_in(8)) {
      for (std::size_t i = 0; i < 4; ++i) corner[i] = draw.real(i < 2 ? -3.0f : 4, i < 2 ? 6 : 22);
    }
    for (std::size_t i = 0; i < 2; ++i) {  // no width or height, or less
      if (draw.one_in(5)) corner[i + 2] = corner[i];
      if (draw.one_in(8)) std::swap(corner[i], corner[i + 2]);
    }
    corners.insert(corners.end(), corner.begin(), corner.end());
  }
  const tensor::Shape shape = {regions, aligns ? 4 : 5};
  const Tensor plain = Tensor::of<float>(shape, corners);
  Tensor rois = plain;
  if (x.dtype() == tensor::DType::kFloat64) {
    rois = Tensor::of<double>(shape, std::vector<double>(corners.begin(), corners.end()));
  } else if (x.dtype() != tensor::DType::kFloat32) {
    return std::nullopt;
  }
  if (!aligns) {
    return Sample{"MaxRoiPool",
                  1,
                  {x, rois},
                  attributes_of({{"pooled_shape", Ints{draw.number(1, 7), draw.number(1, 7)}},
                                 {"spatial_scale", draw.real(0.5f, 1.5f)}})};
  }
  return Sample{"RoiAlign",
                draw.one_in(2) ? 16 : 10,
                {x, rois, list_of(images)},
                attributes_of({{"output_height", draw.number(1, 6)},
                               {"output_width", draw.number(1, draw.one_in(4) ? 40 : 7)},
                               {"sampling_ratio", draw.number(0, 3)},
                               {"mode", std::string(draw.of({"avg", "max"}))},
                               {"spatial_scale", draw.real(0.5f, 1.5f)}})};
}

/// A convolution whose taps lie anywhere, and a grid for GridSample.
inline std::optional<Sample> random_bending(Draw& draw, const Tensor& like) {
  if (draw.one_in(3)) {
    const std::int64_t axes = draw.number(2, 3), batch = draw.number(0, 3);
    Ints size = {batch, draw.dimension(3)};
    const std::int64_t width = draw.one_in(8) ? 2500 : 70;
    for (std::int64_t d = 0; d < axes; ++d)
      size.push_back(draw.dimension(d + 1 == axes ? width : 5));
    const Blend blend = random_blend(draw);
    return Sample{"AffineGrid",
                  20,
                  {random_of(draw, like.dtype(), {batch, axes, axes + 1}, blend), list_of(size)},
                  attributes_of({{"align_corners", draw.number(0, 1)}})};
  }
  const std::int64_t offsets = draw.number(1, 2), group = draw.number(1, 2);
  const std::int64_t channels = offsets * group * draw.dimension(3), batch = draw.dimension(2);
  const tensor::Shape image = {batch, channels, draw.number(3, 8), draw.number(3, 20)};
  const Blend blend = random_blend(draw);
  const Tensor x = random_of(draw, like.dtype(), image, blend);
  const RandomWindow window(draw, x);
  Ints out;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = image[static_cast<int>(d) + 2] + window.pads[d] + window.pads[d + 2] -
                              window.dilations[d] * (window.kernel[d] - 1) - 1;
    if (room < 0) return std::nullopt;
    out.push_back(room / window.strides[d] + 1);
  }
  const std::int64_t taps = window.kernel[0] * window.kernel[1], rows = group * draw.dimension(9);
  const auto plain = [&](const tensor::Shape& shape) {
    return random_weights(draw, x.dtype(), shape);
  };
  const Tensor weights = plain({rows, channels / group, window.kernel[0], window.kernel[1]});
  Sample made{"DeformConv",
              19,
              {x, weights, plain({batch, 2 * offsets * taps, out[0], out[1]})},
              window.attributes(true)};
  made.attributes.set("group", group);
  made.attributes.set("offset_group", offsets);
  if (draw.one_in(2)) {
    made.inputs.push_back(draw.one_in(2) ? plain({rows}) : Tensor());
    made.inputs.push_back(plain({batch, offsets * taps, out[0], out[1]}));
  }
  return made;
}

/// The columns that blocks of an image are, summed into it.
inline std::optional<Sample> random_columns(Draw& draw, const Tensor& like) {
  const auto spatial = static_cast<std::size_t>(draw.number(1, 3));
  Ints image, block, strides, dilations, pads(2 * spatial, 0);
  std::int64_t taps = 1, blocks = 1;
  for (std::size_t d = 0; d < spatial; ++d) {
    image.push_back(draw.number(1, d + 1 == spatial ? 70 : 7));
    block.push_back(draw.number(1, spatial == 1 ? 40 : 4));
    strides.push_back(draw.number(1, 3));
    dilations.push_back(draw.number(1, 2));
    pads[d] = draw.number(0, 2), pads[d + spatial] = draw.number(0, 2);
    const std::int64_t room =
        image[d] + pads[d] + pads[d + spatial] - dilations[d] * (block[d] - 1) - 1;
    if (room < 0) return std::nullopt;
    taps *= block[d];
    blocks *= room / strides[d] + 1;
  }
  const Blend blend = random_blend(draw);
  const tensor::Shape shape = {draw.dimension(2), taps * draw.dimension(3), blocks};
  if (shape.elements() > 20'000) return std::nullopt;
  return Sample{"Col2Im",
                18,
                {random_of(draw, like.dtype(), shape, blend), list_of(image), list_of(block)},
                attributes_of({{"strides", strides}, {"dilations", dilations}, {"pads", pads}})};
}

inline std::optional<Sample> random_putting(Draw& draw, const Tensor& like) {
  const Tensor x = random_image(draw, like, static_cast<int>(draw.number(2, 4)), 40);
  if (x.shape().elements() == 0) return std::nullopt;  // there are no places
  const Ints dims = dims_of(x);
  const auto places_in = [&](const tensor::Shape& shape, std::int64_t dim) {
    Ints made;
    for (std::int64_t i = 0; i < shape.elements(); ++i) made.push_back(draw.number(-dim, dim - 1));
    return Tensor::of<std::int64_t>(shape, made);
  };
  const std::string join = draw.of({"none", "add", "mul", "max", "min"});
  const std::int64_t axis = random_axis(draw, x);
  switch (draw.number(0, 3)) {
    case 0: {  // all dimensions but the last are named
      Ints tuples = {draw.dimension(9), draw.number(1, x.shape().rank())};
      const Tensor at = places_in(shape_of(tuples), *std::ranges::min_element(dims));
      if (draw.one_in(3)) return Sample{"GatherND", 13, {x, at}};
      Ints updates = {tuples[0]};
      updates.insert(updates.end(), dims.begin() + tuples[1], dims.end());
      const Blend blend = random_blend(draw);
      return Sample{"ScatterND",
                    18,
                    {x, at, random_of(draw, x.dtype(), shape_of(updates), blend)},
                    attributes_of({{"reduction", join}})};
    }
    case 1: {
      Ints fewer = dims;
      for (auto& dim : fewer) dim = draw.dimension(dim);
      const Tensor at = places_in(shape_of(fewer), dim_at(x, axis));
      if (draw.one_in(2)) {
        return Sample{"GatherElements", 13, {x, at}, attributes_of({{"axis", axis}})};
      }
      const Blend blend = random_blend(draw);
      return Sample{"ScatterElements",
                    18,
                    {x, at, random_of(draw, x.dtype(), shape_of(fewer), blend)},
                    attributes_of({{"axis", axis}, {"reduction", join}})};
    }
    case 2: {
      const Tensor at = places_in({draw.dimension(5), draw.dimension(5)}, dim_at(x, axis));
      return Sample{"Gather", 13, {x, at}, attributes_of({{"axis", axis}})};
    }
    default:
      break;
  }
  if (x.shape().rank() != 4) return std::nullopt;
  Ints places;
  const std::int64_t most = x.shape().elements() * 4;
  for (std::int64_t i = 0; i < x.shape().elements(); ++i)
    places.push_back(draw.number(0, most - 1));
  Sample made{"MaxUnpool",
              11,
              {x, Tensor::of<std::int64_t>(x.shape(), places)},
              attributes_of({{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})};
  if (draw.one_in(2)) {
    made.inputs.push_back(list_of({dims[0], dims[1], 2 * dims[2] + 1, 2 * dims[3] - 1}));
  }
  return made;
}

inline std::optional<Sample> random_finding(Draw& draw, const Tensor& like) {
  const Tensor x = random_image(draw, like, static_cast<int>(draw.number(1, 4)), 80);
  const std::int64_t axis = random_axis(draw, x), dim = dim_at(x, axis);
  const auto zero_one = [&](std::int64_t count) {
    return random_of(draw, tensor::DType::kBool, {count});
  };
  switch (draw.number(0, 7)) {
    case 0:
      return Sample{"NonZero", 13, {x}};
    case 1: {
      Sample made{"Unique", 11, {x}, attributes_of({{"sorted", draw.number(0, 1)}})};
      if (draw.one_in(2)) made.attributes.set("axis", axis);
      made.outputs = static_cast<int>(draw.number(1, 4));
      return made;
    }
    case 2:
      if (draw.one_in(2)) return Sample{"Compress", 11, {x, zero_one(x.shape().elements())}};
      return Sample{"Compress", 11, {x, zero_one(dim)}, attributes_of({{"axis", axis}})};
    case 3: {
      const std::int64_t depth = draw.number(1, 40);
      Ints hot;
      for (std::int64_t i = 0; i < dim; ++i) hot.push_back(draw.number(-depth - 2, depth + 2));
      const Tensor values = random_of(draw, x.dtype(), {2}, Blend::kWild);
      return Sample{"OneHot",
                    11,
                    {list_of(hot), list_of({depth}), values},
                    attributes_of({{"axis", draw.number(-2, 1)}})};
    }
    case 4: {
      const std::int64_t batch = draw.number(0, x.shape().rank() - 1);
      Ints lengths;
      for (std::int64_t i = 0; i < dim_at(x, batch); ++i) lengths.push_back(draw.number(0, dim));
      return Sample{"ReverseSequence",
                    10,
                    {x, list_of(lengths)},
                    attributes_of({{"time_axis", axis}, {"batch_axis", batch}})};
    }
    case 5: {
      Ints sizes;
      for (int d = 0; d < x.shape().rank(); ++d) sizes.push_back(draw.number(0, 50));
      return Sample{"CenterCropPad", 18, {x, list_of(sizes)}};
    }
    case 6:
      if (x.shape().rank() != 2) return std::nullopt;
      return Sample{"EyeLike", 9, {x}, attributes_of({{"k", draw.number(-50, 50)}})};
    default:
      break;
  }
  Ints pads;
  for (int i = 0; i < 2 * x.shape().rank(); ++i) pads.push_back(draw.number(-1, 3));
  return Sample{"Pad",
                19,
                {x, list_of(pads)},
                attributes_of({{"mode", std::string(draw.of({"edge", "reflect", "wrap"}))}})};
}

}  // namespace commensal::kernels::testing
