// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <string_view>

/// What the operators on values share: inputs read as what they must be, and other operators of
/// the table called on tensors.
namespace commensal::kernels::structure {

/// Error: kInvalidArgument, saying what input i is and what was expected.
core::Result<Tensor> tensor_input(const ValueCall& call, int i);
core::Result<std::vector<Value>> sequence_input(const ValueCall& call, int i);
/// A tensor of one element: an int32 or int64, a bool.
core::Result<std::int64_t> integer_input(const ValueCall& call, int i);
core::Result<bool> truth_of(const Value& value, std::string_view what);

Tensor scalar_of(std::int64_t value);
Tensor scalar_of(bool value);

/// The only output of the operator of that role (in its form of opset 13) on `inputs`.
core::Result<Tensor> invoke(const ValueCall& call, Role role, const std::vector<Tensor>& inputs,
                            Attributes attributes = {});

/// One tensor of all, along a new axis or an old one.
core::Result<Tensor> stack(const ValueCall& call, const std::vector<Tensor>& parts,
                           std::int64_t axis);
core::Result<Tensor> concatenate(const ValueCall& call, const std::vector<Tensor>& parts,
                                 std::int64_t axis);
/// The part at `index` of `axis`, without that axis.
core::Result<Tensor> part_at(const ValueCall& call, const Tensor& whole, std::int64_t axis,
                             std::int64_t index);

}  // namespace commensal::kernels::structure
