// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

/// Seen by leaf sources of graph/onnx only: the header brings the protobuf classes with it.
namespace commensal::graph::onnx {

/// Makes each Einsum of more than two operands, in the graph and in those inside it, a chain of
/// Einsums of two, left to right; a label is summed in the pair with the last operand that has it.
/// One sum over all labels together takes the product of their extents in steps, a chain of pairs
/// far fewer (a product of three n x n matrices: n^4, 2 n^3); numpy and ONNX Runtime pair too.
/// Inner values and their nodes are called "Einsum:N", N counting them. An equation that is not
/// well formed is left for shape inference to refuse.
void pair_einsums(::onnx::GraphProto& graph);

}  // namespace commensal::graph::onnx
