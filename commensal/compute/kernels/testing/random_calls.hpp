// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/testing/random_values.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <optional>

/// Random calls of the operators of the table, for property tests. A recipe takes the first input
/// and draws the others and the attributes; it need not fit: what infer refuses is drawn anew.
namespace commensal::kernels::testing {

using Recipe = std::optional<Sample> (*)(Draw&, const Tensor& x);
using Ints = std::vector<std::int64_t>;

inline Tensor list_of(const Ints& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
template <class T>
Tensor scalar_of(T value) {
  return Tensor::of<T>({}, std::span<const T>(&value, 1));
}
inline Attributes attributes_of(std::initializer_list<std::pair<const char*, Attribute>> named) {
  Attributes made;
  for (const auto& [name, value] : named) made.set(name, value);
  return made;
}
inline bool is_float(tensor::DType dtype) {
  return dtype == tensor::DType::kFloat32 || dtype == tensor::DType::kFloat64 ||
         dtype == tensor::DType::kFloat16 || dtype == tensor::DType::kBfloat16;
}
inline Blend random_blend(Draw& draw) {
  constexpr Blend kBlends[] = {Blend::kPlain, Blend::kPlain, Blend::kSpecial, Blend::kWild};
  return draw.of(kBlends);
}
/// Of [-rank, rank).
inline std::int64_t random_axis(Draw& draw, const Tensor& x) {
  const int rank = std::max(x.shape().rank(), 1);
  return draw.number(-rank, rank - 1);
}
inline std::int64_t dim_at(const Tensor& x, std::int64_t axis) {
  return x.shape()[static_cast<int>(axis < 0 ? axis + x.shape().rank() : axis)];
}
/// What numpy's rule lays over x, of its type.
inline Tensor random_over(Draw& draw, const Tensor& x) {
  const tensor::Shape shape = broadcastable(draw, x.shape());
  const Blend blend = random_blend(draw);
  return random_of(draw, x.dtype(), shape, blend);
}
inline Ints dims_of(const Tensor& x) { return {x.shape().dims().begin(), x.shape().dims().end()}; }

// ---- elementwise -------------------------------------------------------------------------------

inline std::optional<Sample> random_unary(Draw& draw, const Tensor& x) {
  Sample made{
      draw.of({"Abs",        "Acos",  "Acosh",          "Asin",        "Asinh",     "Atan",
               "Atanh",      "Ceil",  "Celu",           "Cos",         "Cosh",      "Elu",
               "Erf",        "Exp",   "Floor",          "HardSigmoid", "HardSwish", "Identity",
               "IsInf",      "IsNaN", "LeakyRelu",      "Log",         "Neg",       "Not",
               "Reciprocal", "Relu",  "Round",          "Selu",        "Shrink",    "Sigmoid",
               "Sign",       "Sin",   "Sinh",           "Softplus",    "Softsign",  "Sqrt",
               "Tan",        "Tanh",  "ThresholdedRelu"}),
      17,
      {x}};
  constexpr std::string_view kWithAlpha[] = {"Celu", "Elu", "HardSigmoid", "LeakyRelu",
                                             "ThresholdedRelu"};
  if (std::ranges::find(kWithAlpha, made.name) != std::end(kWithAlpha) && draw.one_in(2)) {
    made.attributes.set("alpha", draw.real(0.1f, 2));
  }
  return made;
}

inline std::optional<Sample> random_binary(Draw& draw, const Tensor& x) {
  const char* name =
      draw.of({"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Mod", "Equal", "Less", "LessOrEqual",
               "Greater", "GreaterOrEqual", "And", "Or", "Xor", "BitShift"});
  Sample made{name, 17, {x, random_over(draw, x)}};
  if (draw.one_in(3)) std::swap(made.inputs[0], made.inputs[1]);
  if (made.name == "Mod") made.attributes.set("fmod", draw.number(0, 1));
  if (made.name == "BitShift") {
    made.attributes.set("direction", std::string(draw.of({"LEFT", "RIGHT"})));
  }
  return made;
}

inline std::optional<Sample> random_variadic(Draw& draw, const Tensor& x) {
  Sample made{draw.of({"Sum", "Mean", "Max", "Min"}), 17, {x}};
  for (std::int64_t more = draw.number(0, draw.one_in(5) ? 9 : 3); more > 0; --more) {
    made.inputs.push_back(random_over(draw, x));
  }
  return made;
}

inline std::optional<Sample> random_choice(Draw& draw, const Tensor& x) {
  if (draw.one_in(2)) {
    const auto bound = [&] {
      const Blend blend = random_blend(draw);
      return draw.one_in(3) ? Tensor() : random_of(draw, x.dtype(), {}, blend);
    };
    const Tensor low = bound(), high = bound();
    return Sample{"Clip", 17, {x, low, high}};
  }
  const tensor::Shape shape = broadcastable(draw, x.shape());
  const Tensor condition = random_of(draw, tensor::DType::kBool, shape);
  return Sample{"Where", 17, {condition, x, random_over(draw, x)}};
}

inline std::optional<Sample> random_cast(Draw& draw, const Tensor& x) {
  constexpr std::int64_t kTypes[] = {1, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16};
  return Sample{"Cast", 17, {x}, attributes_of({{"to", draw.of(kTypes)}})};
}

// ---- movement ----------------------------------------------------------------------------------

inline std::optional<Sample> random_transpose(Draw& draw, const Tensor& x) {
  Ints perm;
  for (int i = 0; i < x.shape().rank(); ++i) {
    perm.insert(perm.begin() + draw.number(0, i), i);
  }
  return Sample{"Transpose", 17, {x}, attributes_of({{"perm", perm}})};
}

inline std::optional<Sample> random_reshape(Draw& draw, const Tensor& x) {
  Ints dims = dims_of(x);
  switch (draw.number(0, 4)) {
    case 0:
      dims = {-1};
      break;
    case 1:
      dims = {0, -1};
      break;
    case 2:
      return Sample{"Flatten", 17, {x}, attributes_of({{"axis", random_axis(draw, x)}})};
    case 3:  // two neighbours become one
      if (dims.size() < 2)
        return std::nullopt;
      else {
        const auto at = draw.number(0, static_cast<std::int64_t>(dims.size()) - 2);
        dims[static_cast<std::size_t>(at)] *= dims[static_cast<std::size_t>(at) + 1];
        dims.erase(dims.begin() + at + 1);
        break;
      }
    default:  // an even dimension is halved
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] < 2 || dims[i] % 2 != 0 || draw.one_in(2)) continue;
        dims[i] /= 2;
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1, 2);
        break;
      }
  }
  return Sample{"Reshape", 17, {x, list_of(dims)}};
}

