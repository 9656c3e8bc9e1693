// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/tasks.hpp>

namespace commensal::kernels::cuda {

/// The kernels (*.cu) as plain C++ on emulation/. A kernel that does what a card leaves undefined
/// is the queue's error.
const Driver& emulated_driver();

}  // namespace commensal::kernels::cuda
