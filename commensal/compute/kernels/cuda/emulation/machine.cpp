// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/cuda/emulation/machine.hpp>
#include <numeric>
#include <utility>

namespace commensal::kernels::cuda::emulation {
namespace {

// CUDA's built-in variables are those of the running thread; this is where they come from.
thread_local Machine* running_machine = nullptr;
thread_local Here running_here;

Position position_of(std::uint64_t index, const Extent& extent) {
  return {static_cast<unsigned>(index % extent.x),
          static_cast<unsigned>(index / extent.x % extent.y),
          static_cast<unsigned>(index / extent.x / extent.y)};
}

core::Result<void> check_sizes(const Extent& grid, const Extent& block) {
  if (block.count() == 0 || block.count() > kBlockThreadsMax) {
    return core::fail(core::ErrorCode::kInvalidArgument, "a block has 1 to {} threads, not {}",
                      kBlockThreadsMax, block.count());
  }
  if (grid.count() == 0 || grid.x > INT32_MAX || grid.y > kGridMax || grid.z > kGridMax) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a grid has 1 to 2^31 - 1, {} and {} blocks, not {} x {} x {}", kGridMax,
                      kGridMax, grid.x, grid.y, grid.z);
  }
  return {};
}

}  // namespace

Machine& Machine::current() {
  core::check(running_machine != nullptr, "a kernel runs on a machine");
  return *running_machine;
}
const Here& Machine::here() { return running_here; }

void Machine::add_thread() {
  auto thread = std::make_unique<Thread>();
  Thread* self = thread.get();
  self->fiber = std::make_unique<Fiber>([this, self] {
    for (;;) {  // one round for each block
      (*kernel_)();
      self->left = true;
      self->fiber->pause();
    }
  });
  threads_.push_back(std::move(thread));
}

std::vector<std::uint64_t> Machine::shuffled(std::uint64_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng_.next_u32() % i]);
  return order;
}

core::Result<void> Machine::run(Extent grid, Extent block, const std::function<void()>& kernel) {
  COMMENSAL_TRY(check_sizes(grid, block));
  count_ = static_cast<int>(block.count());
  while (static_cast<int>(threads_.size()) < count_) add_thread();
  Machine* const outer = std::exchange(running_machine, this);
  running_here.grid = grid;
  running_here.block_size = block;
  kernel_ = &kernel;
  error_.clear();
  for (const std::uint64_t index : shuffled(grid.count())) {
    running_here.block = position_of(index, grid);
    run_block();
    if (!error_.empty()) break;
  }
  running_machine = outer;
  if (error_.empty()) return {};
  threads_.clear();  // some are in the middle of the kernel
  return core::fail(core::ErrorCode::kFailedPrecondition, "{}", error_);
}

void Machine::run_block() {
  ++running_here.block_run;
  running_here.epoch = 0;
  warp_epochs_.assign(static_cast<std::size_t>((count_ + kWarp - 1) / kWarp), 0);
  at_barrier_ = gone_ = 0;
  ready_.resize(static_cast<std::size_t>(count_));
  std::iota(ready_.begin(), ready_.end(), 0);
  for (int i = 0; i < count_; ++i) threads_[static_cast<std::size_t>(i)]->left = false;
  while (!ready_.empty() && error_.empty()) {
    std::swap(ready_[rng_.next_u32() % ready_.size()], ready_.back());
    const int next = ready_.back();
    ready_.pop_back();
    run_thread(next);
  }
  if (error_.empty() && gone_ < count_) report_stuck();
}

void Machine::run_thread(int index) {
  Thread& thread = *threads_[static_cast<std::size_t>(index)];
  running_here.index = index;
  running_here.thread = position_of(static_cast<std::uint64_t>(index), running_here.block_size);
  running_here.warp_epoch = warp_epochs_[static_cast<std::size_t>(index / kWarp)];
  thread.stop = {};
  thread.fiber->resume();
  if (thread.left) {
    ++gone_;
  } else if (thread.stop.wait == Wait::kBlock) {
    if (++at_barrier_ == count_) release_block();
  } else {
    release_warp(index);
  }
}

