// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample are linear, axis by axis: what they make of the unit vectors is the matrix
// that its gradient is multiplied by. Nearest, linear, cubic, antialias alike.
#include <commensal/compute/grad/rules.hpp>

namespace commensal::grad::rules {

namespace {

std::vector<float> reals_of(const tensor::Tensor& given) {
  if (given.dtype() == tensor::DType::kFloat64)
    return {given.data<double>().begin(), given.data<double>().end()};
  if (given.dtype() != tensor::DType::kFloat32) return {};
  return {given.data<float>().begin(), given.data<float>().end()};
}

/// A Resize as its axes have it.
struct Resized {
  std::vector<float> scales, crop;  // one an axis (crop: two), or none
  Dims sizes;                       // one an axis, or none
  Dims axes;
};

std::optional<Resized> resized_of(Step& step) {
  Resized made;
  const int rank = step.x().rank();
  const bool is_modern = step.opset() >= 11;
  const auto list = [&](std::size_t i) -> std::optional<std::vector<float>> {
    if (!step.has(i)) return std::vector<float>();
    const auto* const known = step.maker().constant(step.node().inputs[i]);
    if (known == nullptr) return std::nullopt;
    return reals_of(*known);
  };
  made.axes = is_modern && step.attributes().has("axes") ? step.integers("axes") : range(0, rank);
  for (std::int64_t& axis : made.axes) axis += axis < 0 ? rank : 0;
  if (!is_modern) {
    const auto scales = list(1);
    if (!scales) return std::nullopt;
    made.scales = *scales;
    if (!step.has(1)) {
      auto given = step.attributes().reals("scales");
      if (given) made.scales = *given;
    }
    return made;
  }
  const bool crops =
      step.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  const auto crop = crops ? list(1) : std::vector<float>(), scales = list(2);
  if (!crop || !scales) return std::nullopt;
  made.crop = *crop;
  made.scales = *scales;
  if (step.has(3)) {
    const auto sizes = step.maker().integers(step.node().inputs[3]);
    if (!sizes) return std::nullopt;
    made.sizes = *sizes;
  }
  return made;
}

/// [in, out]: what axis `i` of the list makes of unit vectors.
Value matrix_of(Step& step, const Resized& how, std::size_t i, std::int64_t length) {
  Maker& maker = step.maker();
  const tensor::DType dtype = step.x().type().dtype;
  const bool is_modern = step.opset() >= 11;
  const auto floats = [&](const std::vector<float>& all) {
    return maker.constant(tensor::Tensor::of<float>({static_cast<std::int64_t>(all.size())}, all));
  };
  graph::Node node;
  node.op = step.node().op;
  node.opset = step.opset();
  node.name = step.node().name;
  node.attributes = step.attributes();
  if (is_modern) node.attributes.set("axes", Dims{0, 1});
  node.attributes.set("extrapolation_value", 0.0f);  // a number that nothing of x is in
  const Value units =
      maker.add("EyeLike", {filled(maker, 0, {dtype, maker.shape({length, length})})});
  node.inputs = {units.id};
  node.outputs = {kAbsent};
  const std::vector<float> scales =
      how.scales.empty() ? how.scales : std::vector<float>{1, how.scales[i]};
  if (!is_modern) {
    if (step.has(1)) {
      node.inputs.push_back(floats(scales).id);
    } else {
      node.attributes.set("scales", scales);
    }
    return maker.add_node(std::move(node))[0];
  }
  const std::size_t axes = how.axes.size();
  node.inputs.push_back(how.crop.empty() ? kAbsent
                                         : floats({0, how.crop[i], 1, how.crop[i + axes]}).id);
  node.inputs.push_back(scales.empty() ? kAbsent : floats(scales).id);
  if (!how.sizes.empty()) node.inputs.push_back(maker.list({length, how.sizes[i]}).id);
  return maker.add_node(std::move(node))[0];
}

}  // namespace

void resize(Step& step) {
  if (step.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return step.refuse("its keep_aspect_ratio_policy has no gradient, only 'stretch' has");
  const auto how = resized_of(step);
  if (!how) return step.refuse("its scales, sizes or roi are not known before it runs");
  const std::size_t axes = how->axes.size();
  const bool fits = (how->scales.empty() || how->scales.size() == axes) &&
                    (how->sizes.empty() || how->sizes.size() == axes) &&
                    (how->crop.empty() || how->crop.size() == 2 * axes) &&
                    how->scales.empty() != how->sizes.empty();
  if (!fits) return step.refuse("its scales, sizes or roi do not fit its axes");
  const bool crops =
      step.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  step.give(0, [&] {
    Value made = step.dy();
    for (std::size_t i = 0; i < axes; ++i) {
      const auto axis = static_cast<int>(how->axes[i]);
      const std::int64_t in = step.x().dim(axis), out = step.y().dim(axis);
      const float scale = how->scales.empty() ? 1 : how->scales[i];
      if (in == out && scale == 1 && !crops) continue;
      Dims order = range(0, made.rank());
      std::swap(order[static_cast<std::size_t>(axis)], order.back());  // its own inverse
      const Value matrix = transpose_last(matrix_of(step, *how, i, in));
      made = grad::transpose(step.maker().add("MatMul", {grad::transpose(made, order), matrix}),
                             order);
    }
    return made;
  });
}

}  // namespace commensal::grad::rules
