// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/serve/cases/place.hpp>
#include <commensal/trade/pay/ledger/case_rows.hpp>

namespace commensal::gateway {

/// How disputes have ended, for people: the ledger forgets the moves of a case that is over. One
/// for each such case, whose bond bounds how many there are. Thread-safety: one thread, the
/// store's.
class DisputeEnds {
 public:
  /// It outlives this object.
  explicit DisputeEnds(core::Store& store) : store_(store) {}

  /// Error: the store's.
  core::Result<void> keep(const ledger::CaseKey& key, const cases::Place& place);
  /// Error: kDataLoss.
  core::Result<std::optional<cases::Place>> find(const ledger::CaseKey& key);

 private:
  core::Store& store_;
};

}  // namespace commensal::gateway