std::uint32_t Machine::stop_at(const Stop& stop) {
  Thread& self = *threads_[static_cast<std::size_t>(running_here.index)];
  self.stop = stop;
  self.fiber->pause();
  return self.answer;
}

void Machine::misuse(std::string what) {
  if (!error_.empty()) return;
  const Here& at = running_here;
  error_ = fmt::format("block ({}, {}, {}), thread {}: {}", at.block.x, at.block.y, at.block.z,
                       at.index, what);
}

void Machine::release(int index, std::uint32_t answer) {
  Thread& thread = *threads_[static_cast<std::size_t>(index)];
  thread.answer = answer;
  thread.stop = {};
  ready_.push_back(index);
}

void Machine::release_block() {
  const Stop first = threads_[0]->stop;
  for (int i = 1; i < count_; ++i) {
    const Stop& stop = threads_[static_cast<std::size_t>(i)]->stop;
    if (stop.line == first.line) continue;
    return misuse(fmt::format("waits at {} in line {}, thread {} at that in line {}", first.what,
                              first.line, i, stop.line));
  }
  at_barrier_ = 0;
  ++running_here.epoch;
  for (int i = 0; i < count_; ++i) release(i, 0);
}

void Machine::release_warp(int index) {
  const int base = index / kWarp * kWarp;
  const Stop mine = threads_[static_cast<std::size_t>(index)]->stop;
  const auto has = [](unsigned mask, int lane) { return (mask >> lane & 1) != 0; };
  if (!has(mine.mask, index - base)) {
    return misuse(fmt::format("{} in line {} without its own lane in the mask {:08x}", mine.what,
                              mine.line, mine.mask));
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!has(mine.mask, lane)) continue;
    if (base + lane >= count_ || threads_[static_cast<std::size_t>(base + lane)]->left) {
      return misuse(fmt::format("{} in line {} waits for lane {}, which is not there", mine.what,
                                mine.line, lane));
    }
    const Stop& other = threads_[static_cast<std::size_t>(base + lane)]->stop;
    if (other.wait != Wait::kWarp) return;  // not here yet
    if (other.line != mine.line || other.mask != mine.mask) {
      return misuse(fmt::format("{} in line {} waits for lane {}, which is at {} in line {}",
                                mine.what, mine.line, lane, other.what, other.line));
    }
    if (!has(mine.mask, other.source)) {
      return misuse(fmt::format("{} in line {}: lane {} asks for lane {}, which takes no part",
                                mine.what, mine.line, lane, other.source));
    }
  }
  std::uint32_t offered[kWarp] = {};
  int sources[kWarp] = {};
  for (int lane = 0; lane < kWarp && base + lane < count_; ++lane) {
    const Stop& stop = threads_[static_cast<std::size_t>(base + lane)]->stop;
    offered[lane] = stop.value;
    sources[lane] = stop.source;
  }
  if (mine.mask == UINT32_MAX) ++warp_epochs_[static_cast<std::size_t>(index / kWarp)];
  for (int lane = 0; lane < kWarp; ++lane) {
    if (has(mine.mask, lane)) release(base + lane, offered[sources[lane]]);
  }
}

void Machine::report_stuck() {
  const auto describe = [&](int i) {
    const Thread& thread = *threads_[static_cast<std::size_t>(i)];
    if (thread.left) return fmt::format("thread {} has left", i);
    return fmt::format("thread {} waits at {} in line {}", i, thread.stop.what, thread.stop.line);
  };
  int waiting = 0;
  while (threads_[static_cast<std::size_t>(waiting)]->left) ++waiting;
  const Stop& stop = threads_[static_cast<std::size_t>(waiting)]->stop;
  for (int other = 0; other < count_; ++other) {
    const Thread& thread = *threads_[static_cast<std::size_t>(other)];
    if (!thread.left && thread.stop.wait == stop.wait && thread.stop.line == stop.line) continue;
    running_here.index = waiting;
    return misuse(
        fmt::format("waits at {} in line {} for ever: {}", stop.what, stop.line, describe(other)));
  }
  core::check(false, "threads that all wait at one place are released");
}

}  // namespace commensal::kernels::cuda::emulation
