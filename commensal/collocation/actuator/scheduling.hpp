// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>

/// What this process asks of the system for itself, so that others come first. Nothing of the host
/// is touched: a process that is killed leaves nothing behind.
namespace commensal::actuator {

/// The calling thread, and threads that it starts from now on, run only where nobody else wants to
/// (SCHED_IDLE, sched(7)). Thread-safety: any thread. Errors: kUnavailable.
core::Result<void> run_when_idle();

/// If memory runs out, the kernel ends this process before any other (oom_score_adj 1000, proc(5)).
/// Errors: kUnavailable.
core::Result<void> die_first();

}  // namespace commensal::actuator
