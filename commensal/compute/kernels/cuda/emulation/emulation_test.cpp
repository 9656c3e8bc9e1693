// SPDX-License-Identifier: Apache-2.0
// The emulation does what CUDA promises, in any order that CUDA allows, and refuses what CUDA
// leaves undefined: otherwise equality on it would mean nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/kernels/cuda/launch.hpp>
#include <map>
#include <set>
#include <vector>

namespace commensal::kernels::cuda {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// What went wrong; empty if nothing did.
template <class Kernel>
std::string run(Kernel&& kernel, dim3 grid, dim3 block, std::uint64_t seed = 1) {
  emulation::Machine machine(seed);
  const auto done = machine.run(grid, block, kernel);
  return done ? "" : done.error().message;
}

TEST(Emulation, RunsEveryThreadOfEveryBlockOnce) {
  std::map<std::vector<unsigned>, int> seen;
  const auto kernel = [&] {
    ++seen[{blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z}];
    EXPECT_EQ(gridDim.x * gridDim.y * gridDim.z, 12u);
    EXPECT_EQ(blockDim.x * blockDim.y * blockDim.z, 30u);
  };
  EXPECT_EQ(run(kernel, {2, 3, 2}, {5, 3, 2}), "");
  EXPECT_EQ(seen.size(), 12u * 30u);
  for (const auto& [where, count] : seen) EXPECT_EQ(count, 1);
}

TEST(Emulation, RunsThreadsInAnOrderThatTheSeedDecides) {
  const auto order_of = [](std::uint64_t seed) {
    std::vector<unsigned> order;
    EXPECT_EQ(run([&] { order.push_back(blockIdx.x * 64 + threadIdx.x); }, 4, 64, seed), "");
    return order;
  };
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
  EXPECT_FALSE(std::ranges::is_sorted(order_of(1)));
}

TEST(Emulation, ABarrierHoldsAllThreadsOfABlock) {
  std::set<unsigned> arrived;
  const auto kernel = [&] {
    for (unsigned round = 1; round <= 3; ++round) {
      arrived.insert(threadIdx.x);
      __syncthreads();
      EXPECT_EQ(arrived.size(), 96u);
      __syncthreads();
      arrived.clear();
      __syncthreads();
    }
  };
  EXPECT_EQ(run(kernel, 2, 96), "");
}

TEST(Emulation, ABarrierOfAWarpHoldsItsLanesAlone) {
  std::map<unsigned, int> arrived;
  const auto kernel = [&] {
    const unsigned warp = threadIdx.x / 32;
    if (warp == 1) return;  // nobody waits for it
    ++arrived[warp];
    __syncwarp();
    EXPECT_EQ(arrived[warp], 32);
  };
  EXPECT_EQ(run(kernel, 1, 96), "");
}

TEST(Emulation, ShufflesExchangeWithinAWarp) {
  const auto kernel = [&] {
    const auto thread = static_cast<float>(threadIdx.x);
    const unsigned lane = threadIdx.x % 32, base = threadIdx.x - lane;
    EXPECT_EQ(__shfl_sync(0xffffffffu, thread, 3), static_cast<float>(base + 3));
    EXPECT_EQ(__shfl_down_sync(0xffffffffu, thread, 8),
              static_cast<float>(lane < 24 ? base + lane + 8 : base + lane));
    EXPECT_EQ(__shfl_xor_sync(0xffffffffu, thread, 5), static_cast<float>(base + (lane ^ 5u)));
    if (lane < 4) {
      EXPECT_EQ(__shfl_xor_sync(0xfu, thread, 1), static_cast<float>(base + (lane ^ 1u)));
    }
  };
  EXPECT_EQ(run(kernel, 3, 64), "");
}

TEST(Emulation, SharedMemoryCarriesValuesOverABarrier) {
  const auto kernel = [&] {
    __shared__ Shared<int, 64> cells;
    cells[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    EXPECT_EQ(cells[63 - threadIdx.x], static_cast<int>(63 - threadIdx.x));
    __syncthreads();
    cells[63 - threadIdx.x] = 0;
  };
  EXPECT_EQ(run(kernel, 3, 64), "");
}

TEST(Emulation, AWarpsBarrierOrdersItsOwnLanes) {
  const auto kernel = [&] {
    __shared__ Shared<int, 64> cells;
    const unsigned neighbour = threadIdx.x ^ 1u;
    cells[threadIdx.x] = 1;
    __syncwarp();
    EXPECT_EQ(cells[neighbour], 1);
    __syncwarp();
    cells[neighbour] = 2;
  };
  EXPECT_EQ(run(kernel, 1, 64), "");
}

/// Its arithmetic makes the NaN of a card, which no output may show.
TEST(Emulation, ComputesACardsNan) {
  EXPECT_EQ(__float_as_int(__fmul_rn(INFINITY, 0.0f)), 0x7fffffff);
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rn(-3e9f), INT32_MIN);
}

// ---- what a kernel must not do ----------------------------------------------------------------

TEST(EmulationRefuses, ABarrierThatSomeThreadsLeaveOut) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto some = [] {
      if (threadIdx.x != 5) __syncthreads();
    };
    EXPECT_THAT(run(some, 1, 64, seed), HasSubstr("for ever: thread 5 has left"));
    const auto other = [] {
      if (threadIdx.x < 32) {
        __syncthreads();
      } else {
        __syncthreads();
      }
    };
    EXPECT_THAT(run(other, 1, 64, seed), HasSubstr("waits at __syncthreads in line"));
  }
}

