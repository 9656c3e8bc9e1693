// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/planner/profile.hpp>
#include <commensal/collocation/probe/cpu.hpp>
#include <map>
#include <optional>
#include <string>

/// What a running process uses of this machine, and what is left. Reads /proc only (proc(5)).
namespace commensal::planner {

/// Between two looks. What the kernel does not tell is absent.
struct ProcessUsage {
  int pid = 0;
  std::string name;
  double seconds = 0;
  int processors = 0;         // of the machine
  double processors_own = 0;  // that this process kept busy
  double processors_all = 0;  // that all programs did
  std::optional<int> threads{};
  std::optional<double> resident_gib{};
  std::optional<double> resident_peak_gib{};
  std::optional<double> memory_gib{};       // of the machine
  std::optional<double> memory_left_gib{};  // that could be had without swapping
  // Per second, of the threads that were there at both looks.
  std::optional<double> switches_voluntary{};
  std::optional<double> switches_forced{};
};

/// Not thread-safe.
class ProcessMeter {
 public:
  ProcessMeter(const core::Clock& clock, int pid, core::Path proc = "/proc");
  /// The first look. Errors: kNotFound (no such process), kDataLoss (what it says is no /proc).
  core::Result<void> begin();
  /// What happened since. Errors besides: kNotFound if the process ended, kFailedPrecondition if no
  /// time went by.
  core::Result<ProcessUsage> end() const;

 private:
  struct Switches {
    std::uint64_t voluntary = 0;
    std::uint64_t forced = 0;
  };
  struct Look {
    std::int64_t at_ns = 0;
    std::string name;
    std::uint64_t cpu_ticks = 0;
    std::uint64_t start_ticks = 0;
    probe::CpuTicks all;
    int processors = 0;
    std::map<int, Switches> threads;
  };

  core::Result<Look> look() const;
  void read_memory(ProcessUsage& made) const;

  const core::Clock& clock_;
  int pid_;
  core::Path proc_;
  core::Path own_;
  double ticks_per_s_;
  Look first_;
};

/// For the planner: the process as it was, on device "cpu". Its bandwidth is not known and stands
/// as 0. Error: kUnavailable where the kernel does not tell of memory.
core::Result<Profile> profile_of(const ProcessUsage& usage);

}  // namespace commensal::planner