inline std::optional<Sample> random_ones(Draw& draw, const Tensor& x) {
  if (draw.one_in(2)) return Sample{"Unsqueeze", 17, {x, list_of({random_axis(draw, x)})}};
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (x.shape()[i] == 1) return Sample{"Squeeze", 17, {x, list_of({i})}};
  }
  return draw.one_in(2) ? std::optional(Sample{"Squeeze", 17, {x}}) : std::nullopt;
}

inline std::optional<Sample> random_slice(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  constexpr std::int64_t kSteps[] = {1, 1, 2, 3, -1, -2};
  const std::int64_t axis = random_axis(draw, x), dim = dim_at(x, axis);
  return Sample{
      "Slice",
      17,
      {x, list_of({draw.number(-dim - 1, dim)}), list_of({draw.number(-dim - 2, dim + 2)}),
       list_of({axis}), list_of({draw.of(kSteps)})}};
}

inline std::optional<Sample> random_join(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  const std::int64_t axis = random_axis(draw, x);
  const Attributes along = attributes_of({{"axis", axis}});
  if (draw.one_in(2)) return Sample{"Split", 17, {x}, along, static_cast<int>(draw.number(1, 3))};
  Sample made{"Concat", 17, {x}, along};
  for (std::int64_t more = draw.number(0, 2); more > 0; --more) {
    Ints dims = dims_of(x);
    dims[static_cast<std::size_t>(axis < 0 ? axis + x.shape().rank() : axis)] = draw.number(0, 4);
    const Blend blend = random_blend(draw);
    made.inputs.push_back(random_of(draw, x.dtype(), shape_of(dims), blend));
  }
  return made;
}

