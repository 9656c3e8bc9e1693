// SPDX-License-Identifier: Apache-2.0
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

Result<tensor::TensorType> type_of(const graph::Declared& declared, std::int64_t batch) {
  std::vector<std::int64_t> dims = declared.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] = i == 0 ? batch : 1;
  }
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  return tensor::TensorType{declared.dtype, shape};
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

Result<std::vector<tensor::Tensor>> draw_inputs(const graph::Graph& graph, std::int64_t batch) {
  std::vector<tensor::Tensor> made;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    COMMENSAL_ASSIGN(const tensor::TensorType type, type_of(declared, batch));
    auto input = drawn(type, made.size());
    if (!input) {
      return core::in_context(fmt::format("input '{}' is {}", graph.name_of(id), declared.text()),
                              input.error());
    }
    made.push_back(*std::move(input));
  }
  return made;
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
                                            const core::Path& folder) {
  COMMENSAL_ASSIGN(const auto drawn, draw_inputs(graph, batch));
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
