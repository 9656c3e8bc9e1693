// SPDX-License-Identifier: Apache-2.0
// Samples of the operators that look elements up by place.
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::i64;
using make::List;
using make::list;
using make::Named;
using make::Samples;
using make::Shape;
using make::text;
using make::with;

// Values in [-3, 3), other ones for every stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 3, 13, stream);
}
Tensor reals(std::vector<float> values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

// One axis is scaled at a time: a list of one scale is spared by `with_specials`, which would make
// scales of infinity.
void add_resizes(Samples& s) {
  const Tensor larger = reals({1.7f}), smaller = reals({0.6f});
  for (const char* mode : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                           "align_corners", "asymmetric", "tf_half_pixel_for_nn"}) {
    for (const char* way : {"nearest", "linear", "cubic"}) {
      for (const Tensor& scale : {larger, smaller}) {
        s.push_back({"Resize",
                     18,
                     {f32({2, 5, 3}), Tensor(), scale},
                     with({{"mode", text(way)},
                           {"axes", List{1}},
                           {"coordinate_transformation_mode", text(mode)}})});
      }
    }
  }
  for (const char* way : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    s.push_back({"Resize",
                 18,
                 {f32({3, 4}), Tensor(), Tensor(), list({7})},
                 with({{"nearest_mode", text(way)}, {"axes", List{-1}}})});
  }
  s.push_back({"Resize",
               13,
               {f32({2, 5, 4}), Tensor(), Tensor(), list({2, 4, 6})},
               with({{"mode", text("cubic")}, {"exclude_outside", std::int64_t{1}}})});
  s.push_back({"Resize",
               18,
               {f32({2, 5, 4}), Tensor(), Tensor(), list({7, 9})},
               with({{"mode", text("linear")},
                     {"axes", List{1, 2}},
                     {"keep_aspect_ratio_policy", text("not_smaller")}})});
  s.push_back({"Resize", 11, {f32({4}), Tensor(), larger}, with({{"mode", text("linear")}})});
  const Tensor crop = Tensor::of<double>({4}, std::vector{0.2, 0.1, 0.7, 1.2});
  s.push_back({"Resize",
               13,
               {f32({4, 3}), crop, Tensor(), list({3, 4})},
               with({{"mode", text("linear")},
                     {"coordinate_transformation_mode", text("tf_crop_and_resize")},
                     {"extrapolation_value", 7.0f}})});
  for (const char* way : {"linear", "cubic"}) {
    for (const std::int64_t outside : {0, 1}) {
      s.push_back({"Resize",
                   19,
                   {f32({2, 9, 7}), Tensor(), Tensor(), list({4, 3})},
                   with({{"mode", text(way)},
                         {"axes", List{1, 2}},
                         {"antialias", std::int64_t{1}},
                         {"exclude_outside", outside}})});
    }
  }
  s.push_back({"Resize", 10, {f32({4}), smaller}});
  s.push_back({"Upsample", 9, {f32({4}), larger}, with({{"mode", text("linear")}})});
  s.push_back({"Upsample", 7, {f32({3, 4})}, with({{"scales", std::vector<float>{1, 2.5f}}})});
}

void add_transposed(Samples& s) {
  s.push_back({"ConvTranspose",
               11,
               {f32({2, 4, 3, 4}), f32({4, 2, 3, 2}, 1), f32({4}, 2)},
               with({{"group", std::int64_t{2}},
                     {"strides", List{2, 1}},
                     {"pads", List{1, 0, 0, 1}},
                     {"output_padding", List{1, 0}}})});
  for (const int opset : {1, 11}) {
    s.push_back({"ConvTranspose",
                 opset,
                 {f32({1, 2, 5}), f32({2, 1, 3}, 1)},
                 with({{"strides", List{3}}, {"output_shape", List{14}}})});
  }
  s.push_back({"ConvTranspose",
               11,
               {f32({1, 2, 3, 3}), f32({2, 3, 2, 3}, 1)},
               with({{"auto_pad", text("SAME_LOWER")}, {"dilations", List{2, 1}}})});
}

void add_scatters(Samples& s) {
  const Tensor rows = i64({2, 3}, {1, 0, 1, 0, 1, -1});
  for (const char* join : {"none", "add", "mul", "max", "min"}) {
    s.push_back({"ScatterElements",
                 18,
                 {f32({3, 3}), rows, f32({2, 3}, 1)},
                 with({{"reduction", text(join)}})});
    s.push_back({"ScatterND",
                 18,
                 {f32({4, 2, 2}), i64({3, 1}, {0, 1, 0}), f32({3, 2, 2}, 1)},
                 with({{"reduction", text(join)}})});
  }
  s.push_back({"Scatter",
               9,
               {f32({3, 4}), i64({3, 1}, {1, 0, -2}), f32({3, 1}, 1)},
               with({{"axis", std::int64_t{1}}})});
  const Attributes pooled = with({{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}});
  const Tensor places = i64({1, 1, 2, 2}, {0, 7, 1, 1});
  s.push_back({"MaxUnpool", 11, {f32({1, 1, 2, 2}), places}, pooled});
  s.push_back({"MaxUnpool", 11, {f32({1, 1, 2, 2}), places, list({1, 1, 5, 3})}, pooled});
}

