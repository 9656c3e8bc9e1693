// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// Operators on what tensors are kept in, and on graphs: sequences, optionals, control flow. They
/// compute nothing themselves: what they do to elements is done by rows of the same table.
namespace commensal::kernels::structure {

core::Result<std::vector<Value>> identity(const ValueCall& call);

core::Result<std::vector<Value>> sequence_construct(const ValueCall& call);
core::Result<std::vector<Value>> sequence_empty(const ValueCall& call);
core::Result<std::vector<Value>> sequence_insert(const ValueCall& call);
core::Result<std::vector<Value>> sequence_erase(const ValueCall& call);
core::Result<std::vector<Value>> sequence_at(const ValueCall& call);
core::Result<std::vector<Value>> sequence_length(const ValueCall& call);
core::Result<std::vector<Value>> split_to_sequence(const ValueCall& call);
core::Result<std::vector<Value>> concat_from_sequence(const ValueCall& call);

core::Result<std::vector<Value>> optional(const ValueCall& call);
core::Result<std::vector<Value>> optional_has_element(const ValueCall& call);
core::Result<std::vector<Value>> optional_get_element(const ValueCall& call);

core::Result<std::vector<Value>> branch(const ValueCall& call);  // If
core::Result<std::vector<Value>> loop(const ValueCall& call);
core::Result<std::vector<Value>> scan(const ValueCall& call);        // since opset 9
core::Result<std::vector<Value>> scan_batch(const ValueCall& call);  // opset 8
core::Result<std::vector<Value>> sequence_map(const ValueCall& call);

}  // namespace commensal::kernels::structure
