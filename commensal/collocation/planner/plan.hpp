// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/planner/mig.hpp>
#include <commensal/collocation/planner/model.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace commensal::planner {

enum class Mode { kNone, kTimeSlice, kMps, kMig, kNested };
std::string_view name_of(Mode mode);

/// Who runs where, and how fast.
struct Seat {
  std::string name;
  std::string where;
  double rate = 0;  // of what it does alone on the whole device
};

/// The best that one mode can do.
struct Candidate {
  Mode mode = Mode::kNone;
  bool is_possible = true;
  double host_loss = 0;    // of its rate
  double worth = 0;        // sum of the guests' rates, each times its weight
  double memory_gib = 0;   // what is asked for where it is tightest
  double memory_room = 0;  // and what is there
  std::optional<Seat> host{};
  std::vector<Seat> guests{};  // as they were given; empty if it is not possible
  std::string why{};           // it is not possible, or loses; of the winner: nothing
};

struct Plan {
  std::string device;
  std::vector<Candidate> candidates;  // one a mode, in the order of Mode
  std::size_t winner = 0;
};

struct PlanRequest {
  std::optional<Profile> host{};
  std::vector<Profile> guests;  // 1 to kPlanGuestsMax
  std::string device;           // of devices(), "cpu", or "auto": that of the profiles
};

/// Which mode gives the guests most while the host loses at most kSetPoint; the simpler of equals.
/// Always one of them is possible: none at all. Pure.
/// Errors: kInvalidArgument (no guest, too many, no such device); kFailedPrecondition (rebased).
core::Result<Plan> make_plan(const PlanRequest& request);

// For make_plan, and tests.

/// All of one device: rebased profiles.
struct Scene {
  std::optional<Profile> host{};
  std::vector<Profile> guests;
  std::string device;
  double memory_gib = 0;  // that programs can have

  bool is_cpu() const { return device == "cpu"; }
  bool trust_each_other() const;  // all, host included
};
Candidate plan_none(const Scene& scene);
Candidate plan_time_slice(const Scene& scene);
Candidate plan_mps(const Scene& scene);
/// Every legal partition and every assignment to it; kNested: at least two guests in one instance.
Candidate plan_mig(const Scene& scene, Mode mode);

/// Not possible, because.
Candidate refused(Mode mode, std::string why);
double worth_of(const std::vector<Profile>& guests, const std::vector<double>& rates);
bool trust(std::span<const Profile> programs);

}  // namespace commensal::planner
