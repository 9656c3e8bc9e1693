// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels {

/// Whether all that it makes is drawn by a seed and places alone, which is the same at every run.
bool draws(const Operator& op);

}  // namespace commensal::kernels
