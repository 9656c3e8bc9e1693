// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/planner/process_usage.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>

namespace commensal::planner {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using probe::read_small_file;

constexpr std::size_t kThreadsMax = 4096;  // whose switches are counted
constexpr double kKibPerGib = 1024.0 * 1024;

/// The number after "NAME:" at the beginning of a line.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    std::string_view rest = line.substr(name.size() + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    std::uint64_t value = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    return read.ec == std::errc() ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> gib_of(std::string_view text, std::string_view name) {
  const auto kib = number_of(text, name);
  return kib ? std::optional(static_cast<double>(*kib) / kKibPerGib) : std::nullopt;
}

/// Lines "cpuN ..." of /proc/stat.
int processors_in(std::string_view stat) {
  int count = 0;
  for (std::size_t at = stat.find("\ncpu"); at != std::string_view::npos;
       at = stat.find("\ncpu", at + 1)) {
    ++count;
  }
  return count;
}

/// A name that a file may have in it: others chose it.
std::string plain(std::string name) {
  const auto is_odd = [](char c) { return c < '!' || c > '~'; };
  std::ranges::replace_if(name, is_odd, '_');
  return name.empty() ? "unnamed" : name;
}

}  // namespace

ProcessMeter::ProcessMeter(const core::Clock& clock, int pid, core::Path proc)
    : clock_(clock),
      pid_(pid),
      proc_(std::move(proc)),
      own_(proc_ / std::to_string(pid)),
      ticks_per_s_(static_cast<double>(sysconf(_SC_CLK_TCK))) {}

Result<ProcessMeter::Look> ProcessMeter::look() const {
  const auto text = read_small_file(own_ / "stat", limits::kProcessStatusBytesMax);
  if (!text) return fail(ErrorCode::kNotFound, "no process {}", pid_);
  COMMENSAL_ASSIGN(const probe::ProcessStat stat, probe::parse_process_stat(*text));
  if (stat.state == 'Z') return fail(ErrorCode::kNotFound, "process {} has ended", pid_);
  COMMENSAL_ASSIGN(const std::string machine,
                   read_small_file(proc_ / "stat", limits::kMachineStatBytesMax));
  Look made;
  made.at_ns = clock_.monotonic_ns();
  made.name = stat.name;
  made.cpu_ticks = stat.cpu_ticks;
  made.start_ticks = stat.start_ticks;
  COMMENSAL_ASSIGN(made.all, probe::parse_cpu_ticks(machine));
  made.processors = processors_in(machine);
  if (made.processors == 0) return fail(ErrorCode::kDataLoss, "/proc/stat has no processors");
  std::error_code error;
  for (std::filesystem::directory_iterator at(own_ / "task", error), end;
       !error && at != end && made.threads.size() < kThreadsMax; at.increment(error)) {
    const auto status = read_small_file(at->path() / "status", limits::kProcessStatusBytesMax);
    if (!status) continue;  // it ended meanwhile
    const auto voluntary = number_of(*status, "voluntary_ctxt_switches");
    const auto forced = number_of(*status, "nonvoluntary_ctxt_switches");
    int thread = 0;
    const std::string name = at->path().filename().string();
    (void)std::from_chars(name.data(), name.data() + name.size(), thread);
    if (voluntary && forced) made.threads[thread] = {*voluntary, *forced};
  }
  return made;
}

Result<void> ProcessMeter::begin() {
  COMMENSAL_ASSIGN(first_, look());
  return {};
}

void ProcessMeter::read_memory(ProcessUsage& made) const {
  if (const auto status = read_small_file(own_ / "status", limits::kProcessStatusBytesMax)) {
    made.resident_gib = gib_of(*status, "VmRSS");
    made.resident_peak_gib = gib_of(*status, "VmHWM");
    const auto threads = number_of(*status, "Threads");
    if (threads) made.threads = static_cast<int>(std::min<std::uint64_t>(*threads, 1 << 30));
  }
  if (const auto memory = read_small_file(proc_ / "meminfo", limits::kProcessStatusBytesMax)) {
    made.memory_gib = gib_of(*memory, "MemTotal");
    made.memory_left_gib = gib_of(*memory, "MemAvailable");
  }
}

Result<ProcessUsage> ProcessMeter::end() const {
  COMMENSAL_ASSIGN(const Look now, look());
  if (now.start_ticks != first_.start_ticks) {
    return fail(ErrorCode::kNotFound, "process {} has ended; another has its number", pid_);
  }
  ProcessUsage made;
  made.pid = pid_;
  made.name = plain(now.name);
  made.seconds = static_cast<double>(now.at_ns - first_.at_ns) / 1e9;
  if (made.seconds <= 0 || now.all.all <= first_.all.all) {
    return fail(ErrorCode::kFailedPrecondition, "no time went by between the two looks");
  }
  made.processors = now.processors;
  const double most = made.processors;
  const auto ticks = static_cast<double>(now.cpu_ticks - std::min(now.cpu_ticks, first_.cpu_ticks));
  made.processors_own = std::min(ticks / ticks_per_s_ / made.seconds, most);
  const auto busy = static_cast<double>(now.all.busy - std::min(now.all.busy, first_.all.busy));
  made.processors_all =
      std::min(most * busy / static_cast<double>(now.all.all - first_.all.all), most);
  Switches sum;
  bool any = false;
  for (const auto& [thread, after] : now.threads) {
    const auto before = first_.threads.find(thread);
    if (before == first_.threads.end() || after.voluntary < before->second.voluntary ||
        after.forced < before->second.forced) {
      continue;
    }
    any = true;
    sum.voluntary += after.voluntary - before->second.voluntary;
    sum.forced += after.forced - before->second.forced;
  }
  if (any) {
    made.switches_voluntary = static_cast<double>(sum.voluntary) / made.seconds;
    made.switches_forced = static_cast<double>(sum.forced) / made.seconds;
  }
  read_memory(made);
  return made;
}

Result<Profile> profile_of(const ProcessUsage& usage) {
  if (!usage.memory_gib || !usage.resident_gib) {
    return fail(ErrorCode::kUnavailable, "the kernel tells nothing of memory");
  }
  Profile made;
  made.name = usage.name;
  made.device = "cpu";
  made.compute_share = std::min(usage.processors_own / usage.processors, 1.0);
  made.busy_share = std::clamp(usage.processors_own, made.compute_share, 1.0);
  made.memory_gib = usage.resident_peak_gib.value_or(*usage.resident_gib);
  made.device_memory_gib = usage.memory_gib;
  return made;
}

}  // namespace commensal::planner
