// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <commensal/compute/train/trainer.hpp>
#include <map>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// Initialisers, and what Constant nodes make: the importer takes both for weights.
std::map<std::string, ::onnx::TensorProto*> weights_in(::onnx::GraphProto& graph) {
  std::map<std::string, ::onnx::TensorProto*> found;
  for (auto& initialiser : *graph.mutable_initializer()) found[initialiser.name()] = &initialiser;
  for (auto& node : *graph.mutable_node()) {
    if (node.output_size() != 1) continue;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "value" && attribute.has_t())
        found[node.output(0)] = attribute.mutable_t();
    }
  }
  return found;
}

void replace(::onnx::TensorProto& proto, const tensor::Tensor& value) {
  ::onnx::TensorProto made;
  if (!proto.name().empty()) made.set_name(proto.name());
  made.set_data_type(static_cast<int>(value.dtype()));  // the numbers are ONNX's
  for (const std::int64_t dim : value.shape().dims()) made.add_dims(dim);
  made.set_raw_data(value.bytes().data(), value.bytes().size());
  proto = std::move(made);
}

}  // namespace

Result<core::Bytes> with_weights(core::ByteView model,
                                 const std::vector<Checkpoint::Entry>& weights) {
  ::onnx::ModelProto proto;
  if (!proto.ParseFromArray(model.data(), static_cast<int>(model.size())))
    return fail(ErrorCode::kInvalidArgument, "the model's file is not ONNX any more");
  auto found = weights_in(*proto.mutable_graph());
  for (const auto& [name, tensor] : found) {
    if (tensor->data_location() != ::onnx::TensorProto::EXTERNAL) continue;
    return fail(ErrorCode::kUnsupported,
                "the model keeps '{}' in another file, expected all weights in one to export",
                name);
  }
  for (const auto& [name, value] : weights) {
    const auto at = found.find(name);
    if (at == found.end())
      return fail(ErrorCode::kInvalidArgument, "the model's file has no initialiser '{}'", name);
    replace(*at->second, value);
  }
  std::string made;
  if (!proto.SerializeToString(&made))
    return fail(ErrorCode::kResourceExhausted, "the model is too large for one file");
  return core::Bytes(made.begin(), made.end());
}

}  // namespace commensal::train
