// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/host_time.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <set>
#include <sstream>

namespace commensal::probe {
namespace {

constexpr double kBusyShare = 0.1;  // of a processor, since it began
constexpr std::string_view kListens = "0A";

/// The sockets that listen there, as they are called in /proc/PID/fd. proc(5): addresses are words
/// of the machine, in hexadecimals. Those that listen come first: on a machine with many
/// connections, ended ones among them for a minute, the table may be longer than what is read of
/// it.
void add_sockets(const core::Path& table, const std::string& port,
                 std::initializer_list<std::string_view> addresses, std::set<std::string>& made) {
  const auto text = read_beginning(table, limits::kMachineStatBytesMax);
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, skipped, inode;
    fields >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skipped;  // queues, timer, retransmits, user, timeout
    fields >> inode;
    const auto is_there = [&](std::string_view one) {
      return local.size() == one.size() + port.size() && local.starts_with(one) &&
             local.ends_with(port);
    };
    if (state == kListens && std::ranges::any_of(addresses, is_there))
      made.insert("socket:[" + inode + "]");
  }
}

bool has_one_of(const core::Path& process, const std::set<std::string>& sockets) {
  bool found = false;
  for_entries(process / "fd", limits::kProcessFilesMax, [&](const core::Path& file) {
    std::error_code error;
    found = found || sockets.contains(std::filesystem::read_symlink(file, error).string());
  });
  return found;
}

/// By what it wanted of the processors: on a busy machine it need not have got much.
bool is_busy(const core::Path& proc, const core::Path& process, const ProcessStat& stat) {
  const auto uptime_s = number_in(proc / "uptime");
  const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  double needed_s = 0;
  for_entries(process / "task", limits::kHostThreadsMax, [&](const core::Path& thread) {
    const auto times = read_schedule(thread / "schedstat").value_or(ThreadSchedule{});
    needed_s += static_cast<double>(times.run_ns + times.wait_ns) * 1e-9;
  });
  needed_s = std::max(needed_s, static_cast<double>(stat.cpu_ticks) / ticks_per_s);
  const double age_s = static_cast<double>(uptime_s.value_or(0)) -
                       static_cast<double>(stat.start_ticks) / ticks_per_s;
  return uptime_s && needed_s > kBusyShare * age_s;
}

}  // namespace

std::optional<int> busy_listener_at(const core::Path& proc, std::string_view host,
                                    std::uint16_t port) {
  std::set<std::string> sockets;
  const std::string at = fmt::format(":{:04X}", port);
  if (host.find(':') == std::string_view::npos)
    add_sockets(proc / "net/tcp", at, {"0100007F", "00000000"}, sockets);
  add_sockets(proc / "net/tcp6", at,
              {"00000000000000000000000001000000", "0000000000000000FFFF00000100007F",
               "00000000000000000000000000000000"},
              sockets);
  std::optional<int> found;
  if (sockets.empty()) return found;
  for_processes(proc, [&](int pid, const core::Path& folder, const ProcessStat& stat) {
    if (pid == getpid() || (found && pid > *found) || !has_one_of(folder, sockets)) return;
    if (is_busy(proc, folder, stat)) found = pid;
  });
  return found;
}

}  // namespace commensal::probe
