// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/verify/arbiter/program.hpp>

/// Nodes and tensors as an arbiter speaks of them. Pure functions.
namespace commensal::dispute {

arbiter::Shaped shaped_of(const tensor::TensorType& type);
/// Without the numbers of its values.
arbiter::NodeText node_text(const kernels::Operator& op, int opset,
                            const kernels::Attributes& attributes);
/// The elements where they are shown with the facts (arbiter::is_list).
std::optional<std::vector<std::int64_t>> list_of(const tensor::Tensor& tensor);

/// What is shown of the attributes that are tensors (arbiter::NodeFacts::lists).
std::vector<core::Bytes> attribute_lists(const kernels::Attributes& attributes);

/// Elements of a node's inputs and outputs, which must outlive what is returned.
arbiter::Fetch fetch_from(std::span<const tensor::Tensor> inputs,
                          std::span<const tensor::Tensor> outputs);
/// One step from the values of those before it.
std::uint64_t evaluate_step(const arbiter::Step& step, std::span<const std::uint64_t> values,
                            const arbiter::Fetch& fetch);

}  // namespace commensal::dispute
