// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/tensor_file.hpp>
#include <commensal/compute/graph/onnx/tensor_proto.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <limits>

namespace commensal::graph::onnx {

core::Result<NamedTensor> read_tensor_file(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file,
                   core::MappedFile::open(path, std::numeric_limits<std::int32_t>::max()));
  ::onnx::TensorProto proto;
  if (!proto.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size()))) {
    return core::fail(core::ErrorCode::kInvalidArgument, "'{}' is not an ONNX tensor",
                      path.string());
  }
  ExternalFiles none;
  auto value = to_tensor(proto, std::nullopt, none);
  if (!value) return core::in_context(fmt::format("'{}'", path.string()), value.error());
  return NamedTensor{one_line(proto.name()), *std::move(value)};
}

}  // namespace commensal::graph::onnx
