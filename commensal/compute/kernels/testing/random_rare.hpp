// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/testing/random_sampling.hpp>
#include <string>
#include <string_view>

/// Random calls of operators that few graphs have, for the property tests of operators alone.
namespace commensal::kernels::testing {

/// Terms of random labels, few of which are long, so that operands share some; an output of some of
/// them, or none that says so.
inline std::optional<Sample> random_einsum(Draw& draw, const Tensor& x) {
  constexpr std::string_view kLabels = "cAkbzi";
  std::array<std::int64_t, kLabels.size()> extents{};
  for (auto& extent : extents) extent = draw.one_in(3) ? draw.number(1, 40) : draw.number(1, 6);
  if (draw.one_in(12)) extents[draw.one_in(2) ? 0 : 4] = 0;
  if (draw.one_in(8)) extents[1] = draw.number(500, 1100);
  Sample made{"Einsum", 12, {}};
  std::string equation, all;
  const std::int64_t operands = draw.one_in(4) ? draw.number(1, 4) : 2;
  const bool ellipsis = draw.one_in(5);
  for (std::int64_t o = 0; o < operands; ++o) {
    Ints dims;
    std::string term;
    for (std::int64_t left = draw.number(1, operands > 2 ? 3 : 4); left > 0; --left) {
      const auto label = static_cast<std::size_t>(draw.number(0, kLabels.size() - 1));
      if (term.find(kLabels[label]) != std::string::npos && !draw.one_in(6)) continue;
      term += kLabels[label];
      dims.push_back(draw.one_in(12) ? 1 : extents[label]);
    }
    all += term;
    if (ellipsis && draw.one_in(2)) {
      term += "...";
      dims.push_back(extents[2]);
    }
    equation += (o == 0 ? "" : ",") + term;
    const tensor::Shape shape = shape_of(dims);
    if (shape.elements() > 20'000) return std::nullopt;
    made.inputs.push_back(random_of(draw, x.dtype(), shape, random_blend(draw)));
  }
  if (!draw.one_in(5)) {
    std::string output;
    for (const char label : kLabels) {
      if (all.find(label) == std::string::npos || draw.one_in(3)) continue;
      const auto at = draw.number(0, static_cast<std::int64_t>(output.size()));
      output.insert(static_cast<std::size_t>(at), 1, label);
    }
    equation += "->" + output + (ellipsis ? "..." : "");
  }
  made.attributes.set("equation", equation);
  return made;
}

inline std::optional<Sample> random_grid(Draw& draw, const Tensor& x) {
  if (x.shape().rank() != 4) return std::nullopt;
  const tensor::Shape shape = {x.shape()[0], draw.dimension(5), draw.dimension(5), 2};
  Sample made{"GridSample", 16, {x, random_of(draw, x.dtype(), shape, random_blend(draw))}};
  made.attributes.set("mode", std::string(draw.of({"bilinear", "nearest", "bicubic"})));
  made.attributes.set("padding_mode", std::string(draw.of({"zeros", "border", "reflection"})));
  made.attributes.set("align_corners", draw.number(0, 1));
  return made;
}

inline std::optional<Sample> random_loss(Draw& draw, const Tensor& x) {
  if (x.shape().rank() < 2 || x.shape()[1] == 0) return std::nullopt;
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
  const std::int64_t rows = x.shape()[0], count = draw.dimension(4);
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

/// Few queries or many, of one head of keys or several, with a mask, a cache and padding or
/// without.
inline std::optional<Sample> random_attention(Draw& draw, const Tensor& x) {
  const std::int64_t batch = draw.dimension(3), kv_heads = draw.number(1, 3);
  const std::int64_t heads = kv_heads * draw.number(1, 3);
  const std::int64_t queries = draw.number(0, 20), fresh = draw.number(0, draw.one_in(3) ? 70 : 9);
  const std::int64_t past = draw.one_in(3) ? draw.number(0, 9) : 0;
  const std::int64_t width = draw.number(1, 40), v_width = draw.number(1, 40);
  const bool flat = draw.one_in(2);
  const auto tensor = [&](std::int64_t of, std::int64_t length, std::int64_t each) {
    const Ints dims = flat ? Ints{batch, length, of * each} : Ints{batch, of, length, each};
    return random_of(draw, x.dtype(), shape_of(dims), random_blend(draw));
  };
  const Tensor q = tensor(heads, queries, width), k = tensor(kv_heads, fresh, width);
  Sample made{"Attention", 24, {q, k, tensor(kv_heads, fresh, v_width)}};
  if (flat) {
    made.attributes.set("q_num_heads", heads);
    made.attributes.set("kv_num_heads", kv_heads);
  }
  made.attributes.set("is_causal", draw.number(0, 1));
  if (draw.one_in(3)) made.attributes.set("softcap", draw.real(0.1f, 3));
  if (draw.one_in(3)) made.attributes.set("scale", draw.real(-1, 1));
  Ints mask = {batch, heads, queries, past + fresh};
  for (auto& dim : mask) dim = draw.one_in(3) ? 1 : dim;
  if (draw.one_in(4)) mask[3] = draw.number(0, past + fresh);
  const auto lost = draw.one_in(2) ? draw.number(0, 3) : 0;
  mask.erase(mask.begin(), mask.begin() + lost);
  constexpr tensor::DType kMasks[] = {tensor::DType::kBool, tensor::DType::kFloat32,
                                      tensor::DType::kFloat16, tensor::DType::kInt32};
  const tensor::DType of_mask = draw.of(kMasks);
  const bool masked = draw.one_in(2);
  made.inputs.push_back(masked ? random_of(draw, of_mask, shape_of(mask), random_blend(draw))
                               : Tensor());
  if (past > 0) {
    made.inputs.push_back(
        random_of(draw, x.dtype(), {batch, kv_heads, past, width}, random_blend(draw)));
    made.inputs.push_back(
        random_of(draw, x.dtype(), {batch, kv_heads, past, v_width}, random_blend(draw)));
  } else if (draw.one_in(3)) {
    Ints lengths;
    for (std::int64_t n = 0; n < batch; ++n) lengths.push_back(draw.number(0, fresh));
    made.inputs.insert(made.inputs.end(), {Tensor(), Tensor(), list_of(lengths)});
  }
  made.outputs = static_cast<int>(draw.number(1, 4));
  return made;
}

/// Pairs that are turned, and updates of a cache.
inline std::optional<Sample> random_caching(Draw& draw, const Tensor& x) {
  const std::int64_t batch = draw.number(0, 3), heads = draw.number(1, 3);
  const std::int64_t moments = draw.number(0, 6), width = draw.number(1, draw.one_in(2) ? 90 : 9);
  const auto tensor = [&](const Ints& dims) {
    return random_of(draw, x.dtype(), shape_of(dims), random_blend(draw));
  };
  const auto places = [&](const tensor::Shape& shape, std::int64_t most) {
    Ints made;
    for (std::int64_t i = 0; i < shape.elements(); ++i) made.push_back(draw.number(0, most));
    return Tensor::of<std::int64_t>(shape, made);
  };
  if (draw.one_in(2)) {
    const std::int64_t length = moments + draw.number(0, 5), axis = draw.number(1, 2);
    Ints cache = {batch, heads, heads, width}, update = cache;
    cache[static_cast<std::size_t>(axis)] = length,
    update[static_cast<std::size_t>(axis)] = moments;
    const bool circular = draw.one_in(2);
    const std::int64_t most = circular ? length - 1 : length - moments;
    Sample made{"TensorScatter",
                24,
                {tensor(cache), tensor(update)},
                attributes_of({{"axis", draw.one_in(2) ? axis : axis - 4},
                               {"mode", std::string(circular ? "circular" : "linear")}})};
    if (most >= 0 && draw.one_in(2)) made.inputs.push_back(places({batch}, most));
    return made;
  }
  const bool flat = draw.one_in(2), chosen = draw.one_in(2);
  const std::int64_t turned = 2 * draw.number(0, width / 2), columns = turned / 2;
  const std::int64_t half = turned == 0 ? width / 2 : columns, rows = draw.number(1, 9);
  const Ints cache = chosen ? Ints{rows, half + draw.number(0, 2)} : Ints{batch, moments, half};
  Sample made{
      "RotaryEmbedding",
      23,
      {tensor(flat ? Ints{batch, moments, heads * width} : Ints{batch, heads, moments, width}),
       tensor(cache), tensor(cache)},
      attributes_of({{"rotary_embedding_dim", turned},
                     {"num_heads", heads},
                     {"interleaved", draw.number(0, 1)}})};
  if (chosen) made.inputs.push_back(places({batch, moments}, rows - 1));
  return made;
}

/// Transforms along any axis, and of frames.
inline std::optional<Sample> random_spectrum(Draw& draw, const Tensor& x) {
  const std::int64_t parts = draw.number(1, 2), many = draw.one_in(3) ? 70 : 12;
  const bool is_onesided = parts == 1 && draw.one_in(2);
  const auto one = [](std::int64_t value) {
    return Tensor::of<std::int64_t>({}, std::array{value});
  };
  if (draw.one_in(2)) {
    const std::int64_t length = draw.number(1, many), frame = draw.number(1, length);
    const Tensor signal =
        random_of(draw, x.dtype(), {draw.number(0, 3), length, parts}, random_blend(draw));
    const Tensor window = random_of(draw, x.dtype(), {frame}, random_blend(draw));
    return Sample{"STFT",
                  17,
                  {signal, one(draw.number(1, 9)), draw.one_in(2) ? window : Tensor(), one(frame)},
                  attributes_of({{"onesided", std::int64_t{is_onesided ? 1 : 0}}})};
  }
  Ints dims;
  for (std::int64_t d = draw.number(1, 3); d > 0; --d) dims.push_back(draw.number(1, 9));
  const auto axis = draw.number(0, static_cast<std::int64_t>(dims.size()) - 1);
  dims[static_cast<std::size_t>(axis)] = draw.number(0, many);
  dims.push_back(parts);
  const Tensor from = random_of(draw, x.dtype(), shape_of(dims), random_blend(draw));
  return Sample{"DFT",
                20,
                {from, one(draw.number(1, many)), one(axis)},
                attributes_of({{"onesided", std::int64_t{is_onesided ? 1 : 0}},
                               {"inverse", is_onesided ? 0 : draw.number(0, 1)}})};
}

inline constexpr NamedRecipe kRareRecipes[] = {
    {"einsum", random_einsum},       {"grid", random_grid},         {"loss", random_loss},
    {"recurrent", random_recurrent}, {"picking", random_picking},   {"resizing", random_resizing},
    {"sampling", random_sampling},   {"columns", random_columns},   {"putting", random_putting},
    {"finding", random_finding},     {"bending", random_bending},   {"attention", random_attention},
    {"caching", random_caching},     {"spectrum", random_spectrum},
};

}  // namespace commensal::kernels::testing
