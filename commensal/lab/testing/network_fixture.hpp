// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/io/image.hpp>
#include <cstdlib>
#include <optional>

/// What the tests of whole networks share.
namespace commensal::lab::testing {

using tensor::Tensor;

/// The folder that an environment variable names, if it is set.
inline std::optional<core::Path> folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return core::Path(value);
}

/// Files of this repository.
inline core::Path source(const std::string& path) {
  return core::Path(COMMENSAL_SOURCE_DIR) / path;
}

inline std::shared_ptr<const graph::Graph> load(const core::Path& path) {
  auto graph = graph::onnx::import_file(path);
  if (!graph) {
    ADD_FAILURE() << path << ": " << graph.error().message;
    return nullptr;
  }
  return *graph;
}

inline std::vector<Tensor> run(const std::shared_ptr<const graph::Graph>& graph,
                               const Tensor& input, const graph::SessionOptions& options = {}) {
  auto session = graph::Session::create(graph, options);
  auto outputs = session ? session->run(std::vector{input})
                         : core::Result<std::vector<Tensor>>(tl::unexpected(session.error()));
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  return *outputs;
}

/// A picture as the only input of `graph`.
inline Tensor picture(const graph::Graph& graph, const core::Path& path, float mean, float scale) {
  const auto& declared = graph.values[static_cast<std::size_t>(graph.inputs.at(0))].declared;
  const auto image = io::read_image_file(path);
  EXPECT_TRUE(image) << image.error().message;
  const io::PictureRule rule{io::Resize::kStretch, true, {mean, mean, mean}, {scale, scale, scale}};
  return *io::image_tensor(*image, *tensor::Shape::of(declared.dims), rule);
}

/// Sample b of the batch is drawn from stream first + b.
inline Tensor random_batch(const tensor::Shape& shape, std::uint64_t first_stream) {
  const std::int64_t per_sample = shape.elements(1, shape.rank());
  std::vector<float> values;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t i = 0; i < per_sample; ++i) {
      values.push_back(core::counter_symmetric_f32(7, first_stream + static_cast<std::uint64_t>(b),
                                                   static_cast<std::uint64_t>(i)));
    }
  }
  return Tensor::of<float>(shape, values);
}

/// One SHA-256 over all outputs.
inline std::string hash_of(const std::vector<Tensor>& outputs) {
  crypto::Sha256 hash;
  for (const Tensor& output : outputs) hash.update(output.bytes());
  return core::to_hex(hash.finish());
}

}  // namespace commensal::lab::testing
