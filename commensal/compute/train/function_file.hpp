// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/compute/graph/ir.hpp>

/// Seen by leaf sources of compute/train only: the header brings the protobuf classes with it.
namespace commensal::train {

/// The opset of a file that holds such a graph: the largest of its nodes'.
int file_opset_of(const graph::Graph& graph);

/// The graph as a function of a model's file: its inputs and then its initialisers (which a
/// function cannot hold) are the function's inputs. All nodes are of one opset, `opset`: those of
/// older ones are brought to it where that changes no bit.
/// Errors: kUnsupported (graphs inside nodes, an operator that cannot be brought to that opset).
core::Result<::onnx::FunctionProto> function_of(const graph::Graph& graph, const std::string& name,
                                                const std::string& domain, int opset);
/// What a value is called inside that function.
std::string inner_name(graph::ValueId id);

::onnx::TensorProto tensor_proto(const std::string& name, const tensor::Tensor& value);
void declare(::onnx::ValueInfoProto& info, const std::string& name, const tensor::TensorType& type);
::onnx::NodeProto& add_node(::onnx::GraphProto& graph, const std::string& op,
                            const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs);
void set_integer(::onnx::NodeProto& node, const std::string& name, std::int64_t value);

}  // namespace commensal::train
