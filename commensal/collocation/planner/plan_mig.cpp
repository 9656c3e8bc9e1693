// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/planner/plan.hpp>
#include <map>

namespace commensal::planner {
namespace {

using Partition = std::vector<Placement>;

/// One partition for each set of kinds: where an instance lies makes no difference to who is in it.
/// Those with media extensions are left out, as nothing here uses them.
std::vector<Partition> partitions_of(std::string_view device, std::size_t instances_max) {
  std::map<std::vector<int>, Partition> by_kinds;
  for_each_partition(mig_profiles(device), [&](std::span<const Placement> found) {
    if (found.empty() || found.size() > instances_max) return;
    std::vector<int> kinds;
    for (const Placement& one : found) {
      if (one.profile->name.ends_with("+me")) return;
      kinds.push_back(one.profile->id);
    }
    std::ranges::sort(kinds);
    by_kinds.try_emplace(kinds, found.begin(), found.end());
  });
  std::vector<Partition> all;
  for (auto& [kinds, partition] : by_kinds) all.push_back(std::move(partition));
  return all;
}

std::string place_of(const Placement& one) {
  return fmt::format("{}@{}", one.profile->name, one.start);
}

/// Tries assignments and keeps the best.
class Assigner {
 public:
  Assigner(const Scene& scene, Mode mode)
      : scene_(scene),
        mode_(mode),
        multiprocessors_(find_device(scene.device)->multiprocessors),
        best_(refused(mode, "")),
        seats_(scene.guests.size()) {}

  void try_partition(const Partition& partition) {
    if (!scene_.host) return assign(partition, partition.size(), 0);
    for (std::size_t at = 0; at < partition.size(); ++at) {
      const double loss = 1 - rate_alone(*scene_.host, part_of(partition[at]));
      const bool fits = scene_.host->memory_gib <= partition[at].profile->memory_gib;
      if (fits) least_loss_ = std::min(least_loss_, loss);
      if (fits && loss <= kSetPoint) assign(partition, at, 0);
    }
  }

  Candidate take() {
    if (best_.is_possible) return std::move(best_);
    best_.why = "no legal placement has the memory for all";
    if (scene_.host && least_loss_ > kSetPoint) {
      best_.why = least_loss_ > 1 ? "the host's memory fits into no instance"
                                  : fmt::format(
                                        "the host loses {:.1f} % in the instance that is "
                                        "best for it and leaves room",
                                        100 * least_loss_);
    }
    return std::move(best_);
  }

 private:
  Part part_of(const Placement& one) const {
    return {static_cast<double>(one.profile->multiprocessors) / multiprocessors_,
            static_cast<double>(one.profile->memory_slices) / kMemorySlices};
  }

  /// Guests from `guest` on, into any instance but the host's.
  void assign(const Partition& partition, std::size_t hosts, std::size_t guest) {
    if (guest == scene_.guests.size()) return judge(partition, hosts);
    for (std::size_t at = 0; at < partition.size(); ++at) {
      if (at == hosts) continue;
      seats_[guest] = at;
      assign(partition, hosts, guest + 1);
    }
  }

  void judge(const Partition& partition, std::size_t hosts) {
    Candidate made{.mode = mode_};
    made.guests.resize(scene_.guests.size());
    double tightest = 1e9;
    const auto note_memory = [&](double asked, double room) {
      if (room - asked >= tightest) return;
      tightest = room - asked;
      made.memory_gib = asked;
      made.memory_room = room;
    };
    bool is_shared = false;
    for (std::size_t at = 0; at < partition.size(); ++at) {
      if (at == hosts) {
        note_memory(scene_.host->memory_gib, partition[at].profile->memory_gib);
        const double rate = rate_alone(*scene_.host, part_of(partition[at]));
        made.host = Seat{scene_.host->name, place_of(partition[at]), rate};
        made.host_loss = 1 - rate;
        continue;
      }
      const auto members = members_of(at);
      if (members.empty()) return;  // a smaller partition has the same
      is_shared = is_shared || members.size() > 1;
      double memory = 0;
      for (const std::size_t i : members) memory += scene_.guests[i].memory_gib;
      if (memory > partition[at].profile->memory_gib) return;
      note_memory(memory, partition[at].profile->memory_gib);
      seat(partition[at], members, made);
    }
    if (is_shared != (mode_ == Mode::kNested)) return;
    for (std::size_t i = 0; i < made.guests.size(); ++i) {
      made.worth += scene_.guests[i].weight * made.guests[i].rate;
    }
    if (!best_.is_possible || made.worth > best_.worth + 1e-9) best_ = std::move(made);
  }

  std::vector<std::size_t> members_of(std::size_t at) const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (seats_[i] == at) members.push_back(i);
    }
    return members;
  }

  /// The better of both ways to share an instance.
  void seat(const Placement& instance, const std::vector<std::size_t>& members,
            Candidate& made) const {
    std::vector<Profile> group;
    for (const std::size_t i : members) group.push_back(scene_.guests[i]);
    const Part part = part_of(instance);
    Sharing sharing = in_turns(group, part, false);
    bool is_mps = false;
    if (group.size() > 1 && trust(group)) {
      Sharing other = side_by_side(group, part);
      is_mps = worth_of(group, other.rates) > worth_of(group, sharing.rates);
      if (is_mps) sharing = std::move(other);
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::string where = place_of(instance);
      if (is_mps) where += fmt::format(", {:.0f} % of it", 100 * sharing.percentages[i]);
      if (group.size() > 1 && !is_mps) where += ", in turns";
      made.guests[members[i]] = {group[i].name, where, sharing.rates[i]};
    }
  }

  const Scene& scene_;
  Mode mode_;
  int multiprocessors_;
  Candidate best_;
  std::vector<std::size_t> seats_;  // of each guest: the instance
  double least_loss_ = 2;
};

}  // namespace

Candidate plan_mig(const Scene& scene, Mode mode) {
  if (scene.is_cpu() || mig_profiles(scene.device).empty()) {
    return refused(mode, fmt::format("{} cannot be cut into instances", scene.device));
  }
  if (mode == Mode::kNested && scene.guests.size() < 2) {
    return refused(mode, "one guest has nobody to share an instance with");
  }
  if (scene.host && !scene.host->movable) {
    return refused(mode, "the host would have to stop once, and is not movable");
  }
  const std::size_t hosts = scene.host ? 1 : 0;
  const std::size_t instances_max = scene.guests.size() + hosts - (mode == Mode::kNested ? 1 : 0);
  Assigner assigner(scene, mode);
  for (const Partition& partition : partitions_of(scene.device, instances_max)) {
    if (partition.size() > hosts) assigner.try_partition(partition);
  }
  return assigner.take();
}

}  // namespace commensal::planner
