// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/planner/model.hpp>
#include <numeric>

namespace commensal::planner {
namespace {

constexpr double kNever = 1e30;  // the time of work that nothing is left for

double over(double need, double have) {
  if (need <= 0) return 0;
  return have > 0 ? need / have : kNever;
}

std::vector<double> weights_of(std::span<const Profile> programs) {
  std::vector<double> weights;
  for (const Profile& one : programs) weights.push_back(one.weight);
  return weights;
}

/// What each loses to all others: `coefficient` times their `use`, which is at most 1 in all.
void disturb(std::vector<double>& rates, const std::vector<double>& use, double coefficient) {
  const double all = std::accumulate(use.begin(), use.end(), 0.0);
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] *= 1 - coefficient * (all - use[i]);
}

}  // namespace

core::Result<Profile> rebased(const Profile& profile, std::string_view device) {
  if (profile.device == device) return profile;
  const Device* from = find_device(profile.device);
  const Device* to = find_device(device);
  const bool is_kin = from != nullptr && to != nullptr &&
                      from->architecture.major == to->architecture.major &&
                      from->architecture.minor == to->architecture.minor;
  if (!is_kin) {
    return core::fail(core::ErrorCode::kFailedPrecondition,
                      "{}: a profile of {} says nothing of {}", profile.name, profile.device,
                      device);
  }
  Profile made = profile;
  made.device = device;
  made.compute_share *= static_cast<double>(from->multiprocessors) / to->multiprocessors;
  made.bandwidth_share *= from->bandwidth_gbs / to->bandwidth_gbs;
  const double busy = device_time(made, {});
  const double time = 1 - made.busy_share + busy;
  made.busy_share = busy / time;
  made.compute_share /= time;
  made.bandwidth_share /= time;
  if (made.rate) *made.rate /= time;
  return made;
}

std::vector<double> water_fill(std::span<const double> demands, std::span<const double> weights,
                               double capacity) {
  std::vector<double> shares(demands.size(), 0);
  std::vector<std::size_t> thirsty(demands.size());
  std::iota(thirsty.begin(), thirsty.end(), 0);
  double left = std::max(capacity, 0.0);
  while (!thirsty.empty()) {
    double weight = 0;
    for (const std::size_t i : thirsty) weight += weights[i];
    const auto is_sated = [&](std::size_t i) { return demands[i] <= left * weights[i] / weight; };
    const auto sated =
        std::partition(thirsty.begin(), thirsty.end(), [&](std::size_t i) { return !is_sated(i); });
    if (sated == thirsty.end()) {
      for (const std::size_t i : thirsty) shares[i] = left * weights[i] / weight;
      break;
    }
    for (auto at = sated; at != thirsty.end(); ++at) {
      shares[*at] = demands[*at];
      left = std::max(left - demands[*at], 0.0);
    }
    thirsty.erase(sated, thirsty.end());
  }
  return shares;
}

double device_time(const Profile& profile, const Part& part) {
  return std::max({profile.busy_share, over(profile.compute_share, part.compute),
                   over(profile.bandwidth_share, part.bandwidth)});
}

double rate_alone(const Profile& profile, const Part& part) {
  return 1 / (1 - profile.busy_share + device_time(profile, part));
}

Sharing in_turns(std::span<const Profile> programs, const Part& part, bool is_cpu) {
  std::vector<double> times;
  std::vector<double> demands;
  for (const Profile& one : programs) {
    times.push_back(is_cpu ? one.compute_share : device_time(one, part));
    demands.push_back(times.back() * (is_cpu ? 1 : rate_alone(one, part)));
  }
  const bool loses = programs.size() > 1 && !is_cpu;
  const auto shares = water_fill(demands, weights_of(programs), loses ? 1 - kSwitchLoss : 1);
  Sharing made;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    made.rates.push_back(times[i] > 0 ? shares[i] / times[i] : 1);
  }
  if (is_cpu) disturb(made.rates, shares, kCpuInterference);
  made.busy = std::accumulate(shares.begin(), shares.end(), 0.0);
  return made;
}

Sharing side_by_side(std::span<const Profile> programs, const Part& part) {
  const auto weights = weights_of(programs);
  std::vector<double> needs;
  for (const Profile& one : programs) {
    const double at_once = over(one.compute_share, one.busy_share);  // while it is busy
    needs.push_back(std::min(over(at_once, part.compute), 1.0));
  }
  Sharing made;
  made.percentages = water_fill(needs, weights, 1);
  std::vector<double> traffic;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Part own{part.compute * made.percentages[i], part.bandwidth};
    made.rates.push_back(rate_alone(programs[i], own));
    traffic.push_back(programs[i].bandwidth_share * made.rates[i]);
  }
  const auto granted = water_fill(traffic, weights, part.bandwidth);
  std::vector<double> use;  // of the part's bandwidth
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (traffic[i] > 0) made.rates[i] *= granted[i] / traffic[i];
    use.push_back(over(granted[i], part.bandwidth));
  }
  disturb(made.rates, use, kInterference);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    made.bandwidth += programs[i].bandwidth_share * made.rates[i];
  }
  return made;
}

Beside host_in_turns(const Profile& host, const Sharing& guests, bool is_cpu) {
  if (guests.busy <= 0) return {1, 0};
  const double busy = is_cpu ? host.compute_share : host.busy_share;
  // A guest's kernel delays the host where it is in its way: as often as the host is busy. Guests
  // in the scheduler's idle class are in nobody's way, but for caches and bandwidth.
  const double cost = guests.busy * (is_cpu ? kCpuInterference : busy);
  const double room = 1 - busy + (is_cpu ? 0 : kSetPoint);
  const double level = std::min({1.0, room / guests.busy, cost > 0 ? kSetPoint / cost : 1.0});
  return {level, level * cost};
}

Beside host_side_by_side(const Profile& host, const Sharing& guests, double share) {
  const auto loss_at = [&](double level) {
    const double traffic = level * guests.bandwidth;
    const double rate = rate_alone(host, {1 - share, 1 - traffic});
    return 1 - rate * (1 - kInterference * traffic);
  };
  if (loss_at(0) > kSetPoint) return {0, loss_at(0)};
  double least = 0;
  double most = 1;
  if (guests.bandwidth > 0) most = std::min(1.0, (1 - host.bandwidth_share) / guests.bandwidth);
  if (loss_at(most) <= kSetPoint) return {most, loss_at(most)};
  for (int step = 0; step < 60; ++step) {
    const double middle = (least + most) / 2;
    (loss_at(middle) <= kSetPoint ? least : most) = middle;
  }
  return {least, loss_at(least)};
}

}  // namespace commensal::planner
