// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

/// What the machine's processors and their energy counters tell. Reads only.
namespace commensal::probe {

struct CpuTicks {
  std::uint64_t busy = 0;
  std::uint64_t stolen = 0;  // of busy: what a virtual machine waited for others on its hardware
  std::uint64_t all = 0;
};
/// The line of all processors in /proc/stat (proc(5)); waiting for disks is idle. Error: kDataLoss.
core::Result<CpuTicks> parse_cpu_ticks(std::string_view stat);
/// As the kernel tells it now. Errors: kDataLoss, and those of reading.
core::Result<CpuTicks> read_cpu_ticks(const core::Path& proc = "/proc");

struct ProcessLoad {
  int pid = 0;
  std::string name;
  double processors = 0;  // how many of them it kept busy
};

/// What happened between two looks. What the machine does not tell is absent.
struct CpuReading {
  double seconds = 0;
  std::optional<double> busy{};          // share of all processors' time
  std::optional<double> energy_j{};      // of all packages: powercap's counters, where they are
  std::vector<ProcessLoad> processes{};  // the busiest first, at most kProcessesMax
};

/// Not thread-safe.
class CpuMeter {
 public:
  static constexpr std::size_t kProcessesMax = 16;

  /// The folders of the kernel; others in tests.
  explicit CpuMeter(const core::Clock& clock, core::Path proc = "/proc", core::Path sys = "/sys");

  /// Since the look before; the first one is over no time and has nothing.
  CpuReading read();
  /// The machine had a counter of energy at the last look.
  bool has_energy() const { return !last_energy_.empty(); }

 private:
  struct Process {
    std::uint64_t cpu_ticks = 0;
    std::uint64_t start_ticks = 0;
  };
  struct Energy {
    std::uint64_t uj = 0;
    std::uint64_t range_uj = 0;  // where the counter begins anew; 0: not known
  };

  std::map<int, Process> read_processes(CpuReading& made) const;
  std::map<std::string, Energy> read_energy() const;

  const core::Clock& clock_;
  core::Path proc_;
  core::Path sys_;
  double ticks_per_s_;
  bool has_last_ = false;
  std::int64_t last_ns_ = 0;
  std::optional<CpuTicks> last_ticks_{};
  std::map<int, Process> last_processes_;
  std::map<std::string, Energy> last_energy_;
};

}  // namespace commensal::probe
