// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/http/turns.hpp>

namespace commensal::http {
namespace {

constexpr std::int64_t kSliceNs = 1'000'000;  // then the loop sees to others
constexpr std::int64_t kTaskNsMin = 1'000;
// Beyond so many, what makes no difference or can be learnt again is forgotten.
constexpr std::size_t kLinesMax = 4096, kTokensMax = 65'536;

core::Digest key_of(std::string_view token) { return crypto::sha256(core::as_bytes(token)); }

}  // namespace

void Turns::post(const std::string& account, Task task) {
  const std::lock_guard lock(mutex_);
  push(account, std::move(task));
}

void Turns::post_for_token(const std::string& token, Task task) {
  const core::Digest key = key_of(token);
  const std::lock_guard lock(mutex_);
  const auto known = accounts_.find(key);
  push(known == accounts_.end() ? "" : known->second, std::move(task));
}

void Turns::remember(const std::string& token, const std::string& account) {
  const core::Digest key = key_of(token);
  const std::lock_guard lock(mutex_);
  if (accounts_.size() >= kTokensMax) accounts_.clear();
  accounts_.insert_or_assign(key, account);
}

void Turns::push(const std::string& account, Task task) {
  Line& line = lines_[account];
  line.tasks.push_back(std::move(task));
  if (line.tasks.size() == 1) {
    line.at_ns = std::max(line.at_ns, now_ns_);
    due_.emplace(line.at_ns, account);
  }
  if (!std::exchange(is_running_, true)) {
    loop_.post([self = shared_from_this()] { self->run(); });
  }
}

/// False where nothing is left.
bool Turns::run_one() {
  Task task;
  std::string account;
  {
    const std::lock_guard lock(mutex_);
    is_running_ = !due_.empty();
    if (!is_running_) return false;
    account = std::move(due_.extract(due_.begin()).value().second);
    Line& line = lines_.at(account);
    now_ns_ = line.at_ns;
    task = std::move(line.tasks.front());
    line.tasks.pop_front();
    if (lines_.size() > kLinesMax) {
      std::erase_if(lines_, [&](const auto& one) {
        return one.first != account && one.second.tasks.empty() && one.second.at_ns <= now_ns_;
      });
    }
  }
  const std::int64_t begun_ns = clock_.monotonic_ns();
  std::exchange(task, nullptr)();
  const std::int64_t took_ns = std::max(kTaskNsMin, clock_.monotonic_ns() - begun_ns);
  const std::lock_guard lock(mutex_);
  Line& line = lines_.at(account);
  // What came while the task ran stands in due_ at the time that was before it.
  const bool is_due = due_.erase({line.at_ns, account}) > 0 || !line.tasks.empty();
  line.at_ns = std::max(line.at_ns, now_ns_) + took_ns;
  if (is_due) due_.emplace(line.at_ns, account);
  return true;
}

void Turns::run() {
  const std::int64_t begun_ns = clock_.monotonic_ns();
  while (run_one()) {
    if (clock_.monotonic_ns() - begun_ns < kSliceNs) continue;
    return loop_.post([self = shared_from_this()] { self->run(); });
  }
}

}  // namespace commensal::http
