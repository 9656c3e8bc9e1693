// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/testing/random_sampling.hpp>

/// Random calls of operators that few graphs have, for the property tests of operators alone.
namespace commensal::kernels::testing {

inline std::optional<Sample> random_einsum(Draw& draw, const Tensor& x) {
  if (x.shape().rank() != 2) return std::nullopt;
  const std::int64_t k = x.shape()[1];
  const std::string equation =
      draw.of({"ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->j", "ij->ji", "ij->", "...j,jk->...k"});
  Sample made{"Einsum", 12, {x}, attributes_of({{"equation", equation}})};
  if (equation.find(',') != std::string::npos) {
    made.inputs.push_back(random_weights(draw, x.dtype(), {k, draw.number(1, 6)}));
  }
  return made;
}

inline std::optional<Sample> random_grid(Draw& draw, const Tensor& x) {
  if (x.shape().rank() != 4) return std::nullopt;
  const tensor::Shape shape = {x.shape()[0], draw.number(1, 5), draw.number(1, 5), 2};
  Sample made{"GridSample", 16, {x, random_of(draw, x.dtype(), shape, random_blend(draw))}};
  made.attributes.set("mode", std::string(draw.of({"bilinear", "nearest", "bicubic"})));
  made.attributes.set("padding_mode", std::string(draw.of({"zeros", "border", "reflection"})));
  made.attributes.set("align_corners", draw.number(0, 1));
  return made;
}

inline std::optional<Sample> random_loss(Draw& draw, const Tensor& x) {
  if (x.shape().rank() < 2 || x.shape().elements() == 0) return std::nullopt;
  Ints dims = dims_of(x), targets;
  const std::int64_t classes = dims[1];
  dims.erase(dims.begin() + 1);
  const tensor::Shape shape = shape_of(dims);
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    targets.push_back(draw.number(0, classes - 1));
  Sample made{draw.of({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}),
              13,
              {x, Tensor::of<std::int64_t>(shape, targets)}};
  if (draw.one_in(2)) made.inputs.push_back(random_weights(draw, x.dtype(), {classes}));
  if (draw.one_in(3)) made.attributes.set("ignore_index", draw.number(0, classes - 1));
  made.attributes.set("reduction", std::string(draw.of({"none", "sum", "mean"})));
  if (made.name == "SoftmaxCrossEntropyLoss") made.outputs = static_cast<int>(draw.number(1, 2));
  return made;
}

/// x is [time, batch, input].
inline std::optional<Sample> random_recurrent(Draw& draw, const Tensor& x) {
  if (x.shape().rank() != 3) return std::nullopt;
  const bool lstm = draw.one_in(2), gru = !lstm && draw.one_in(2);
  const std::int64_t gates = lstm ? 4 : gru ? 3 : 1, hidden = draw.number(1, 5);
  const char* direction = draw.of({"forward", "reverse", "bidirectional"});
  const std::int64_t ways = std::string_view(direction) == "bidirectional" ? 2 : 1;
  const auto weights = [&](const tensor::Shape& shape) {
    return random_weights(draw, x.dtype(), shape);
  };
  const Tensor w = weights({ways, gates * hidden, x.shape()[2]});
  const Tensor r = weights({ways, gates * hidden, hidden});
  Sample made{lstm ? "LSTM" : gru ? "GRU" : "RNN", 14, {x, w, r}};
  if (draw.one_in(2)) {
    made.inputs.push_back(weights({ways, 2 * gates * hidden}));
    Ints lengths;
    for (std::int64_t b = 0; b < x.shape()[1]; ++b) lengths.push_back(draw.number(0, x.shape()[0]));
    std::vector<std::int32_t> shorter(lengths.begin(), lengths.end());
    made.inputs.push_back(draw.one_in(2) ? Tensor::of<std::int32_t>({x.shape()[1]}, shorter)
                                         : Tensor());
    if (draw.one_in(2)) made.inputs.push_back(weights({ways, x.shape()[1], hidden}));
  }
  made.attributes = attributes_of({{"hidden_size", hidden}, {"direction", std::string(direction)}});
  if (gru) made.attributes.set("linear_before_reset", draw.number(0, 1));
  made.outputs = static_cast<int>(draw.number(1, lstm ? 3 : 2));
  return made;
}

inline std::optional<Sample> random_picking(Draw& draw, const Tensor& x) {
  if (x.shape().rank() == 0 || x.shape()[0] == 0) return std::nullopt;
  const std::int64_t rows = x.shape()[0], count = draw.number(1, 4);
  Ints places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(draw.number(-rows, rows - 1));
  const Tensor at = Tensor::of<std::int64_t>({count, 1}, places);
  switch (draw.number(0, 3)) {
    case 0:
      return Sample{"GatherND", 13, {x, at}};
    case 1: {
      Ints dims = dims_of(x);
      dims[0] = count;
      const Blend blend = random_blend(draw);
      return Sample{"ScatterND",
                    18,
                    {x, at, random_of(draw, x.dtype(), shape_of(dims), blend)},
                    attributes_of({{"reduction",
                                    std::string(draw.of({"none", "add", "mul", "max", "min"}))}})};
    }
    case 2: {
      const std::int64_t axis = random_axis(draw, x);
      const Tensor keep = random_of(draw, tensor::DType::kBool, {dim_at(x, axis)});
      return Sample{"Compress", 11, {x, keep}, attributes_of({{"axis", axis}})};
    }
    default:
      break;
  }
  const Tensor like = random_of(draw, tensor::DType::kFloat16, {1});
  return Sample{"CastLike", 15, {x, like}};
}

inline constexpr NamedRecipe kRareRecipes[] = {
    {"einsum", random_einsum},       {"grid", random_grid},       {"loss", random_loss},
    {"recurrent", random_recurrent}, {"picking", random_picking}, {"resizing", random_resizing},
    {"sampling", random_sampling},   {"columns", random_columns}, {"putting", random_putting},
    {"finding", random_finding},     {"bending", random_bending},
};

}  // namespace commensal::kernels::testing
