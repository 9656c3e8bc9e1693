// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/store.hpp>
#include <functional>
#include <map>
#include <optional>

namespace commensal::provider {

/// Our winners that are open in a gateway's ledger, since when, over restarts too. One that has
/// neither been paid nor refused when the ledger's time for a verdict is over is a fault of its
/// gateway, and no loss: anyone may have it paid (ledger::Mature). While we are accused the ledger
/// refuses that; what is refused is asked for again later. Thread-safety: one thread, the store's.
class Unjudged {
 public:
  /// Both outlive this object.
  Unjudged(core::Store& store, const core::Clock& clock) : store_(store), clock_(clock) {}

  /// Reads what is kept, and drops what is not `awaited`; call once before the rest. Error:
  /// kDataLoss.
  core::Result<void> open(const std::function<bool(const core::Digest& ticket)>& awaited);
  /// The gateway says that it is open: from now on, unless it has said so before. Durable when it
  /// returns (or with the store's hold). Errors: the store's.
  core::Result<void> note(const core::Digest& ticket);
  /// Nothing is awaited of it any more. Its row goes with the next that is written.
  void forget(const core::Digest& ticket);
  /// One that nobody has judged in time, the ledger allowing `audit_delay_ms`, if it is `wanted`
  /// and was not named lately.
  std::optional<core::Digest> next(std::uint64_t audit_delay_ms,
                                   const std::function<bool(const core::Digest& ticket)>& wanted);
  /// How many are beyond that time.
  std::size_t overdue(std::uint64_t audit_delay_ms) const;

 private:
  struct Since;
  struct Winner {
    std::int64_t since_ms = 0;
    std::optional<std::int64_t> asked_ms;  // in this life
  };
  bool is_overdue(const Winner& winner, std::uint64_t audit_delay_ms) const;

  core::Store& store_;
  const core::Clock& clock_;
  std::map<core::Digest, Winner> winners_;
  core::Store::Batch gone_;  // rows, yet to be removed
};

}  // namespace commensal::provider
