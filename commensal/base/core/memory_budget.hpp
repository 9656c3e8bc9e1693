// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <memory>
#include <string>

namespace commensal::core {

/// Bytes that are held for others (requests, answers, messages under way), with a bound for all of
/// them and one for each owner, so that nobody takes what everybody needs. Thread-safety: any
/// thread; a lease, one thread at a time.
class MemoryBudget {
 public:
  struct Bounds {
    std::int64_t bytes_max = 0;        // of all
    std::int64_t owner_bytes_max = 0;  // of one owner
    int owner_leases_max = 0;          // of one owner, at a time
  };

  /// What one thing under way holds, until the lease ends. It may outlive the budget.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    std::int64_t bytes() const { return bytes_; }
    /// It holds so many from now on. Less is always granted. Errors, which change nothing:
    /// kOverBudget (more than the owner's bound alone), kResourceExhausted (with what else the
    /// owner holds), kUnavailable (the bound of all).
    Result<void> set(std::int64_t bytes);
    /// Whether set() would be granted now. Errors: as there.
    Result<void> admits(std::int64_t bytes) const;
    /// The same for what is there already, whatever the bounds.
    void note(std::int64_t bytes);

   private:
    friend class MemoryBudget;
    struct State;
    std::shared_ptr<State> state_;  // null: an empty lease, which counts nothing
    std::string owner_;
    std::int64_t bytes_ = 0;
  };

  explicit MemoryBudget(const Bounds& bounds);

  /// Holds nothing yet. Error: kResourceExhausted (too many of this owner).
  Result<Lease> lease(std::string owner);
  std::int64_t held() const;
  const Bounds& bounds() const;

 private:
  std::shared_ptr<Lease::State> state_;
};

}  // namespace commensal::core
