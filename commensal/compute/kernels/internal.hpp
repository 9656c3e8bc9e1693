// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// Operators that no model file can ask for: what an optimised graph has in place of several of the
/// model's (compute/graph/optimise). Their rows have `infer` and `cpu`, perhaps `pack`; domain
/// "commensal". They give the bits of what they stand for.
namespace commensal::kernels {

std::span<const Operator> internal_table();

/// Checked: the name is one of the table's.
const Operator& internal_operator(std::string_view name);

}  // namespace commensal::kernels
