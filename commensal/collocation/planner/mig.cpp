// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/collocation/planner/mig.hpp>

namespace commensal::planner {
namespace {

constexpr std::array kAnySlice = {0, 1, 2, 3, 4, 5, 6};
constexpr std::array kEven = {0, 2, 4, 6};
constexpr std::array kEvenLow = {0, 2, 4};
constexpr std::array kHalves = {0, 4};
constexpr std::array kFirst = {0};

using Profiles = std::array<MigProfile, 7>;

/// What a device makes of a profile; places and slices are the same on all of them.
struct Size {
  std::string_view name;
  int multiprocessors = 0;
  double memory_gib = 0;
};

constexpr Profiles profiles_of(const std::array<Size, 7>& sizes) {
  Profiles all = {{{{}, 19, kAnySlice, 1, 7, 1},
                   {{}, 20, kAnySlice, 1, 1, 1},
                   {{}, 15, kEven, 2, 4, 1},
                   {{}, 14, kEvenLow, 2, 3, 2},
                   {{}, 9, kHalves, 4, 2, 3},
                   {{}, 5, kFirst, 4, 1, 4},
                   {{}, 0, kFirst, 8, 1, 7}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = sizes[i].name;
    all[i].multiprocessors = sizes[i].multiprocessors;
    all[i].memory_gib = sizes[i].memory_gib;
  }
  return all;
}

constexpr Profiles kA100With40 = profiles_of({{{"1g.5gb", 14, 4.75},
                                               {"1g.5gb+me", 14, 4.75},
                                               {"1g.10gb", 14, 9.62},
                                               {"2g.10gb", 28, 9.62},
                                               {"3g.20gb", 42, 19.62},
                                               {"4g.20gb", 56, 19.62},
                                               {"7g.40gb", 98, 39.5}}});
constexpr Profiles kA100With80 = profiles_of({{{"1g.10gb", 14, 9.5},
                                               {"1g.10gb+me", 14, 9.5},
                                               {"1g.20gb", 14, 19.5},
                                               {"2g.20gb", 28, 19.5},
                                               {"3g.40gb", 42, 39.25},
                                               {"4g.40gb", 56, 39.25},
                                               {"7g.80gb", 98, 79.0}}});
constexpr Profiles kH100With80 = profiles_of({{{"1g.10gb", 16, 9.75},
                                               {"1g.10gb+me", 16, 9.75},
                                               {"1g.20gb", 26, 19.62},
                                               {"2g.20gb", 32, 19.62},
                                               {"3g.40gb", 60, 39.5},
                                               {"4g.40gb", 64, 39.5},
                                               {"7g.80gb", 132, 79.25}}});
// Of the H200 the usable memory of 1g and 3g is known; that of the others is in proportion to it.
constexpr Profiles kH200With141 = profiles_of({{{"1g.18gb", 16, 16.0},
                                                {"1g.18gb+me", 16, 16.0},
                                                {"1g.35gb", 26, 32.5},
                                                {"2g.35gb", 32, 32.5},
                                                {"3g.71gb", 60, 69.8},
                                                {"4g.71gb", 64, 69.8},
                                                {"7g.141gb", 132, 139.0}}});

struct Cut {
  std::string_view device;
  std::span<const MigProfile> profiles;
};

constexpr std::array kCuts = {Cut{"a100-40", kA100With40}, Cut{"a100-80", kA100With80},
                              Cut{"h100-80", kH100With80}, Cut{"h200-141", kH200With141}};

bool is_place(const Placement& one) {
  return std::ranges::find(one.profile->starts, one.start) != one.profile->starts.end();
}

unsigned memory_of(const Placement& one) {
  return ((1U << one.profile->memory_slices) - 1) << one.start;
}

class Search {
 public:
  Search(std::span<const MigProfile> profiles,
         const std::function<void(std::span<const Placement>)>& visit)
      : profiles_(profiles), visit_(visit) {}

  /// All sets that have what `chosen_` has and besides only instances from slice `from` on.
  void visit_from(int from) {
    visit_(chosen_);
    for (int start = from; start < kMemorySlices; ++start) {
      for (const MigProfile& profile : profiles_) {
        chosen_.push_back({&profile, start});
        if (is_legal(chosen_)) visit_from(start + profile.memory_slices);
        chosen_.pop_back();
      }
    }
  }

 private:
  std::span<const MigProfile> profiles_;
  const std::function<void(std::span<const Placement>)>& visit_;
  std::vector<Placement> chosen_;
};

}  // namespace

std::span<const MigProfile> mig_profiles(std::string_view device) {
  const auto found = std::ranges::find(kCuts, device, &Cut::device);
  return found == kCuts.end() ? std::span<const MigProfile>() : found->profiles;
}

bool is_legal(std::span<const Placement> instances) {
  unsigned memory = 0;
  int compute = 0;
  for (const Placement& one : instances) {
    if (!is_place(one) || (memory & memory_of(one)) != 0) return false;
    memory |= memory_of(one);
    compute += one.profile->compute_slices;
    const auto like_it = [&](const Placement& other) { return other.profile == one.profile; };
    if (std::ranges::count_if(instances, like_it) > one.profile->count_max) return false;
  }
  return compute <= kComputeSlices;
}

void for_each_partition(std::span<const MigProfile> profiles,
                        const std::function<void(std::span<const Placement>)>& visit) {
  Search(profiles, visit).visit_from(0);
}

}  // namespace commensal::planner
