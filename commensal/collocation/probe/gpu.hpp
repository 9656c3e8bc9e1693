// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What the machine's devices tell of themselves. Reads only.
namespace commensal::probe {

struct GpuProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> used_bytes{};
};

/// One look at a GPU. What a driver or a card does not tell is absent, never zero.
struct GpuReading {
  std::string name;
  std::string uuid;
  /// Share of the time in which at least one kernel ran: not how much of the card it used.
  std::optional<double> busy{};
  std::optional<double> memory_busy{};
  std::optional<std::uint64_t> memory_total_bytes{};
  std::optional<std::uint64_t> memory_used_bytes{};
  std::optional<unsigned> sm_clock_mhz{};
  std::optional<unsigned> memory_clock_mhz{};
  std::optional<std::uint64_t> clock_reasons{};  // nvml::Reason
  std::optional<double> power_w{};
  std::optional<double> energy_j{};  // since the driver was loaded
  std::optional<bool> has_mig{};     // MIG is on
  std::optional<std::vector<GpuProcess>> processes{};
  // Between this look and the one before (Hopper and later; no MIG): shares of the most possible.
  std::optional<double> sm_active{};
  std::optional<double> sm_occupancy{};
  std::optional<double> dram_active{};
};

/// True of reasons such as GpuReading::clock_reasons if power or heat is among them.
bool is_throttling(std::uint64_t reasons);

/// "power", "heat", ...: what clock_reasons says, in words.
std::vector<std::string_view> names_of_reasons(std::uint64_t reasons);

/// The GPUs of the machine. Thread-safety: one thread at a time.
class Gpus {
 public:
  virtual ~Gpus() = default;
  virtual unsigned count() const = 0;
  /// Errors: kNotFound (no such card), kUnavailable (the card is lost).
  virtual core::Result<GpuReading> read(unsigned index) = 0;
  /// Power or heat holds the clocks back now: loss that a guest may have caused. Much cheaper than
  /// read(). False where the card does not tell.
  virtual bool is_throttled(unsigned index) = 0;
};

inline constexpr std::string_view kNvmlLibrary = "libnvidia-ml.so.1";

/// Through NVML, which is loaded now and needs neither headers nor libraries to build.
/// Errors: kUnavailable (no driver, or one that does not start).
core::Result<std::unique_ptr<Gpus>> open_nvml(std::string_view library = kNvmlLibrary);

}  // namespace commensal::probe
