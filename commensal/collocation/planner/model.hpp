// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/planner/profile.hpp>
#include <span>
#include <vector>

/// How programs share a device, predicted from their profiles; docs/collocation.md says what is
/// assumed. Pure functions; rates are shares of what a program does alone on the device.
namespace commensal::planner {

inline constexpr double kSetPoint = 0.005;       // of the host's rate: what a plan may cost it
inline constexpr double kSwitchLoss = 0.03;      // of a device's time, once programs take turns
inline constexpr double kInterference = 0.1;     // lost to another that takes the whole bandwidth
inline constexpr double kCpuInterference = 0.1;  // lost to another that takes all processors

/// What part of a device some programs have to themselves.
struct Part {
  double compute = 1;    // of its multiprocessors
  double bandwidth = 1;  // of its memory's
};

/// The same program as seen on another device: shares, and its rate alone there. Error:
/// kFailedPrecondition: a device of another architecture, of which the profile says nothing.
core::Result<Profile> rebased(const Profile& profile, std::string_view device);

/// Shares of `capacity` by weight, none beyond its demand.
std::vector<double> water_fill(std::span<const double> demands, std::span<const double> weights,
                               double capacity);

/// The device time of one unit of work, in units of the program's time for it when it is alone.
double device_time(const Profile& profile, const Part& part);
/// In a part of its own.
double rate_alone(const Profile& profile, const Part& part);

struct Sharing {
  std::vector<double> rates{};
  std::vector<double> percentages{};  // of the part's multiprocessors: side_by_side only
  double busy = 0;                    // of the part's time, and bandwidth of the device's
  double bandwidth = 0;
};
/// In turns, by weight. On processors: at the same time, and `interference` is kCpuInterference.
Sharing in_turns(std::span<const Profile> programs, const Part& part, bool is_cpu);
/// At the same time, each with a percentage of the multiprocessors, by need and weight (MPS).
Sharing side_by_side(std::span<const Profile> programs, const Part& part);

/// What guests, slowed down together to `level` of what they would do, cost a host.
struct Beside {
  double level = 0;
  double host_loss = 0;
};
/// The highest level at which the host loses at most kSetPoint.
Beside host_in_turns(const Profile& host, const Sharing& guests, bool is_cpu);
/// The guests have `share` of the multiprocessors. If level is 0, host_loss is what the host loses
/// to its smaller share alone.
Beside host_side_by_side(const Profile& host, const Sharing& guests, double share);

}  // namespace commensal::planner
