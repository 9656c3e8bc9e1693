// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace commensal::planner {

/// What one multiprocessor of an architecture has, and in which units it gives it away.
/// Source: NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities", technical specifications;
/// allocation units: CUDA Occupancy Calculator.
struct Architecture {
  std::string_view name;
  int major = 0;  // of the compute capability
  int minor = 0;
  int threads = 0;    // resident at once
  int blocks = 0;     // resident at once
  int registers = 0;  // of 32 bits
  int registers_per_thread = 0;
  int shared_bytes = 0;
  int shared_bytes_per_block = 0;
  int shared_unit_bytes = 0;      // a block's shared memory is rounded up to it
  int shared_reserved_bytes = 0;  // of each block, for the system
  int warp_unit = 0;              // registers are given to warps in groups of so many
};

inline constexpr int kWarpThreads = 32;
inline constexpr int kBlockThreadsMax = 1024;
inline constexpr int kRegisterUnit = 256;  // of a warp, on all of these

/// Source: NVIDIA's data sheets (SXM where there are several forms, of the A10 and L4 the card).
struct Device {
  std::string_view name;
  const Architecture& architecture;
  int multiprocessors = 0;
  double memory_gib = 0;
  double bandwidth_gbs = 0;  // of its memory: 10^9 bytes a second
};

/// Pascal to Hopper.
std::span<const Architecture> architectures();
std::span<const Device> devices();
/// Null if there is none of that name.
const Device* find_device(std::string_view name);

}  // namespace commensal::planner
