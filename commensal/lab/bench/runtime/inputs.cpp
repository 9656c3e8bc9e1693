// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>

namespace commensal::lab::bench {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;

namespace {

constexpr std::uint64_t kSeed = 7;

std::optional<tensor::TensorType> type_of(const graph::Declared& declared, std::int64_t batch) {
  std::vector<std::int64_t> dims = declared.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] = i == 0 ? batch : 1;
  }
  const auto shape = tensor::Shape::of(dims);
  if (!shape || dims.empty() || dims[0] != batch) return std::nullopt;
  return tensor::TensorType{declared.dtype, *shape};
}

core::Bytes elements(const tensor::TensorType& type, std::uint64_t stream) {
  core::Bytes bytes;
  const auto append = [&bytes](const auto& value) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof(value));
  };
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const float u = core::counter_symmetric_f32(kSeed, stream, static_cast<std::uint64_t>(i));
    if (type.dtype == DType::kFloat32) {
      append(u);
    } else {
      append(std::int64_t{u < 0 ? 1 : 0});
    }
  }
  return bytes;
}

}  // namespace

Result<std::optional<std::vector<tensor::Tensor>>> draw_inputs(const graph::Graph& graph,
                                                               std::int64_t batch) {
  std::vector<tensor::Tensor> drawn;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    if (declared.dtype != DType::kFloat32 && declared.dtype != DType::kInt64) {
      return fail(ErrorCode::kUnsupported, "input '{}' is {}, expected float32 or int64",
                  graph.name_of(id), declared.text());
    }
    const auto type = type_of(declared, batch);
    if (!type) return std::nullopt;
    drawn.push_back(tensor::Tensor::copy_of(*type, elements(*type, drawn.size())));
  }
  return drawn;
}

Result<std::optional<std::vector<InputFile>>> write_inputs(const graph::Graph& graph,
                                                           std::int64_t batch,
                                                           const core::Path& folder) {
  COMMENSAL_ASSIGN(const auto drawn, draw_inputs(graph, batch));
  if (!drawn) return std::nullopt;
  std::vector<InputFile> files;
  for (const tensor::Tensor& input : *drawn) {
    const graph::ValueId id = graph.inputs[files.size()];
    const core::Path path = folder / fmt::format("{}_{}.bin", batch, files.size());
    COMMENSAL_TRY(core::write_file_atomically(path, input.bytes()));
    const auto dims = input.shape().dims();
    files.push_back({graph.name_of(id),
                     std::string(tensor::traits(input.dtype()).name),
                     {dims.begin(), dims.end()},
                     path.string()});
  }
  return files;
}

Result<tensor::Tensor> read_input(const InputFile& file) {
  const DType dtype = file.dtype == "int64" ? DType::kInt64 : DType::kFloat32;
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(file.shape));
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file.path));
  const tensor::TensorType type{dtype, shape};
  if (std::ssize(bytes) == type.bytes()) return tensor::Tensor::copy_of(type, bytes);
  return fail(ErrorCode::kInvalidArgument, "{} bytes for {}", bytes.size(), type.text());
}

}  // namespace commensal::lab::bench
