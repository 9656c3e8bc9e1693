// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/futex.hpp>
#include <commensal/collocation/guest/duty_pacer.hpp>
#include <limits>
#include <new>

namespace commensal::guest {
namespace {

constexpr std::int64_t kSliceNs = 2'000'000;      // of work, before a thread rests for it
constexpr std::int64_t kSliceNsMax = 20'000'000;  // more was not paced: the level was 1
constexpr std::int64_t kHearNs = 20'000'000;      // who rests hears that it is cancelled

/// The processor time of this thread when its slice of work began: a thread's own, so that neither
/// a lock nor a table of threads is needed.
thread_local std::int64_t slice_begin_ns = 0;

std::optional<core::SharedMemory> make_memory() {
  auto made = core::SharedMemory::create(sizeof(SharedLevel));
  if (!made) return std::nullopt;
  return *std::move(made);
}

/// Memory of others, with a level to follow.
class Follower final : public core::Pacer {
 public:
  Follower(core::SharedMemory memory, std::atomic<std::int32_t>& resting,
           std::function<bool()> is_cancelled)
      : memory_(std::move(memory)),
        follower_(*reinterpret_cast<const SharedLevel*>(memory_.bytes().data()), resting,
                  std::move(is_cancelled)) {}
  bool pace(std::int64_t work_ops) override { return follower_.pace(work_ops); }
  bool yield() override { return follower_.yield(); }

 private:
  core::SharedMemory memory_;
  PaceFollower follower_;
};

}  // namespace

bool PaceFollower::pace(std::int64_t) { return yield(); }

bool PaceFollower::yield() {
  if (level_.is_stopped.load(std::memory_order_relaxed)) return false;
  const double level = level_.level.load(std::memory_order_relaxed);
  if (level >= 1) return true;
  const std::int64_t worked_ns = core::thread_cpu_ns() - slice_begin_ns;
  if (level > 0 && worked_ns < kSliceNs) return true;
  rest(level, std::min(worked_ns, kSliceNsMax));
  slice_begin_ns = core::thread_cpu_ns();
  return !level_.is_stopped;
}

void PaceFollower::rest(double level, std::int64_t worked_ns) {
  const core::SystemClock clock;
  const double length_ns = level > 0 ? static_cast<double>(worked_ns) * (1 - level) / level : 0;
  std::int64_t left_ns = static_cast<std::int64_t>(length_ns);
  const std::int64_t end_ns = clock.monotonic_ns() + left_ns;
  ++resting_;
  while (true) {
    const std::uint32_t seen = level_.changes;  // before what it tells of
    const double now = level_.level;
    const bool is_over = now == level ? left_ns <= 0 && level > 0 : now > 0;
    if (level_.is_stopped || is_over || (is_cancelled_ && is_cancelled_())) break;
    const std::int64_t longest_ns =
        is_cancelled_ ? kHearNs : std::numeric_limits<std::int64_t>::max();
    const std::int64_t wait_ns = now > 0 ? std::min(left_ns, longest_ns) : longest_ns;
    core::futex_wait(level_.changes, seen, wait_ns);
    left_ns = end_ns - clock.monotonic_ns();
  }
  --resting_;
}

DutyPacer::DutyPacer()
    : memory_(make_memory()),
      shared_(memory_ ? new (memory_->bytes().data()) SharedLevel : &alone_),
      own_(*shared_, resting_) {}

void DutyPacer::tell_change() {
  ++shared_->changes;
  core::futex_wake_all(shared_->changes);
}

void DutyPacer::set_level(double level) {
  shared_->level = std::clamp(level, 0.0, 1.0);
  tell_change();
}

void DutyPacer::stop() {
  shared_->is_stopped = true;
  tell_change();
}

std::unique_ptr<core::Pacer> follow_pace(core::Descriptor memory,
                                         std::atomic<std::int32_t>& resting,
                                         std::function<bool()> is_cancelled) {
  auto mapped = core::SharedMemory::map(std::move(memory), sizeof(SharedLevel),
                                        core::SharedMemory::Access::kRead);
  if (!mapped) return nullptr;
  return std::make_unique<Follower>(*std::move(mapped), resting, std::move(is_cancelled));
}

}  // namespace commensal::guest
