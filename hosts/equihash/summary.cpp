// SPDX-License-Identifier: Apache-2.0
#include <hosts/equihash/summary.hpp>
#include <nlohmann/json.hpp>

namespace hosts::equihash {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Means& means) {
  Json list = Json::array();
  for (const auto& mean : means) list.push_back(mean ? Json(*mean) : Json());
  return list;
}

std::string name_of(const Params& params) {
  return "equihash/" + std::to_string(params.n) + "_" + std::to_string(params.k);
}

}  // namespace

Means means_of(const common::RateWindows& windows) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {windows.mean(10 * kSecond), windows.mean(60 * kSecond), windows.mean(900 * kSecond)};
}

std::string to_xmrig_summary(const Status& status) {
  const std::string name = name_of(status.options.params);
  const auto seconds = static_cast<std::uint64_t>(status.seconds);
  const auto ms = static_cast<std::uint64_t>(status.seconds * 1000);
  const MinerCounts& counts = status.counts;
  const std::uint64_t mean_ms = counts.solutions == 0 ? 0 : ms / counts.solutions;
  Json threads = Json::array();
  for (const Means& means : status.threads) threads.push_back(to_json(means));
  const Json json = {
      {"id", "commensal"},
      {"worker_id", "hosts-equihash"},
      {"uptime", seconds},
      {"restricted", true},
      {"features", {"api", "http"}},
      {"results",
       {{"diff_current", 1},
        {"shares_good", counts.solutions},
        {"shares_total", counts.solutions + counts.invalid},
        {"avg_time", mean_ms / 1000},
        {"avg_time_ms", mean_ms},
        {"hashes_total", counts.passes}}},
      {"algo", name},
      {"connection",
       {{"pool", "none"},
        {"ip", "127.0.0.1"},
        {"uptime", seconds},
        {"uptime_ms", ms},
        {"ping", 0},
        {"failures", 0},
        {"tls", nullptr},
        {"algo", name},
        {"diff", 1},
        {"accepted", counts.solutions},
        {"rejected", counts.invalid},
        {"avg_time", mean_ms / 1000},
        {"avg_time_ms", mean_ms},
        {"hashes_total", counts.passes}}},
      {"version", "1"},
      {"kind", "miner"},
      {"ua", "hosts/equihash"},
      {"donate_level", 0},
      {"paused", false},
      {"algorithms", {name}},
      {"hashrate",
       {{"total", to_json(status.total)}, {"highest", status.highest}, {"threads", threads}}},
      {"hugepages", false}};
  return json.dump(4) + "\n";
}

std::string to_final_json(const MinerOptions& options, const MinerCounts& counts, double seconds) {
  const auto rate = [&](std::uint64_t count) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
  };
  const Json json = {{"algo", name_of(options.params)},
                     {"threads", options.threads},
                     {"seed", options.seed},
                     {"seconds", seconds},
                     {"runs", counts.runs},
                     {"sols", counts.solutions},
                     {"sols_invalid", counts.invalid},
                     {"sols_per_s", rate(counts.solutions)},
                     {"sols_per_s_per_thread", rate(counts.solutions) / options.threads},
                     {"bucket_passes", counts.passes},
                     {"bucket_passes_per_s", rate(counts.passes)}};
  return json.dump() + "\n";
}

}  // namespace hosts::equihash
