// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/planner/devices.hpp>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

/// Multi-instance GPUs: what they can be cut into. Source: NVIDIA, Multi-Instance GPU User Guide,
/// "Supported MIG Profiles".
namespace commensal::planner {

/// The memory axis has 8 slices, the compute axis 7.
inline constexpr int kMemorySlices = 8;
inline constexpr int kComputeSlices = 7;

/// A kind of instance.
struct MigProfile {
  std::string_view name;
  int id = 0;                   // as nvidia-smi counts them
  std::span<const int> starts;  // memory slices at which it may begin
  int memory_slices = 0;
  int count_max = 0;
  int compute_slices = 0;
  int multiprocessors = 0;
  double memory_gib = 0;  // that a program gets
};

/// An instance at its place.
struct Placement {
  const MigProfile* profile = nullptr;
  int start = 0;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// The profiles of a100-40, a100-80, h100-80, h200-141; empty for a device that cannot be cut.
std::span<const MigProfile> mig_profiles(std::string_view device);

/// True if these may be there at once: places that exist, disjoint memory, compute slices of at
/// most 7 in all, and no more of a profile than there may be.
bool is_legal(std::span<const Placement> instances);

/// Calls `visit` for each legal set of instances, also the empty one: those that begin earlier
/// first, each set once. Sets that differ only in extensions (+me) are not told apart: there is at
/// most one such instance, and it is visited as a profile of its own.
void for_each_partition(std::span<const MigProfile> profiles,
                        const std::function<void(std::span<const Placement>)>& visit);

}  // namespace commensal::planner
