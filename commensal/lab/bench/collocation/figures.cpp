// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/collocation/figures.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <thread>

namespace commensal::lab::bench::collocation {
namespace {

using List = std::vector<const Slice*>;

constexpr double kPromise = 0.99;

double images_per_s_of(const List& slices) {
  double images = 0, seconds = 0;
  for (const Slice* slice : slices) {
    for (const Epoch& epoch : slice->epochs) {
      if (!epoch.is_let) continue;
      images += epoch.images;
      seconds += epoch.to_s - epoch.from_s;
    }
  }
  return seconds > 0 ? images / seconds : 0;
}

double governor_cpu_of(const List& slices) {
  double busy_s = 0, seconds = 0;
  for (const Slice* slice : slices) {
    busy_s += slice->governor_cpu * slice->seconds;
    seconds += slice->seconds;
  }
  return busy_s / seconds / std::max(1U, std::thread::hardware_concurrency());
}

std::optional<Share95> kept_by_clock(Stretches slices, core::Rng& rng) {
  for (auto& slice : slices) {
    for (Epoch& epoch : slice) epoch.work_s = epoch.to_s - epoch.from_s;
  }
  return kept_drawn(slices, rng);
}

ArmFigures arm_of(const Pair& pair, std::string_view arm, const List& slices, double alone,
                  core::Rng& rng) {
  ArmFigures made;
  made.arm = arm;
  made.slices = static_cast<int>(slices.size());
  Stretches stretches;
  for (const Slice* slice : slices) {
    stretches.push_back(slice->epochs);
    for (const Epoch& epoch : slice->epochs) ++(epoch.is_let ? made.let : made.stopped);
  }
  made.kept = kept_drawn(stretches, rng);
  if (!pair.is_server) made.kept_by_clock = kept_by_clock(stretches, rng);
  made.p99 = p99_drawn(stretches, rng);
  made.images_per_s = images_per_s_of(slices);
  if (alone > 0) made.harvest = made.images_per_s / alone;
  made.governor_cpu = governor_cpu_of(slices);
  made.said = slices.back()->said;
  return made;
}

List select(const Slices& slices, std::string_view pair, std::string_view arm) {
  List made;
  for (const Slice& slice : slices.slices) {
    if (slice.pair == pair && slice.arm == arm) made.push_back(&slice);
  }
  std::ranges::sort(made, {}, &Slice::begin_s);
  return made;
}

std::optional<std::pair<double, double>> stolen_in(const Slices& slices, const Pair& pair) {
  std::vector<double> shares;
  for (const Slice& slice : slices.slices) {
    if (slice.pair == pair.name && slice.stolen) shares.push_back(*slice.stolen);
  }
  if (shares.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(shares);
  return std::pair(least, most);
}

}  // namespace

bool ArmFigures::keeps() const { return kept && kept->mean >= kPromise; }

const ArmFigures* PairFigures::find(std::string_view arm) const {
  const auto found = std::ranges::find(arms, arm, &ArmFigures::arm);
  return found == arms.end() ? nullptr : &*found;
}

std::vector<PairFigures> figures_of(const Slices& slices, core::Rng& rng) {
  std::vector<PairFigures> made;
  for (const Pair& pair : collocation_pairs()) {
    const Alone* const alone = slices.find_alone(pair.name);
    if (alone == nullptr) continue;
    PairFigures figures{std::string(pair.name), alone->images_per_s, stolen_in(slices, pair), {}};
    for (const Arm& arm : collocation_arms()) {
      const List own = select(slices, pair.name, arm.name);
      if (!own.empty())
        figures.arms.push_back(arm_of(pair, arm.name, own, alone->images_per_s, rng));
    }
    if (!figures.arms.empty()) made.push_back(std::move(figures));
  }
  return made;
}

}  // namespace commensal::lab::bench::collocation
