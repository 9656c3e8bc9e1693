// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::cpu {

/// Binary32 as the bits of binary16: to nearest even, NaN canonical.
using HalvesFn = void (*)(const float* x, std::uint16_t* y, std::int64_t count);

HalvesFn halves_for(Isa isa);

}  // namespace commensal::kernels::cpu
