// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>

namespace commensal::lab::bench {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;

namespace {

constexpr std::uint64_t kSeed = 7;

std::vector<std::int64_t> dims_of(const graph::Declared& declared, std::int64_t batch) {
  std::vector<std::int64_t> dims = declared.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] = i == 0 ? batch : 1;
  }
  return dims;
}

const graph::Declared& declared_of(const graph::Graph& graph, graph::ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].declared;
}

Result<std::vector<std::int64_t>> dims_of(const graph::Declared& declared, std::int64_t batch,
                                          std::vector<std::int64_t> given) {
  if (!declared.ranked) return given;
  bool fits = given.size() == declared.dims.size();
  for (std::size_t i = 0; fits && i < given.size(); ++i) {
    fits = declared.dims[i] < 0 || declared.dims[i] == given[i];
  }
  if (!fits)
    return fail(ErrorCode::kInvalidArgument, "--shape {} does not fit it", fmt::join(given, ","));
  if (!given.empty() && declared.dims[0] < 0) given[0] = batch;
  return given;
}

Result<tensor::TensorType> type_of(const graph::Graph& graph, graph::ValueId id, std::int64_t batch,
                                   const Shapes& shapes) {
  const graph::Declared& declared = declared_of(graph, id);
  std::vector<std::int64_t> dims = dims_of(declared, batch);
  if (const auto given = shapes.find(graph.name_of(id)); given != shapes.end()) {
    COMMENSAL_ASSIGN(dims, dims_of(declared, batch, given->second));
  }
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  return tensor::TensorType{declared.dtype, shape};
}

/// Each is an input's.
Result<void> check_names(const graph::Graph& graph, const Shapes& shapes) {
  std::vector<std::string> names;
  for (const graph::ValueId id : graph.inputs) names.push_back(graph.name_of(id));
  for (const auto& [name, dims] : shapes) {
    if (std::ranges::find(names, name) == names.end())
      return fail(ErrorCode::kInvalidArgument, "--shape: no input '{}', but {}", name,
                  fmt::join(names, ", "));
  }
  return {};
}

template <class T>
void append(core::Bytes& bytes, T value) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(value));
}

}  // namespace

bool append_element(core::Bytes& bytes, DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      append(bytes, static_cast<float>(value));
      return true;
    case DType::kFloat64:
      append(bytes, value);
      return true;
    case DType::kFloat16:
      append(bytes, tensor::to_float16(static_cast<float>(value)).bits);
      return true;
    case DType::kBfloat16:
      append(bytes, tensor::to_bfloat16(static_cast<float>(value)).bits);
      return true;
    case DType::kInt64:
    case DType::kUint64:
      append(bytes, static_cast<std::int64_t>(value));
      return true;
    case DType::kInt32:
    case DType::kUint32:
      append(bytes, static_cast<std::int32_t>(value));
      return true;
    case DType::kInt16:
    case DType::kUint16:
      append(bytes, static_cast<std::int16_t>(value));
      return true;
    case DType::kInt8:
    case DType::kUint8:
      append(bytes, static_cast<std::uint8_t>(static_cast<int>(value)));
      return true;
    case DType::kBool:
      append(bytes, static_cast<std::uint8_t>(value > 0 ? 1 : 0));
      return true;
    default:
      return false;
  }
}

namespace {

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBfloat16;
}

Result<tensor::Tensor> drawn(const tensor::TensorType& type, std::uint64_t stream) {
  core::Bytes bytes;
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const float u = core::counter_symmetric_f32(kSeed, stream, static_cast<std::uint64_t>(i));
    const double value = is_float(type.dtype) ? u : u < 0 ? 1 : 0;
    if (!append_element(bytes, type.dtype, value)) {
      return fail(ErrorCode::kUnsupported, "expected numbers of 8 bits or more, or bool");
    }
  }
  return tensor::Tensor::copy_of(type, bytes);
}

}  // namespace

bool has_free_batch(const graph::Graph& graph) {
  return std::ranges::any_of(graph.inputs, [&](graph::ValueId id) {
    const auto& dims = graph.values[static_cast<std::size_t>(id)].declared.dims;
    return !dims.empty() && dims[0] < 0;
  });
}

Result<std::vector<tensor::Tensor>> draw_inputs(const graph::Graph& graph, std::int64_t batch,
                                                const Shapes& shapes) {
  COMMENSAL_TRY(check_names(graph, shapes));
  std::vector<tensor::Tensor> made;
  for (const graph::ValueId id : graph.inputs) {
    const auto type = type_of(graph, id, batch, shapes);
    auto input = type ? drawn(*type, made.size()) : tl::unexpected(type.error());
    if (!input) {
      return core::in_context(
          fmt::format("input '{}' is {}", graph.name_of(id), declared_of(graph, id).text()),
          input.error());
    }
    made.push_back(*std::move(input));
  }
  return made;
}

std::string guessed_shapes(const graph::Graph& graph, std::int64_t batch, const Shapes& shapes) {
  std::vector<std::string> guessed;
  for (const graph::ValueId id : graph.inputs) {
    const auto& declared = declared_of(graph, id);
    const bool is_open =
        std::ranges::any_of(declared.dims.begin() + (declared.dims.empty() ? 0 : 1),
                            declared.dims.end(), [](auto dim) { return dim < 0; });
    if (is_open && !shapes.contains(graph.name_of(id)))
      guessed.push_back(
          fmt::format("{} {}", graph.name_of(id), fmt::join(dims_of(declared, batch), ",")));
  }
  return fmt::format("{}", fmt::join(guessed, ", "));
}

Result<InputFile> write_input(const core::Path& path, const std::string& name,
                              const tensor::Tensor& value) {
  COMMENSAL_TRY(core::write_file_atomically(path, value.bytes()));
  const auto dims = value.shape().dims();
  return InputFile{name,
                   std::string(tensor::traits(value.dtype()).name),
                   {dims.begin(), dims.end()},
                   path.string()};
}

Result<std::vector<InputFile>> write_inputs(const graph::Graph& graph, std::int64_t batch,
                                            const core::Path& folder, const Shapes& shapes) {
  COMMENSAL_ASSIGN(const auto drawn, draw_inputs(graph, batch, shapes));
  std::vector<InputFile> files;
  for (const tensor::Tensor& input : drawn) {
    const core::Path path = folder / fmt::format("{}_{}.bin", batch, files.size());
    COMMENSAL_ASSIGN(files.emplace_back(),
                     write_input(path, graph.name_of(graph.inputs[files.size()]), input));
  }
  return files;
}

Result<tensor::Tensor> read_input(const InputFile& file) {
  const auto all = tensor::all_dtypes();
  const auto found = std::ranges::find(all, file.dtype, &tensor::DTypeTraits::name);
  if (found == all.end() || found->size == 0)
    return fail(ErrorCode::kInvalidArgument, "no numbers are called '{}'", file.dtype);
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(file.shape));
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file.path));
  const tensor::TensorType type{found->dtype, shape};
  if (std::ssize(bytes) == type.bytes()) return tensor::Tensor::copy_of(type, bytes);
  return fail(ErrorCode::kInvalidArgument, "{} bytes for {}", bytes.size(), type.text());
}

}  // namespace commensal::lab::bench
