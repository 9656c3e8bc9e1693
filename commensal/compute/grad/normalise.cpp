// SPDX-License-Identifier: Apache-2.0
// Normalizations: with n = (x - mean) * r, of a group of m elements,
// dx = r * (g - sum(g) / m - n * sum(g * n) / m), where g = dy * scale.
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>

namespace commensal::grad::rules {

using tensor::DType;

namespace {

struct Normal {
  Value values;  // x, normalized
  Value factor;  // r
};

/// Over `axes`, in x's type.
Normal normal_of(Value x, const Dims& axes, double epsilon) {
  const Value distance = x - mean(x, axes, true);
  const Value variance = mean(distance * distance, axes, true);
  const Value factor = apply("Reciprocal", apply("Sqrt", variance + epsilon));
  return {distance * factor, factor};
}

Value back_through(const Normal& normal, Value g, const Dims& axes) {
  const Value steady = g - mean(g, axes, true);
  return (steady - normal.values * mean(g * normal.values, axes, true)) * normal.factor;
}

/// [C] beside [N, C, D...]; [1] beside [N].
Value along_channels(Value parameter, int rank) {
  Dims dims(static_cast<std::size_t>(rank), 1);
  if (rank > 1) dims[1] = parameter.type().shape.elements();
  return reshape(parameter, dims);
}

Dims but_channels(int rank) {
  Dims axes = {0};
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

void batch_normalization(Step& step) {
  const auto call = step.read_call(
      [](const kernels::Call& c) { return kernels::shape_inference::batch_norm_of(c); });
  if (!step.maker().state()) return;
  const Value x = step.x(), dy = step.dy();
  if (call.parameter_shape.rank() != 1)
    return step.refuse("its attribute 'spatial' of 0 has no gradient");
  const double epsilon = static_cast<double>(call.epsilon);
  const Dims axes = but_channels(x.rank());
  const auto beside = [&](std::size_t i) {
    return cast(along_channels(step.x(i), x.rank()), x.type().dtype);
  };
  const auto as_parameter = [&](std::size_t i, Value made) {
    return cast(reshape(made, step.x(i).dims()), step.x(i).type().dtype);
  };
  if (call.trains) {
    const Normal normal = normal_of(x, axes, epsilon);
    step.give(0, [&] { return back_through(normal, dy * beside(1), axes); });
    step.give(1, [&] { return as_parameter(1, sum(dy * normal.values, axes, false)); });
    step.give(2, [&] { return as_parameter(2, sum(dy, axes, false)); });
    return;
  }
  const Value factor = apply("Reciprocal", apply("Sqrt", beside(4) + epsilon));
  const Value distance = x - beside(3);
  step.give(0, [&] { return dy * (beside(1) * factor); });
  step.give(1, [&] { return as_parameter(1, sum(dy * distance, axes, true) * factor); });
  step.give(2, [&] { return as_parameter(2, sum(dy, axes, false)); });
  step.give(3, [&] { return as_parameter(3, -(sum(dy, axes, true) * (beside(1) * factor))); });
  step.give(4, [&] {
    const Value cube = factor * (factor * factor);
    return as_parameter(4, sum(dy * distance, axes, true) * (beside(1) * cube) * -0.5);
  });
}

void layer_normalization(Step& step) {
  const Value dy = step.dy();
  const auto axis = tensor::normalise_axis(step.integer("axis", -1), step.x().rank());
  if (!axis) return step.refuse(axis.error().message);
  const Dims axes = range(*axis, step.x().rank());
  const double epsilon = step.real("epsilon", 1e-5f);
  const Normal normal = normal_of(step.x(), axes, epsilon);
  if (step.has_dy(0)) {
    step.give(0, [&] { return back_through(normal, dy * step.x(1), axes); });
    step.give(1, [&] { return dy * normal.values; });
    step.give(2, [&] { return dy; });
  }
  // Of the mean and of r: dr/dx = -r * r * n / m.
  const DType dtype = step.x().type().dtype;
  const auto count = static_cast<double>(step.x().type().shape.elements(*axis, step.x().rank()));
  const auto everywhere = [&](Value each) { return expand(each, step.x().dims()); };
  if (step.has_dy(1)) step.give(0, everywhere(cast(step.dy(1), dtype) / count));
  if (step.has_dy(2)) {
    const Value each = cast(step.dy(2), dtype) * (normal.factor * normal.factor) / count;
    step.give(0, -(everywhere(each) * normal.values));
  }
}

void rms_normalization(Step& step) {
  const Value x = step.x(), dy = step.dy();
  const auto axis = tensor::normalise_axis(step.integer("axis", -1), x.rank());
  if (!axis) return step.refuse(axis.error().message);
  const Dims axes = range(*axis, x.rank());
  const Value factor =
      apply("Reciprocal", apply("Sqrt", mean(x * x, axes, true) + step.real("epsilon", 1e-5f)));
  const Value normal = x * factor;
  step.give(0, [&] {
    const Value g = dy * step.x(1);
    return (g - normal * mean(g * normal, axes, true)) * factor;
  });
  step.give(1, [&] { return dy * normal; });
}

void instance_normalization(Step& step) {
  const Value x = step.x(), dy = step.dy();
  const Dims axes = range(2, x.rank());
  const Normal normal = normal_of(x, axes, step.real("epsilon", 1e-5f));
  const Dims others = but_channels(x.rank());
  step.give(0,
            [&] { return back_through(normal, dy * along_channels(step.x(1), x.rank()), axes); });
  step.give(1, [&] { return sum(dy * normal.values, others, false); });
  step.give(2, [&] { return sum(dy, others, false); });
}

}  // namespace commensal::grad::rules
