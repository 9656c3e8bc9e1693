// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/memory_budget.hpp>
#include <map>
#include <mutex>

namespace commensal::core {

struct MemoryBudget::Lease::State {
  struct Owner {
    std::int64_t bytes = 0;
    int leases = 0;
  };

  explicit State(const Bounds& of_all) : bounds(of_all) {}

  void change(const std::string& name, std::int64_t by) {
    owners[name].bytes += by;
    held += by;
  }

  /// That a lease may go from so many bytes to so many.
  Result<void> admit(const std::string& name, std::int64_t from, std::int64_t to) const {
    const std::int64_t more = to - from;
    if (more <= 0) return {};
    if (to > bounds.owner_bytes_max) {
      // No waiting helps.
      return fail(ErrorCode::kOverBudget,
                  "this request needs {} bytes, one account may have {} under way (--memory of the "
                  "gateway)",
                  to, bounds.owner_bytes_max);
    }
    const std::int64_t theirs = owners.at(name).bytes;
    if (theirs + more > bounds.owner_bytes_max) {
      return fail(ErrorCode::kResourceExhausted,
                  "requests and answers of '{}' hold {} bytes, {} more than the {} that one may "
                  "have under way: wait for some of them",
                  name, theirs, theirs + more - bounds.owner_bytes_max, bounds.owner_bytes_max);
    }
    if (held + more > bounds.bytes_max) {
      return fail(ErrorCode::kUnavailable,
                  "requests and answers hold {} of {} bytes: try again soon", held,
                  bounds.bytes_max);
    }
    return {};
  }

  const Bounds bounds;
  mutable std::mutex mutex;
  std::map<std::string, Owner> owners;  // those with leases
  std::int64_t held = 0;
};

MemoryBudget::Lease& MemoryBudget::Lease::operator=(Lease&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(owner_, other.owner_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryBudget::Lease::~Lease() {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->change(owner_, -bytes_);
  const auto owner = state_->owners.find(owner_);
  if (--owner->second.leases == 0) state_->owners.erase(owner);
}

Result<void> MemoryBudget::Lease::set(std::int64_t bytes) {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  COMMENSAL_TRY(state_->admit(owner_, bytes_, bytes));
  state_->change(owner_, bytes - bytes_);
  bytes_ = bytes;
  return {};
}

Result<void> MemoryBudget::Lease::admits(std::int64_t bytes) const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->admit(owner_, bytes_, bytes);
}

void MemoryBudget::Lease::note(std::int64_t bytes) {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->change(owner_, bytes - bytes_);
  bytes_ = bytes;
}

MemoryBudget::MemoryBudget(const Bounds& bounds) : state_(std::make_shared<Lease::State>(bounds)) {}

Result<MemoryBudget::Lease> MemoryBudget::lease(std::string owner) {
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->owners.find(owner);
  if (known != state_->owners.end() && known->second.leases >= state_->bounds.owner_leases_max) {
    return fail(ErrorCode::kResourceExhausted,
                "'{}' has {} requests under way, the most of one: wait for some of them", owner,
                known->second.leases);
  }
  ++state_->owners[owner].leases;
  Lease made;
  made.state_ = state_;
  made.owner_ = std::move(owner);
  return made;
}

const MemoryBudget::Bounds& MemoryBudget::bounds() const { return state_->bounds; }

std::int64_t MemoryBudget::held() const {
  const std::lock_guard lock(state_->mutex);
  return state_->held;
}

}  // namespace commensal::core
