// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/planner/occupancy.hpp>

namespace commensal::planner {
namespace {

using core::ErrorCode;
using core::Result;

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/// What no block may have more of.
struct Bound {
  const char* what;
  int value;
  int least;
  int most;
};

Result<void> check(const Kernel& kernel, const Architecture& on) {
  for (const Bound& bound :
       {Bound{"threads a block", kernel.threads, 1, kBlockThreadsMax},
        Bound{"registers a thread", kernel.registers_per_thread, 1, on.registers_per_thread},
        Bound{"bytes of shared memory a block", kernel.shared_bytes, 0,
              on.shared_bytes_per_block}}) {
    if (bound.value >= bound.least && bound.value <= bound.most) continue;
    return core::fail(ErrorCode::kInvalidArgument, "{} {}, expected {} to {} on {} ({}.{})",
                      bound.value, bound.what, bound.least, bound.most, on.name, on.major,
                      on.minor);
  }
  return {};
}

}  // namespace

std::vector<std::string_view> Occupancy::limits() const {
  std::vector<std::string_view> names;
  for (const Resource& resource : resources) {
    if (resource.blocks == blocks) names.push_back(resource.name);
  }
  return names;
}

Result<Occupancy> occupancy_of(const Kernel& kernel, const Architecture& on) {
  COMMENSAL_TRY(check(kernel, on));
  const int warps = round_up(kernel.threads, kWarpThreads) / kWarpThreads;
  const int warps_max = on.threads / kWarpThreads;
  // Registers go to warps, whole units each, and to a whole number of groups of warps.
  const int warp_registers = round_up(kernel.registers_per_thread * kWarpThreads, kRegisterUnit);
  const int warps_by_registers = on.registers / warp_registers / on.warp_unit * on.warp_unit;
  const int shared =
      round_up(kernel.shared_bytes + on.shared_reserved_bytes, on.shared_unit_bytes);
  Occupancy result;
  result.resources = {{"threads", warps_max / warps, 0},
                      {"blocks", on.blocks, 0},
                      {"registers", warps_by_registers / warps, 0},
                      {"shared memory", shared > 0 ? on.shared_bytes / shared : on.blocks, 0}};
  result.blocks = std::ranges::min(result.resources, {}, &Resource::blocks).blocks;
  if (result.blocks == 0) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "no block of {} threads with {} registers each fits on {} ({}.{})",
                      kernel.threads, kernel.registers_per_thread, on.name, on.major, on.minor);
  }
  const auto share = [&](double each, double all) { return result.blocks * each / all; };
  result.resources[0].used = share(kernel.threads, on.threads);
  result.resources[1].used = share(1, on.blocks);
  result.resources[2].used =
      share(static_cast<double>(kernel.registers_per_thread) * kernel.threads, on.registers);
  result.resources[3].used = share(kernel.shared_bytes, on.shared_bytes);
  result.occupancy = share(warps, warps_max);
  return result;
}

}  // namespace commensal::planner
