// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace commensal::kernels {

/// The processor that runs the calling thread; -1 where it is not known. A few nanoseconds.
int current_cpu();

/// Moves the calling thread to another of the processors that it may use, if it runs on `cpu` and
/// has others; afterwards it may use all of them again. Some schedulers leave two threads that
/// sleep and wake in turn on one processor for as long as they do so, while another one idles.
void step_aside_from(int cpu);

}  // namespace commensal::kernels
