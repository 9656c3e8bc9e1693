// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/promise/simulated_host.hpp>
#include <span>
#include <string_view>

namespace commensal::lab::bench::promise {

/// What hosts do to whoever measures them: noise, drift, jumps, phases, slow or lying probes, costs
/// that change, bend, or come late.
struct Kind {
  std::string_view name;
  SimulatedHost (*make)();
  const char* misses = nullptr;  // why it is known to lose more than is promised; else nothing
};
std::span<const Kind> kinds();

}  // namespace commensal::lab::bench::promise
