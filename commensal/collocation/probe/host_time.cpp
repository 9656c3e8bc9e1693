// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/probe/host_time.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <cstdlib>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;

constexpr double kUnseenS = 0.03;  // more than the ticks of the process's own sum are wrong by

std::uint64_t since(std::uint64_t before, std::uint64_t now) {
  return now >= before ? now - before : now;  // less: another thread has the number
}

}  // namespace

HostTime::HostTime(const core::Path& proc, int pid)
    : folder_(proc / std::to_string(pid)),
      pid_(pid),
      ticks_per_s_(static_cast<double>(sysconf(_SC_CLK_TCK))) {}

void HostTime::add_threads(bool is_first) {
  std::map<int, Thread> seen;
  for_entries(folder_ / "task", limits::kHostThreadsMax, [&](const core::Path& thread) {
    const auto stat = read_schedule(thread / "schedstat");
    if (!stat) return;
    const auto [run_ns, wait_ns, slices] = *stat;
    has_waits_ = has_waits_ || slices > 0;
    const int id = std::atoi(thread.filename().c_str());
    const Thread before = is_first ? Thread{run_ns, wait_ns} : threads_[id];
    run_s_ += static_cast<double>(since(before.run_ns, run_ns)) * 1e-9;
    wait_s_ += static_cast<double>(since(before.wait_ns, wait_ns)) * 1e-9;
    seen[id] = {run_ns, wait_ns};
  });
  threads_ = std::move(seen);
}

core::Result<HostSeconds> HostTime::read() {
  const auto text = read_small_file(folder_ / "stat", limits::kProcessStatBytesMax);
  const auto ended = [this] { return fail(ErrorCode::kUnavailable, "process {} has ended", pid_); };
  if (!text && started_) return ended();
  if (!text) return fail(ErrorCode::kUnavailable, "no process {}", pid_);
  COMMENSAL_ASSIGN(const ProcessStat stat, parse_process_stat(*text));
  if (stat.state == 'Z' || stat.state == 'X') return ended();
  const bool is_first = !started_;
  if (is_first) started_ = stat.start_ticks;
  if (*started_ != stat.start_ticks)
    return fail(ErrorCode::kUnavailable, "process {} has ended, and its number is another's now",
                pid_);
  const double all_s = static_cast<double>(stat.cpu_ticks) / ticks_per_s_;
  if (is_first) run_s_ = all_s;
  add_threads(is_first);
  if (!has_waits_ || all_s > run_s_ + kUnseenS) run_s_ = std::max(run_s_, all_s);
  return HostSeconds{run_s_, wait_s_};
}

}  // namespace commensal::probe
