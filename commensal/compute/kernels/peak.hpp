// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels {

/// What this machine can do at best, measured: times are compared with it.
struct Peak {
  double ops_per_s = 0;    // binary32, a fused multiply-add being two, all in registers
  double bytes_per_s = 0;  // reads from memory, of more than caches hold
};

/// Of all threads of the pool together. Takes some tenths of a second and 256 MiB.
/// Error: kResourceExhausted.
core::Result<Peak> measure_peak(Isa isa, ThreadPool& threads, const core::Clock& clock);

}  // namespace commensal::kernels
