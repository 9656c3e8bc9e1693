// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <commensal/collocation/planner/mig.hpp>
#include <commensal/collocation/planner/occupancy.hpp>
#include <set>
#include <string>

namespace commensal::planner {
namespace {

using testing::ElementsAre;

const Architecture& of(const char* device) { return find_device(device)->architecture; }

// 1024 threads, 32,768 registers and 42,756 bytes of shared memory a block on a GTX 1080: the seed
// says that 20 % of the shared memory is left; it is 13 %.
TEST(Occupancy, OfTheSeedsKernel) {
  const auto found = occupancy_of({1024, 32, 42756}, of("gtx-1080"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->blocks, 2);
  EXPECT_EQ(found->occupancy, 1);
  EXPECT_THAT(found->limits(), ElementsAre("threads", "registers", "shared memory"));
  EXPECT_EQ(found->resources[0].used, 1);
  EXPECT_EQ(found->resources[2].used, 1);
  EXPECT_NEAR(1 - found->resources[3].used, 0.13, 0.001);
}

struct Case {
  const char* device;
  Kernel kernel;
  int blocks;
  const char* limit;  // the first
};

// By hand, from the tables of the programming guide.
TEST(Occupancy, OfKernelsCountedByHand) {
  for (const Case& one : {Case{"gtx-1080", {32, 16, 0}, 32, "blocks"},
                          Case{"t4", {1024, 32, 0}, 1, "threads"},
                          Case{"t4", {64, 32, 0}, 16, "threads"},
                          Case{"a100-40", {256, 32, 0}, 8, "threads"},
                          Case{"a100-40", {256, 64, 0}, 4, "registers"},
                          Case{"a100-40", {256, 65, 0}, 3, "registers"},  // 72 a thread are given
                          Case{"a100-40", {128, 32, 40 * 1024}, 4, "shared memory"},
                          Case{"a100-40", {128, 32, 41 * 1024}, 3, "shared memory"},  // 1 KiB more
                          Case{"v100-16", {128, 32, 48 * 1024}, 2, "shared memory"},
                          Case{"rtx-3090", {1024, 32, 0}, 1, "threads"},
                          Case{"l4", {32, 32, 0}, 24, "blocks"},
                          Case{"h100-80", {128, 255, 0}, 2, "registers"},
                          Case{"h100-80", {384, 168, 227 * 1024}, 1, "registers"}}) {
    const auto found = occupancy_of(one.kernel, of(one.device));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->blocks, one.blocks) << one.device << " " << one.kernel.threads;
    EXPECT_EQ(found->limits().front(), one.limit) << one.device << " " << one.kernel.threads;
  }
}

// The result is the largest number of blocks that fits, whatever is asked for.
TEST(Occupancy, IsTheMostThatFits) {
  for (const Architecture& on : architectures()) {
    for (int threads = 1; threads <= kBlockThreadsMax; threads += 31) {
      for (int registers = 1; registers <= on.registers_per_thread; registers += 7) {
        const auto found = occupancy_of({threads, registers, 5000}, on);
        if (!found) {
          EXPECT_EQ(found.error().code, core::ErrorCode::kResourceExhausted);
          EXPECT_GT(threads * registers, on.registers / 2);
          continue;
        }
        EXPECT_LE(found->blocks * threads, on.threads);
        EXPECT_LE(found->blocks * threads * registers, on.registers);
        EXPECT_LE(found->blocks * 5000, on.shared_bytes);
        EXPECT_LE(found->occupancy, 1);
        EXPECT_FALSE(found->limits().empty());
      }
    }
  }
}

TEST(Occupancy, RefusesByName) {
  const Architecture& on = of("gtx-1080");
  for (const auto& [kernel, what] :
       {std::pair(Kernel{0, 32, 0}, "0 threads a block, expected 1 to 1024"),
        {Kernel{1025, 32, 0}, "1025 threads a block"},
        {Kernel{32, 256, 0}, "256 registers a thread, expected 1 to 255"},
        {Kernel{32, 32, 50000}, "50000 bytes of shared memory a block, expected 0 to 49152"},
        {Kernel{32, 32, -1}, "-1 bytes"}}) {
    const auto found = occupancy_of(kernel, on);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, core::ErrorCode::kInvalidArgument);
    EXPECT_THAT(found.error().message, testing::StartsWith(what));
  }
  EXPECT_EQ(find_device("gtx-9999"), nullptr);
}

std::string text(std::span<const Placement> instances) {
  std::set<std::string> parts;
  for (const Placement& one : instances) {
    parts.insert(std::string(one.profile->name) + "@" + std::to_string(one.start));
  }
  std::string all;
  for (const std::string& part : parts) all += part + " ";
  return all;
}

/// Every set of places, one bit each, held to the rules as they are written: memory slices
/// disjoint, compute slices at most 7 in all, no more of a profile than there may be.
std::set<std::string> by_brute_force(std::span<const MigProfile> profiles) {
  std::vector<Placement> places;
  for (const MigProfile& profile : profiles) {
    for (const int start : profile.starts) places.push_back({&profile, start});
  }
  std::set<std::string> legal;
  for (std::uint32_t set = 0; set < 1U << places.size(); ++set) {
    std::array<int, kMemorySlices> memory{};
    std::vector<Placement> chosen;
    int compute = 0;
    bool is_legal = std::popcount(set) <= kComputeSlices;
    for (std::size_t i = 0; is_legal && i < places.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      const MigProfile& profile = *places[i].profile;
      for (int slice = 0; slice < profile.memory_slices; ++slice) {
        is_legal = is_legal && memory.at(static_cast<std::size_t>(places[i].start + slice))++ == 0;
      }
      compute += profile.compute_slices;
      chosen.push_back(places[i]);
      int alike = 0;
      for (const Placement& one : chosen) alike += one.profile == &profile ? 1 : 0;
      is_legal = is_legal && compute <= kComputeSlices && alike <= profile.count_max;
    }
    if (is_legal) legal.insert(text(chosen));
  }
  return legal;
}

TEST(Mig, VisitsExactlyTheLegalPartitions) {
  for (const char* device : {"a100-40", "a100-80", "h100-80", "h200-141"}) {
    std::set<std::string> visited;
    std::size_t visits = 0;
    for_each_partition(mig_profiles(device), [&](std::span<const Placement> instances) {
      visited.insert(text(instances));
      ++visits;
    });
    EXPECT_EQ(visits, visited.size()) << "one came twice";
    // All have the same places, so the slow check is made once.
    static const std::set<std::string> legal = by_brute_force(mig_profiles("a100-40"));
    EXPECT_EQ(visits, legal.size()) << device;
    if (std::string(device) == "a100-40") {
      EXPECT_EQ(visited, legal);
    }
  }
}

TEST(Mig, KnowsWhatTheGuideSays) {
  const auto profiles = mig_profiles("a100-40");
  const auto find = [&](int id) { return &*std::ranges::find(profiles, id, &MigProfile::id); };
  using Set = std::vector<Placement>;
  EXPECT_TRUE(is_legal(Set{{find(5), 0}, {find(9), 4}}));    // 4g + 3g
  EXPECT_TRUE(is_legal(Set{{find(9), 0}, {find(9), 4}}));    // 3g + 3g
  EXPECT_FALSE(is_legal(Set{{find(5), 4}}));                 // 4g begins at 0 only
  EXPECT_FALSE(is_legal(Set{{find(0), 0}, {find(19), 6}}));  // 7g leaves nothing
  EXPECT_FALSE(is_legal(Set{{find(9), 0}, {find(19), 3}}));  // in each other's memory
  EXPECT_FALSE(is_legal(Set{{find(20), 0}, {find(20), 1}}));  // one instance with extensions
  EXPECT_TRUE(mig_profiles("gtx-1080").empty());
}

// No cut keeps a host that uses the whole GPU at 99 %: the largest slice below full is 48 % of an
// H100.
TEST(Mig, TheLargestSliceBelowAllIsLessThanHalf) {
  for (const char* device : {"h100-80", "h200-141"}) {
    int largest = 0;
    for (const MigProfile& profile : mig_profiles(device)) {
      if (profile.compute_slices < kComputeSlices) {
        largest = std::max(largest, profile.multiprocessors);
      }
    }
    EXPECT_NEAR(static_cast<double>(largest) / find_device(device)->multiprocessors, 0.48, 0.01);
  }
}

}  // namespace
}  // namespace commensal::planner