void add_orders(Samples& s) {
  s.push_back({"TopK", 1, {f32({2, 7})}, with({{"k", std::int64_t{3}}}), 2});
  s.push_back({"TopK", 10, {f32({2, 7}), list({1})}, {}, 2});
  s.push_back({"TopK",
               11,
               {f32({5, 3}), list({1})},
               with({{"axis", std::int64_t{0}}, {"largest", std::int64_t{0}}}),
               2});
  s.push_back({"NonZero", 13, {i64({2, 3}, {1, 0, 1, 1, 0, 0})}});
  s.push_back({"NonZero", 13, {f32({2, 2})}});
  s.push_back({"Unique", 11, {i64({6}, {1, 0, 1, 1, 0, 0})}, {}, 4});
  s.push_back({"Unique", 11, {f32({5})}, with({{"sorted", std::int64_t{0}}}), 4});
  s.push_back(
      {"Unique", 11, {i64({3, 2}, {1, 0, 0, 1, 1, 0})}, with({{"axis", std::int64_t{0}}}), 2});
  s.push_back({"OneHot",
               11,
               {i64({2, 2}, {1, 0, -1, 1}), list({1}), reals({-0.5f, 2})},
               with({{"axis", std::int64_t{1}}})});
  s.push_back({"OneHot", 9, {f32({3}), list({4}), reals({0, 1})}});
  s.push_back({"ReverseSequence", 10, {f32({3, 2, 2}), list({1, 0})}});
  s.push_back({"ReverseSequence",
               10,
               {f32({2, 4}), list({3, 1})},
               with({{"time_axis", std::int64_t{1}}, {"batch_axis", std::int64_t{0}}})});
}

void add_images(Samples& s) {
  for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const std::int64_t align : {0, 1}) {
        s.push_back({"GridSample",
                     16,
                     {f32({2, 1, 4, 3}), f32({2, 2, 3, 2}, 1)},
                     with({{"mode", text(mode)},
                           {"padding_mode", text(padding)},
                           {"align_corners", align}})});
      }
    }
  }
  // In binary64, which `with_specials` spares: a region must be finite.
  const Tensor regions =
      Tensor::of<double>({2, 4}, std::vector{0.2, 0.5, 3.0, 4.1, 1.0, -2.0, 2.0, 9.0});
  const Tensor single = f32({2, 2, 5, 4});
  const std::vector<double> pixels(single.data<float>().begin(), single.data<float>().end());
  const Tensor images = Tensor::of<double>({2, 2, 5, 4}, pixels);
  for (const int opset : {10, 16, 22}) {
    s.push_back({"RoiAlign",
                 opset,
                 {images, regions, list({1, 0})},
                 with({{"output_height", std::int64_t{2}},
                       {"output_width", std::int64_t{3}},
                       {"mode", text(opset == 22 ? "max" : "avg")}})});
  }
  const Tensor boxes = reals({0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 5, 1, 6}).reshaped({1, 3, 4});
  s.push_back(
      {"NonMaxSuppression", 11, {boxes, f32({1, 2, 3}), list({2}), reals({0.5f}), reals({-9})}});
  s.push_back({"NonMaxSuppression",
               10,
               {boxes, f32({1, 1, 3}), list({1})},
               with({{"center_point_box", std::int64_t{1}}})});
}

void add_sums(Samples& s) {
  for (const char* equation : {"...ij,...jk->...ik", "bij, ajk"}) {
    s.push_back(
        {"Einsum", 12, {f32({2, 3, 4}), f32({1, 4, 2}, 1)}, with({{"equation", text(equation)}})});
  }
  s.push_back({"Einsum", 12, {f32({3, 3})}, with({{"equation", text("ii->i")}})});
  s.push_back({"Einsum",
               12,
               {f32({3}), f32({3, 2}, 1), f32({2}, 2)},
               with({{"equation", text("i,ij,j")}})});
  s.push_back({"Det", 11, {f32({2, 4, 4})}});
}

}  // namespace

std::vector<Sample> place_samples() {
  Samples samples;
  add_resizes(samples);
  add_transposed(samples);
  add_scatters(samples);
  add_orders(samples);
  add_images(samples);
  add_sums(samples);
  return samples;
}

}  // namespace commensal::kernels::testing
