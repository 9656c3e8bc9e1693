// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/limits_planner.hpp>
#include <commensal/collocation/planner/plan.hpp>

namespace commensal::planner {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::array<std::string_view, 5> kNames = {"none", "time slice", "MPS", "MIG", "nested"};
constexpr double kWorthTie = 1e-9;  // what is worth more by less is worth the same

Result<double> memory_of(const PlanRequest& request, std::string_view name) {
  if (name != "cpu") {
    const auto cuts = mig_profiles(name);
    if (!cuts.empty()) return std::ranges::max(cuts, {}, &MigProfile::memory_gib).memory_gib;
    return find_device(name)->memory_gib;
  }
  double least = 1e9;
  for (const Profile& one : request.guests) least = std::min(least, *one.device_memory_gib);
  if (request.host) least = std::min(least, *request.host->device_memory_gib);
  return least;
}

Result<Scene> scene_of(const PlanRequest& request) {
  if (request.guests.empty() || request.guests.size() > limits::kPlanGuestsMax) {
    return fail(ErrorCode::kInvalidArgument, "{} guests, expected 1 to {}", request.guests.size(),
                limits::kPlanGuestsMax);
  }
  Scene scene;
  scene.device = request.device == "auto" ? request.guests.front().device : request.device;
  if (scene.device != "cpu" && find_device(scene.device) == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "no device '{}'; 'commensal profile --list' has them",
                scene.device);
  }
  for (const Profile& guest : request.guests) {
    COMMENSAL_ASSIGN(Profile seen, rebased(guest, scene.device));
    scene.guests.push_back(std::move(seen));
  }
  if (request.host) {
    COMMENSAL_ASSIGN(scene.host, rebased(*request.host, scene.device));
  }
  COMMENSAL_ASSIGN(scene.memory_gib, memory_of(request, scene.device));
  if (scene.host && scene.host->memory_gib > scene.memory_gib) {
    return fail(ErrorCode::kInvalidArgument, "the host asks for {:.1f} GiB, {} has {:.1f}",
                scene.host->memory_gib, scene.device, scene.memory_gib);
  }
  return scene;
}

/// Why a mode that could be is not the one.
std::string reason(const Candidate& one, const Candidate& winner) {
  if (one.worth > winner.worth - kWorthTie) return "gives no more than what is simpler";
  if (one.mode == Mode::kNone) {
    return fmt::format("leaves {:.3f} that {} gives", winner.worth - one.worth,
                       name_of(winner.mode));
  }
  return fmt::format("gives {:.3f}, {} gives {:.3f}", one.worth, name_of(winner.mode),
                     winner.worth);
}

double memory_together(const Scene& scene) {
  double sum = scene.host ? scene.host->memory_gib : 0;
  for (const Profile& guest : scene.guests) sum += guest.memory_gib;
  return sum;
}

Candidate refused_for_memory(const Scene& scene, Mode mode) {
  const double asked = memory_together(scene);
  Candidate made =
      refused(mode, fmt::format("{:.1f} GiB do not fit into {:.1f}", asked, scene.memory_gib));
  made.memory_gib = asked;
  made.memory_room = scene.memory_gib;
  return made;
}

Candidate shared(const Scene& scene, Mode mode, const std::vector<double>& rates) {
  Candidate made{.mode = mode};
  made.memory_gib = memory_together(scene);
  made.memory_room = scene.memory_gib;
  made.worth = worth_of(scene.guests, rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    made.guests.push_back({scene.guests[i].name, "", rates[i]});
  }
  return made;
}

}  // namespace

std::string_view name_of(Mode mode) { return kNames.at(static_cast<std::size_t>(mode)); }

Candidate refused(Mode mode, std::string why) {
  Candidate made{.mode = mode};
  made.is_possible = false;
  made.why = std::move(why);
  return made;
}

double worth_of(const std::vector<Profile>& guests, const std::vector<double>& rates) {
  double worth = 0;
  for (std::size_t i = 0; i < guests.size(); ++i) worth += guests[i].weight * rates[i];
  return worth;
}

bool trust(std::span<const Profile> programs) {
  return std::ranges::all_of(programs, [&](const Profile& one) {
    return !one.trust.empty() && one.trust == programs.front().trust;
  });
}

bool Scene::trust_each_other() const {
  return trust(guests) && (!host || host->trust == guests.front().trust);
}

