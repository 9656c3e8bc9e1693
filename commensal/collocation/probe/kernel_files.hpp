// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// The small files and folders in which a kernel tells of processes and devices. Stateless.
namespace commensal::probe {

/// All of a small file that others write, read in one go; also of /proc, where files have no size.
/// Waits for nobody: what is no regular file is refused.
/// Errors: kNotFound, kInvalidArgument (not a regular file), kResourceExhausted (longer).
core::Result<std::string> read_small_file(const core::Path& path, std::size_t bytes_max);
/// ... or as much of it as is asked for. Errors: kNotFound, kInvalidArgument.
core::Result<std::string> read_beginning(const core::Path& path, std::size_t bytes_max);

/// The number that the file begins with. None: no such file, no number.
std::optional<std::uint64_t> number_in(const core::Path& path);

/// The first `most` entries of a folder, in no order; none of one that is not there.
void for_entries(const core::Path& folder, std::size_t most,
                 const std::function<void(const core::Path&)>& visit);

/// What /proc/PID/stat tells (proc(5)).
struct ProcessStat {
  std::string name;               // as the kernel keeps it, at most 15 characters
  char state = '?';               // 'Z': ended, but not buried
  std::uint64_t cpu_ticks = 0;    // utime + stime
  std::uint64_t start_ticks = 0;  // since the machine's start
};
/// Error: kDataLoss.
core::Result<ProcessStat> parse_process_stat(std::string_view text);

/// What /proc/PID/task/TID/schedstat tells of a thread (Documentation/scheduler/sched-stats).
struct ThreadSchedule {
  std::uint64_t run_ns = 0;   // on a processor
  std::uint64_t wait_ns = 0;  // ready to run, but waiting for one
  std::uint64_t slices = 0;   // 0: it has never run, or the kernel does not account for it
};
std::optional<ThreadSchedule> read_schedule(const core::Path& path);

/// The processes in `proc` (at most kProbeProcessesMax), in no order: number, folder and stat.
void for_processes(const core::Path& proc,
                   const std::function<void(int, const core::Path&, const ProcessStat&)>& visit);

}  // namespace commensal::probe
