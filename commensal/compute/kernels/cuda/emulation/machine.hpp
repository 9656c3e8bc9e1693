// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/cuda/emulation/fiber.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// CUDA's execution model on a CPU: a grid of blocks of threads, warps of 32, barriers and
/// shuffles. Every thread is a fiber. The blocks of a grid run one after another in a random order;
/// between barriers the threads of a block run in a random order, all of it drawn from one seed.
/// What a card leaves undefined is an error here: a barrier that not all threads reach, a shuffle
/// with an absent lane, a race in shared memory.
namespace commensal::kernels::cuda::emulation {

inline constexpr int kWarp = 32;
inline constexpr unsigned kBlockThreadsMax = 1024;
inline constexpr unsigned kGridMax = 65535;  // blocks along y and z; 2^31 - 1 along x

struct Extent {
  unsigned x, y, z;
  Extent(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}  // NOLINT: dim3's
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};
struct Position {
  unsigned x = 0, y = 0, z = 0;
};

/// Where the running thread is.
struct Here {
  Extent grid, block_size;
  Position block, thread;
  int index = 0;                 // of the thread in its block
  std::uint64_t block_run = 0;   // another number for every block that ever ran
  std::uint32_t epoch = 0;       // barriers that the block has passed
  std::uint32_t warp_epoch = 0;  // barriers that all of the warp has passed
};

/// How a thread waits for others.
enum class Wait { kNone, kBlock, kWarp };
struct Stop {
  Wait wait = Wait::kNone;
  const char* what = "";
  int line = 0;
  unsigned mask = 0;        // of the lanes that wait for each other
  std::uint32_t value = 0;  // what the lane offers
  int source = 0;           // the lane whose value it wants
};

/// Thread-safety: one thread.
class Machine {
 public:
  explicit Machine(std::uint64_t seed) : rng_(seed) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Runs `kernel` once for every thread of the grid. Error: kInvalidArgument for a size that no
  /// card takes, kFailedPrecondition for what a kernel must not do; the grid is then abandoned.
  core::Result<void> run(Extent grid, Extent block, const std::function<void()>& kernel);

  /// For the running thread: waits for others; returns the value of the lane that it asked for.
  std::uint32_t stop_at(const Stop& stop);
  /// For the running thread: says what is wrong; the first one counts.
  void misuse(std::string what);

  /// The machine whose kernel runs on this thread of the operating system.
  static Machine& current();
  static const Here& here();

 private:
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    bool left = false;  // its kernel has returned
    Stop stop;
    std::uint32_t answer = 0;
  };

  void add_thread();
  void run_block();
  void run_thread(int index);
  void release_block();
  void release_warp(int index);
  void release(int index, std::uint32_t answer);
  void report_stuck();
  std::vector<std::uint64_t> shuffled(std::uint64_t count);

  core::CounterRng rng_;
  const std::function<void()>* kernel_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
  int count_ = 0;           // threads of a block
  std::vector<int> ready_;  // threads that can run on
  int at_barrier_ = 0, gone_ = 0;
  std::vector<std::uint32_t> warp_epochs_;
  std::string error_;
};

}  // namespace commensal::kernels::cuda::emulation