Candidate plan_none(const Scene& scene) {
  Candidate made{.mode = Mode::kNone};
  made.memory_room = scene.memory_gib;
  double weight = 0;
  const auto fits = [&](const Profile& one) { return one.memory_gib <= scene.memory_gib; };
  for (const Profile& guest : scene.guests) weight += fits(guest) ? guest.weight : 0;
  for (const Profile& guest : scene.guests) {
    Seat seat{guest.name, "not at all", 0};
    if (!scene.host && fits(guest)) {
      seat = {guest.name, "alone, after the others", guest.weight / weight};
      made.worth += guest.weight * seat.rate;
    }
    if (fits(guest) && !scene.host) made.memory_gib = std::max(made.memory_gib, guest.memory_gib);
    made.guests.push_back(std::move(seat));
  }
  if (scene.host) {
    made.memory_gib = scene.host->memory_gib;
    made.host = Seat{scene.host->name, "whole device", 1};
  }
  return made;
}

Candidate plan_time_slice(const Scene& scene) {
  if (memory_together(scene) > scene.memory_gib) {
    return refused_for_memory(scene, Mode::kTimeSlice);
  }
  Sharing sharing = in_turns(scene.guests, {}, scene.is_cpu());
  Beside beside{1, 0};
  if (scene.host) {
    beside = host_in_turns(*scene.host, sharing, scene.is_cpu());
    for (double& rate : sharing.rates) rate *= beside.level;
  }
  Candidate made = shared(scene, Mode::kTimeSlice, sharing.rates);
  made.host_loss = beside.host_loss;
  for (Seat& seat : made.guests) seat.where = "whole device, in turns";
  if (scene.host) {
    made.host = Seat{scene.host->name, "whole device", 1 - beside.host_loss};
    for (Seat& seat : made.guests) {
      seat.where = fmt::format("whole device, governed to {:.3f}", beside.level);
    }
  }
  return made;
}

Candidate plan_mps(const Scene& scene) {
  if (scene.is_cpu()) return refused(Mode::kMps, "processors have none");
  if (!scene.trust_each_other()) {
    return refused(Mode::kMps, "a fault in one stops all, and not all are of one trust domain");
  }
  if (scene.host && !scene.host->movable) {
    return refused(Mode::kMps, "the host would have to be started anew, and is not movable");
  }
  if (memory_together(scene) > scene.memory_gib) return refused_for_memory(scene, Mode::kMps);
  if (!scene.host) {
    const Sharing sharing = side_by_side(scene.guests, {});
    Candidate made = shared(scene, Mode::kMps, sharing.rates);
    for (std::size_t i = 0; i < made.guests.size(); ++i) {
      made.guests[i].where = fmt::format("{:.0f} %", 100 * sharing.percentages[i]);
    }
    return made;
  }
  Candidate best = refused(Mode::kMps, "");
  for (int tenth = 1; tenth <= 9; ++tenth) {
    const double share = tenth / 10.0;
    Sharing sharing = side_by_side(scene.guests, {share, 1});
    const Beside beside = host_side_by_side(*scene.host, sharing, share);
    if (beside.level <= 0) {
      if (tenth == 1) {
        best.why = fmt::format("the host loses {:.1f} % in 90 % of the multiprocessors",
                               100 * beside.host_loss);
      }
      break;
    }
    for (double& rate : sharing.rates) rate *= beside.level;
    Candidate made = shared(scene, Mode::kMps, sharing.rates);
    made.host_loss = beside.host_loss;
    made.host = Seat{scene.host->name, fmt::format("{} %", 100 - 10 * tenth), 1 - beside.host_loss};
    for (std::size_t i = 0; i < made.guests.size(); ++i) {
      made.guests[i].where = fmt::format("{:.0f} %, governed to {:.3f}",
                                         100 * share * sharing.percentages[i], beside.level);
    }
    if (!best.is_possible || made.worth > best.worth + kWorthTie) best = std::move(made);
  }
  return best;
}

Result<Plan> make_plan(const PlanRequest& request) {
  COMMENSAL_ASSIGN(const Scene scene, scene_of(request));
  Plan plan;
  plan.device = scene.device;
  plan.candidates = {plan_none(scene), plan_time_slice(scene), plan_mps(scene),
                     plan_mig(scene, Mode::kMig), plan_mig(scene, Mode::kNested)};
  for (std::size_t i = 1; i < plan.candidates.size(); ++i) {
    const Candidate& one = plan.candidates[i];
    if (one.is_possible && one.worth > plan.candidates[plan.winner].worth + kWorthTie) {
      plan.winner = i;
    }
  }
  const Candidate& winner = plan.candidates[plan.winner];
  for (Candidate& one : plan.candidates) {
    if (&one != &winner && one.is_possible) one.why = reason(one, winner);
  }
  return plan;
}

}  // namespace commensal::planner
