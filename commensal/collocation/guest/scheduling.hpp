// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <cstdint>
#include <string_view>

/// What this process asks of the system for itself, so that others come first. Nothing of the host
/// is touched: a process that is killed leaves nothing behind.
namespace commensal::guest {

/// The calling thread, and threads that it starts from now on, run only where nobody else wants to
/// (SCHED_IDLE, sched(7)). Thread-safety: any thread. Errors: kUnavailable.
core::Result<void> run_when_idle();

/// The same for the whole session of this process, where the system weighs sessions against each
/// other (autogroup, sched(7)): there SCHED_IDLE counts within the session only, and a guest that
/// was started from a terminal of its own would have as much as the host. The session must be
/// nobody else's: the process leads it. Errors: kFailedPrecondition (it does not), kUnavailable.
core::Result<void> step_back_as_session();

/// If memory runs out, the kernel ends this process before any other (oom_score_adj 1000, proc(5)).
/// Errors: kUnavailable.
core::Result<void> die_first();

/// This process gets no more memory of its own than so (RLIMIT_DATA, setrlimit(2): files that are
/// mapped do not count); what asks for more fails, and the program ends. Error: kUnavailable.
core::Result<void> limit_own_memory(std::int64_t bytes);

/// Writes to a file that the kernel makes (proc, cgroup): in one write, and it must be there.
/// Errors: kUnavailable, with the path and what the system says.
core::Result<void> write_kernel_file(const core::Path& path, std::string_view text);

}  // namespace commensal::guest
