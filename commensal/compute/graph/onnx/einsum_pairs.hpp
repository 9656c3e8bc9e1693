// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

/// Seen by leaf sources of graph/onnx only: the header brings the protobuf classes with it.
namespace commensal::graph::onnx {

/// Makes each Einsum of more than two operands, in the graph and in those inside it, a chain of
/// Einsums of two: from the first operand on, each time the first of those left that shares a label
/// with the result so far (else the first), where each label is summed with the last operand that
/// has it. One sum over all labels together takes the product of their extents in steps, a chain of
/// pairs mostly far fewer (a product of three n x n matrices: n^4, 2 n^3); PyTorch and ONNX Runtime
/// pair too. Inner values are of the operands' type; they and their nodes are called "NODE:N". An
/// equation that is not well formed is left for shape inference to refuse, one with a result of
/// more than limits::kRankMax labels, or of very many operands, for it to sum at once. `graph` is
/// one that check_structure lets pass.
void pair_einsums(::onnx::GraphProto& graph);

}  // namespace commensal::graph::onnx
