// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/profile_live.hpp>
#include <chrono>
#include <commensal/base/chart/bars.hpp>
#include <commensal/collocation/planner/process_usage.hpp>
#include <commensal/collocation/probe/gpu.hpp>
#include <nlohmann/json.hpp>
#include <thread>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

constexpr const char* kNotKnown =
    "not known: instructions a cycle, cache misses, memory bandwidth (no counters are read)";

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::vector<chart::Bar> bars_of(const planner::ProcessUsage& used) {
  const double most = used.processors;
  std::vector<chart::Bar> bars{{"processors, by it", used.processors_own / most,
                                fmt::format("{:.2f} of {}", used.processors_own, used.processors)},
                               {"processors, by all", used.processors_all / most,
                                fmt::format("{:.2f} of {}", used.processors_all, used.processors)}};
  if (!used.memory_gib) return bars;
  const auto memory = [&](const char* label, double gib) {
    bars.push_back({label, gib / *used.memory_gib,
                    fmt::format("{:.2f} of {:.2f} GiB", gib, *used.memory_gib)});
  };
  if (used.resident_gib) memory("memory, by it", *used.resident_gib);
  if (used.memory_left_gib) memory("memory, by all", *used.memory_gib - *used.memory_left_gib);
  return bars;
}

std::vector<chart::Bar> bars_of(const probe::GpuReading& seen) {
  std::vector<chart::Bar> bars;
  const auto add = [&](const char* label, const std::optional<double>& share, const char* note) {
    if (share) bars.push_back({label, *share, note});
  };
  add("time with a kernel", seen.busy, "what reads as utilisation");
  add("multiprocessors", seen.sm_active, "");
  add("warps (occupancy)", seen.sm_occupancy, "");
  add("memory bandwidth", seen.dram_active, "");
  if (seen.memory_used_bytes && seen.memory_total_bytes && *seen.memory_total_bytes > 0) {
    bars.push_back({"memory",
                    static_cast<double>(*seen.memory_used_bytes) /
                        static_cast<double>(*seen.memory_total_bytes),
                    ""});
  }
  return bars;
}

void print_bars(const std::string& heading, const std::vector<chart::Bar>& bars) {
  fmt::print("{}\n\n{:<20} {:>8} {:>8}\n", heading, "", "used", "left");
  for (const chart::Bar& bar : bars) {
    fmt::print("{:<20} {:>6.1f} % {:>6.1f} %  {}\n", bar.label, 100 * bar.used,
               100 * (1 - bar.used), bar.note);
  }
}

Json json_of(const planner::ProcessUsage& used) {
  return {{"pid", used.pid},
          {"name", used.name},
          {"seconds", used.seconds},
          {"processors", used.processors},
          {"processors_own", used.processors_own},
          {"processors_all", used.processors_all},
          {"threads", or_null(used.threads)},
          {"resident_gib", or_null(used.resident_gib)},
          {"resident_peak_gib", or_null(used.resident_peak_gib)},
          {"memory_gib", or_null(used.memory_gib)},
          {"memory_left_gib", or_null(used.memory_left_gib)},
          {"switches_voluntary_per_s", or_null(used.switches_voluntary)},
          {"switches_forced_per_s", or_null(used.switches_forced)},
          {"bandwidth_share", Json()}};
}

Json json_of(const probe::GpuReading& seen) {
  return {{"name", seen.name},
          {"uuid", seen.uuid},
          {"busy", or_null(seen.busy)},
          {"sm_active", or_null(seen.sm_active)},
          {"sm_occupancy", or_null(seen.sm_occupancy)},
          {"dram_active", or_null(seen.dram_active)},
          {"memory_used_bytes", or_null(seen.memory_used_bytes)},
          {"memory_total_bytes", or_null(seen.memory_total_bytes)},
          {"power_w", or_null(seen.power_w)},
          {"energy_j", or_null(seen.energy_j)},
          {"mig", or_null(seen.has_mig)}};
}

void print_rest(const planner::ProcessUsage& used) {
  if (used.threads) fmt::print("\n{} threads", *used.threads);
  if (used.switches_voluntary) {
    fmt::print("{}{:.1f} voluntary and {:.1f} forced switches a second", used.threads ? "; " : "\n",
               *used.switches_voluntary, *used.switches_forced);
  }
  fmt::print("\n{}\n", kNotKnown);
}

Result<void> write_profile(const core::Path& path, const planner::ProcessUsage& used) {
  COMMENSAL_ASSIGN(const planner::Profile profile, planner::profile_of(used));
  const std::string text = planner::profile_yaml(
      profile, fmt::format("Measured over {:.1f} s. Not known, and 0 for that reason: "
                           "bandwidth_share.",
                           used.seconds));
  return core::save_for_user(path, core::as_bytes(text));
}

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

Result<int> profile_process(const LiveProfile& options, const core::Clock& clock) {
  planner::ProcessMeter meter(clock, options.pid);
  COMMENSAL_TRY(meter.begin());
  wait(options.seconds);
  COMMENSAL_ASSIGN(const planner::ProcessUsage used, meter.end());
  const auto bars = bars_of(used);
  const std::string heading =
      fmt::format("{} (process {}), over {:.1f} s", used.name, used.pid, used.seconds);
  if (!options.out.empty()) COMMENSAL_TRY(write_profile(options.out, used));
  if (!options.svg.empty()) {
    const std::string svg = chart::bars_svg("What this machine has left", heading, bars);
    COMMENSAL_TRY(core::save_for_user(options.svg, core::as_bytes(svg)));
  }
  if (options.json) {
    fmt::print("{}\n", json_of(used).dump(2));
    return 0;
  }
  print_bars(heading, bars);
  print_rest(used);
  return 0;
}

Result<int> profile_gpu(const LiveProfile& options) {
  if (!options.out.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--out: a driver tells of a card, not of one program; write the profile by hand");
  }
  COMMENSAL_ASSIGN(const auto gpus, probe::open_nvml());
  const auto index = static_cast<unsigned>(options.gpu);
  COMMENSAL_TRY(gpus->read(index));  // some figures are of the time between two looks
  wait(options.seconds);
  COMMENSAL_ASSIGN(const probe::GpuReading seen, gpus->read(index));
  const auto bars = bars_of(seen);
  const std::string heading = fmt::format("{} (GPU {})", seen.name, options.gpu);
  if (!options.svg.empty()) {
    const std::string svg = chart::bars_svg("What this GPU has left", heading, bars);
    COMMENSAL_TRY(core::save_for_user(options.svg, core::as_bytes(svg)));
  }
  if (options.json) {
    fmt::print("{}\n", json_of(seen).dump(2));
    return 0;
  }
  print_bars(heading, bars);
  if (!seen.sm_active) fmt::print("\nnot known: what its multiprocessors did (Hopper and later)\n");
  return 0;
}

}  // namespace commensal::apps
