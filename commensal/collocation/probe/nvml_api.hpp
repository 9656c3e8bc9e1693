// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// As much of NVML's binary interface as is used here, declared from its public reference ("NVML
/// API Reference Guide", docs.nvidia.com/deploy/nvml-api): names, numbers and layouts. Nothing of
/// NVIDIA's is needed to build; whatever a driver does not have is absent at run time.
namespace commensal::probe::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kInsufficientSize = 7;

using Handle = struct Opaque*;
using GpmSample = struct OpaqueSample*;

struct Utilization {
  unsigned gpu;  // per cent of the time in which a kernel ran
  unsigned memory;
};
struct Memory {
  unsigned long long total, free, used;  // bytes
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;  // all ones: not known
  unsigned gpu_instance, compute_instance;
};
enum ClockType : unsigned { kGraphics = 0, kSm = 1, kMemory = 2 };

struct GpmSupport {
  unsigned version;  // 1
  unsigned is_supported;
};
struct GpmMetric {
  unsigned id;
  Return result;
  double value;
  struct {
    char* short_name;
    char* long_name;
    char* unit;
  } info;
};
/// The library's own array is longer; it reads and writes the first `count` only.
struct GpmMetrics {
  static constexpr unsigned kMost = 98;
  unsigned version;  // 1
  unsigned count;
  GpmSample first, second;
  GpmMetric metrics[kMost];
};
enum GpmId : unsigned { kSmUtil = 2, kSmOccupancy = 3, kDramBandwidth = 10 };  // per cent

/// Why clocks are held back (nvmlClocksThrottleReasons).
enum Reason : std::uint64_t {
  kIdle = 0x1,
  kApplicationClocks = 0x2,
  kSoftwarePowerCap = 0x4,
  kHardwareSlowdown = 0x8,
  kSyncBoost = 0x10,
  kSoftwareThermal = 0x20,
  kHardwareThermal = 0x40,
  kPowerBrake = 0x80,
  kDisplayClocks = 0x100,
};

}  // namespace commensal::probe::nvml
