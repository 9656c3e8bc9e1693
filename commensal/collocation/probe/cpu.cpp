// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/probe/cpu.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::size_t kDomainsMax = 256;

}  // namespace

Result<CpuTicks> parse_cpu_ticks(std::string_view stat) {
  constexpr std::string_view kBegin = "cpu ";
  if (!stat.starts_with(kBegin)) return fail(ErrorCode::kDataLoss, "no line of all processors");
  std::string_view rest = stat.substr(kBegin.size(), stat.find('\n') - kBegin.size());
  CpuTicks made;
  // user nice system idle iowait irq softirq steal; what follows is counted in user already.
  constexpr int kIdle = 3, kWaiting = 4, kStolen = 7, kFields = 8;
  for (int field = 0; field < kFields; ++field) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    std::uint64_t ticks = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
    if (read.ec != std::errc()) return fail(ErrorCode::kDataLoss, "field {} is no number", field);
    rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
    made.all += ticks;
    if (field != kIdle && field != kWaiting) made.busy += ticks;
    if (field == kStolen) made.stolen = ticks;
  }
  return made;
}

Result<CpuTicks> read_cpu_ticks(const core::Path& proc) {
  COMMENSAL_ASSIGN(const std::string text,
                   read_small_file(proc / "stat", limits::kMachineStatBytesMax));
  return parse_cpu_ticks(text);
}

CpuMeter::CpuMeter(const core::Clock& clock, core::Path proc, core::Path sys)
    : clock_(clock),
      proc_(std::move(proc)),
      sys_(std::move(sys)),
      ticks_per_s_(static_cast<double>(sysconf(_SC_CLK_TCK))) {}

std::map<int, CpuMeter::Process> CpuMeter::read_processes(CpuReading& made) const {
  std::map<int, Process> all;
  for_processes(proc_, [&](int pid, const core::Path&, const ProcessStat& stat) {
    all[pid] = {stat.cpu_ticks, stat.start_ticks};
    const auto last = last_processes_.find(pid);
    if (last == last_processes_.end() || last->second.start_ticks != stat.start_ticks ||
        last->second.cpu_ticks >= stat.cpu_ticks || made.seconds <= 0) {
      return;
    }
    const auto ticks = static_cast<double>(stat.cpu_ticks - last->second.cpu_ticks);
    made.processes.push_back({pid, stat.name, ticks / ticks_per_s_ / made.seconds});
  });
  std::ranges::sort(made.processes, std::ranges::greater(), &ProcessLoad::processors);
  if (made.processes.size() > kProcessesMax) made.processes.resize(kProcessesMax);
  return all;
}

std::map<std::string, CpuMeter::Energy> CpuMeter::read_energy() const {
  std::map<std::string, Energy> all;
  for_entries(sys_ / "class/powercap", kDomainsMax, [&](const core::Path& folder) {
    // "intel-rapl:0" is a package; "intel-rapl:0:1" a part of it, "intel-rapl-mmio:0" the same
    // again.
    const std::string name = folder.filename().string();
    if (!name.starts_with("intel-rapl:") || std::ranges::count(name, ':') != 1) return;
    const auto uj = number_in(folder / "energy_uj");
    if (uj) all[name] = {*uj, number_in(folder / "max_energy_range_uj").value_or(0)};
  });
  return all;
}

CpuReading CpuMeter::read() {
  CpuReading made;
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (has_last_) made.seconds = static_cast<double>(now_ns - last_ns_) * 1e-9;
  std::optional<CpuTicks> ticks;
  if (const auto read = read_cpu_ticks(proc_)) ticks = *read;
  if (ticks && last_ticks_ && ticks->all > last_ticks_->all && ticks->busy >= last_ticks_->busy) {
    made.busy = static_cast<double>(ticks->busy - last_ticks_->busy) /
                static_cast<double>(ticks->all - last_ticks_->all);
  }
  auto energy = read_energy();
  for (const auto& [name, now] : energy) {
    const auto last = last_energy_.find(name);
    if (last == last_energy_.end()) continue;
    const bool is_wrapped = now.uj < last->second.uj;
    if (is_wrapped && now.range_uj < last->second.uj) continue;
    const std::uint64_t uj = now.uj - last->second.uj + (is_wrapped ? now.range_uj : 0);
    made.energy_j = made.energy_j.value_or(0) + static_cast<double>(uj) * 1e-6;
  }
  last_processes_ = read_processes(made);
  last_energy_ = std::move(energy);
  last_ticks_ = ticks;
  last_ns_ = now_ns;
  has_last_ = true;
  return made;
}

}  // namespace commensal::probe
