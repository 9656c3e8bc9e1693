// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/collocation/planner/devices.hpp>

namespace commensal::planner {
namespace {

constexpr int kKib = 1024;

// name, capability, threads, blocks, registers, per thread, shared memory, per block, unit,
// reserved, unit of warps
constexpr std::array kArchitectures = {
    Architecture{"Pascal", 6, 0, 2048, 32, 65536, 255, 64 * kKib, 48 * kKib, 256, 0, 2},
    Architecture{"Pascal", 6, 1, 2048, 32, 65536, 255, 96 * kKib, 48 * kKib, 256, 0, 4},
    Architecture{"Volta", 7, 0, 2048, 32, 65536, 255, 96 * kKib, 96 * kKib, 256, 0, 4},
    Architecture{"Turing", 7, 5, 1024, 16, 65536, 255, 64 * kKib, 64 * kKib, 256, 0, 4},
    Architecture{"Ampere", 8, 0, 2048, 32, 65536, 255, 164 * kKib, 163 * kKib, 128, kKib, 4},
    Architecture{"Ampere", 8, 6, 1536, 16, 65536, 255, 100 * kKib, 99 * kKib, 128, kKib, 4},
    Architecture{"Ada", 8, 9, 1536, 24, 65536, 255, 100 * kKib, 99 * kKib, 128, kKib, 4},
    Architecture{"Hopper", 9, 0, 2048, 32, 65536, 255, 228 * kKib, 227 * kKib, 128, kKib, 4},
};

constexpr const Architecture& capability(int major, int minor) {
  for (const Architecture& one : kArchitectures) {
    if (one.major == major && one.minor == minor) return one;
  }
  throw "no such architecture";  // at compile time
}

constexpr std::array kDevices = {
    Device{"p100", capability(6, 0), 56, 16, 732},
    Device{"gtx-1050", capability(6, 1), 5, 2, 112},
    Device{"gtx-1080", capability(6, 1), 20, 8, 320},
    Device{"gtx-1080ti", capability(6, 1), 28, 11, 484},
    Device{"v100-16", capability(7, 0), 80, 16, 900},
    Device{"v100-32", capability(7, 0), 80, 32, 900},
    Device{"t4", capability(7, 5), 40, 16, 320},
    Device{"rtx-2080ti", capability(7, 5), 68, 11, 616},
    Device{"a100-40", capability(8, 0), 108, 40, 1555},
    Device{"a100-80", capability(8, 0), 108, 80, 2039},
    Device{"a10", capability(8, 6), 72, 24, 600},
    Device{"rtx-3090", capability(8, 6), 82, 24, 936},
    Device{"l4", capability(8, 9), 58, 24, 300},
    Device{"rtx-4090", capability(8, 9), 128, 24, 1008},
    Device{"h100-80", capability(9, 0), 132, 80, 3350},
    Device{"h200-141", capability(9, 0), 132, 141, 4800},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }
std::span<const Device> devices() { return kDevices; }

const Device* find_device(std::string_view name) {
  const auto found = std::ranges::find(kDevices, name, &Device::name);
  return found == kDevices.end() ? nullptr : &*found;
}

}  // namespace commensal::planner
