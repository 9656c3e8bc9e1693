// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/oip/turns.hpp>

namespace commensal::oip {
namespace {

constexpr std::int64_t kSliceNs = 1'000'000;  // then the loop sees to others
constexpr std::int64_t kTaskNsMin = 1'000;
constexpr std::size_t kLinesMax = 4096;  // beyond so many, what makes no difference is forgotten

}  // namespace

void Turns::post(const std::string& account, Task task) {
  const std::lock_guard lock(mutex_);
  push(account, std::move(task));
}

void Turns::push(const std::string& account, Task task) {
  Line& line = lines_[account];
  line.tasks.push_back(std::move(task));
  if (line.tasks.size() == 1 && !line.is_busy) {
    line.at_ns = std::max(line.at_ns, now_ns_);
    due_.emplace(line.at_ns, account);
  }
  if (running_ == at_once_) return;
  ++running_;
  post_([self = shared_from_this()] { self->run(); });
}

/// False where nothing is left.
bool Turns::run_one() {
  Task task;
  std::string account;
  std::int64_t begun_at_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    if (due_.empty()) return --running_, false;
    account = std::move(due_.extract(due_.begin()).value().second);
    Line& line = lines_.at(account);
    begun_at_ns = now_ns_ = std::max(now_ns_, line.at_ns);
    line.is_busy = true;
    task = std::move(line.tasks.front());
    line.tasks.pop_front();
    if (lines_.size() > kLinesMax) {
      std::erase_if(lines_, [&](const auto& one) {
        const Line& its = one.second;
        return !its.is_busy && its.tasks.empty() && its.at_ns <= now_ns_;
      });
    }
  }
  const std::int64_t begun_ns = clock_.monotonic_ns();
  std::exchange(task, nullptr)();
  const std::int64_t took_ns = std::max(kTaskNsMin, clock_.monotonic_ns() - begun_ns);
  const std::lock_guard lock(mutex_);
  Line& line = lines_.at(account);
  line.is_busy = false;
  line.at_ns = begun_at_ns + took_ns;
  if (!line.tasks.empty()) due_.emplace(line.at_ns, account);
  return true;
}

void Turns::run() {
  const std::int64_t begun_ns = clock_.monotonic_ns();
  while (run_one()) {
    if (clock_.monotonic_ns() - begun_ns < kSliceNs) continue;
    return post_([self = shared_from_this()] { self->run(); });
  }
}

}  // namespace commensal::oip