inline std::optional<Sample> random_gather(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0) return std::nullopt;
  const std::int64_t axis = random_axis(draw, x), dim = dim_at(x, axis);
  if (dim == 0) return std::nullopt;
  const bool elements = draw.one_in(3);
  const tensor::Shape shape =
      elements ? x.shape() : random_shape(draw, static_cast<int>(draw.number(0, 2)), 8);
  Ints indices;
  for (std::int64_t i = 0; i < shape.elements(); ++i) indices.push_back(draw.number(-dim, dim - 1));
  return Sample{elements ? "GatherElements" : "Gather",
                17,
                {x, Tensor::of<std::int64_t>(shape, indices)},
                attributes_of({{"axis", axis}})};
}

inline std::optional<Sample> random_growth(Draw& draw, const Tensor& x) {
  Ints dims = dims_of(x);
  if (draw.one_in(3)) {
    for (auto& dim : dims) dim = dim == 1 ? draw.number(1, 3) : dim;
    return Sample{"Expand", 17, {x, list_of(dims)}};
  }
  if (draw.one_in(2)) {
    for (auto& dim : dims) dim = draw.one_in(3) ? draw.number(0, 3) : 1;
    return Sample{"Tile", 17, {x, list_of(dims)}};
  }
  Ints pads;
  for (std::size_t i = 0; i < 2 * dims.size(); ++i) pads.push_back(draw.number(-1, 2));
  Sample made{"Pad", 17, {x, list_of(pads)}};
  const char* mode = draw.of({"constant", "edge", "reflect"});
  made.attributes.set("mode", std::string(mode));
  if (draw.one_in(2)) made.inputs.push_back(random_of(draw, x.dtype(), {}, Blend::kSpecial));
  return made;
}

inline std::optional<Sample> random_layout(Draw& draw, const Tensor& x) {
  if (draw.one_in(3))
    return Sample{"Trilu",
                  17,
                  {x, scalar_of(draw.number(-2, 2))},
                  attributes_of({{"upper", draw.number(0, 1)}})};
  const Attributes block = attributes_of({{"blocksize", draw.number(1, 2)}});
  return Sample{draw.of({"DepthToSpace", "SpaceToDepth"}), 17, {x}, block};
}

// ---- folds along axes --------------------------------------------------------------------------

inline std::optional<Sample> random_reduction(Draw& draw, const Tensor& x) {
  const char* name =
      draw.of({"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
               "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"});
  Sample made{name, 18, {x}, attributes_of({{"keepdims", draw.number(0, 1)}})};
  Ints axes;
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (draw.one_in(2)) axes.push_back(draw.one_in(2) ? i : i - x.shape().rank());
  }
  if (!axes.empty() || draw.one_in(3)) made.inputs.push_back(list_of(axes));
  return made;
}

inline std::optional<Sample> random_along(Draw& draw, const Tensor& x) {
  const Attributes along = attributes_of({{"axis", random_axis(draw, x)}});
  switch (draw.number(0, 3)) {
    case 0:
      return Sample{
          "CumSum",
          17,
          {x, scalar_of(random_axis(draw, x))},
          attributes_of({{"exclusive", draw.number(0, 1)}, {"reverse", draw.number(0, 1)}})};
    case 1:
      return Sample{draw.of({"ArgMax", "ArgMin"}),
                    17,
                    {x},
                    attributes_of({{"axis", random_axis(draw, x)},
                                   {"select_last_index", draw.number(0, 1)}})};
    case 2: {
      const std::int64_t axis = random_axis(draw, x);
      const std::int64_t most = x.shape().rank() > 0 && draw.one_in(2) ? dim_at(x, axis) : 3;
      return Sample{"TopK",
                    17,
                    {x, list_of({draw.number(0, most)})},
                    attributes_of({{"axis", axis}, {"largest", draw.number(0, 1)}}),
                    2};
    }
    default:
      break;
  }
  return Sample{
      draw.of({"Softmax", "LogSoftmax", "Hardmax"}), draw.one_in(3) ? 11 : 17, {x}, along};
}

}  // namespace commensal::kernels::testing