TEST(EmulationRefuses, AWarpThatIsNotComplete) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto left = [] {
      if (threadIdx.x != 7) __shfl_sync(0xffffffffu, 1.0f, 0);
    };
    EXPECT_THAT(run(left, 1, 32, seed), AnyOf(HasSubstr("lane 7"), HasSubstr("thread 7")));
    const auto held = [] {
      if (threadIdx.x == 7) {
        __syncthreads();
      } else {
        __syncwarp();
      }
    };
    EXPECT_THAT(run(held, 1, 32, seed), HasSubstr("for ever"));
  }
  EXPECT_THAT(run([] { __syncwarp(); }, 1, 20), HasSubstr("which is not there"));
}

TEST(EmulationRefuses, WrongMasks) {
  EXPECT_THAT(run([] { __syncwarp(threadIdx.x == 3 ? 1u : 0xffffffffu); }, 1, 32),
              HasSubstr("lane"));
  EXPECT_THAT(run([] { __syncwarp(0x7fffffffu); }, 1, 32), HasSubstr("its own lane"));
  const auto absent = [] {
    if (threadIdx.x < 4) __shfl_sync(0xfu, 1.0f, 9);
  };
  EXPECT_THAT(run(absent, 1, 32), HasSubstr("asks for lane 9, which takes no part"));
}

TEST(EmulationRefuses, RacesInSharedMemory) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto read = [] {
      __shared__ Shared<int, 64> cells;
      cells[threadIdx.x] = 1;
      static_cast<void>(static_cast<int>(cells[63 - threadIdx.x]));
    };
    EXPECT_THAT(run(read, 1, 64, seed), HasSubstr("shared memory"));
    const auto write = [] {
      __shared__ Shared<int, 1> cell;
      cell[0] = 1;
    };
    EXPECT_THAT(run(write, 1, 2, seed), HasSubstr("no barrier lies between"));
    const auto write_after_reads = [] {
      __shared__ Shared<int, 1> cell;
      if (threadIdx.x == 0) cell[0] = 1;
      __syncthreads();
      if (threadIdx.x % 32 != 1) static_cast<void>(static_cast<int>(cell[0]));
      if (threadIdx.x == 1) cell[0] = 2;  // before or after the reads
    };
    EXPECT_THAT(run(write_after_reads, 1, 64, seed), HasSubstr("no barrier lies between"));
    const auto other_warp = [] {
      __shared__ Shared<int, 64> cells;
      cells[threadIdx.x] = 1;
      __syncwarp();  // orders its own warp only
      static_cast<void>(static_cast<int>(cells[threadIdx.x ^ 32u]));
    };
    EXPECT_THAT(run(other_warp, 1, 64, seed), HasSubstr("shared memory"));
  }
}

TEST(EmulationRefuses, SharedMemoryThatNobodyWrote) {
  const auto kernel = [] {
    __shared__ Shared<int, 32> cells;
    if (blockIdx.x == 0) cells[threadIdx.x] = 1;  // not what another block left there
    static_cast<void>(static_cast<int>(cells[threadIdx.x]));
  };
  EXPECT_EQ(run(kernel, 1, 32), "");
  EXPECT_THAT(run(kernel, 2, 32), HasSubstr("has not written"));
  const auto beyond = [] {
    __shared__ Shared<int, 32> cells;
    cells[threadIdx.x + 1] = 1;
  };
  EXPECT_THAT(run(beyond, 1, 32), HasSubstr("element 32 of an array of 32"));
}

TEST(EmulationRefuses, SizesThatNoCardTakes) {
  EXPECT_THAT(run([] {}, 1, {1025, 1, 1}), HasSubstr("1 to 1024 threads, not 1025"));
  EXPECT_THAT(run([] {}, {1, 65536, 1}, 32), HasSubstr("a grid has"));
  EXPECT_THAT(run([] {}, 0, 32), HasSubstr("a grid has"));
}

TEST(EmulationRefuses, ButCanBeUsedAfterwards) {
  emulation::Machine machine(1);
  EXPECT_FALSE(machine.run(1, 64, [] {
    if (threadIdx.x != 5) __syncthreads();
  }));
  int count = 0;
  EXPECT_TRUE(machine.run(2, 64, [&] {
    __syncthreads();
    ++count;
  }));
  EXPECT_EQ(count, 128);
}

TEST(EmulationRefuses, AndTheQueueKeepsTheFirstError) {
  Queue queue(1);
  launch(
      queue,
      +[](int bad) {
        if (static_cast<int>(threadIdx.x) != bad) __syncthreads();
      },
      1, 32, 4);
  launch(
      queue, +[](int) { ADD_FAILURE() << "nothing runs after an error"; }, 1, 32, 4);
  EXPECT_THAT(queue.error, HasSubstr("thread 4 has left"));
}

}  // namespace
}  // namespace commensal::kernels::cuda
