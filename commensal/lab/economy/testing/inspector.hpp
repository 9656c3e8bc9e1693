// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/lab/economy/testing/world.hpp>
#include <commensal/trade/pay/ledger/entry.hpp>

namespace commensal::economy::testing {

/// Reads a ledger's journal from the disk, entry by entry as it grows, and believes nobody: what
/// is in it may never disappear, no ticket is paid twice, and the accounts hold what came in less
/// what went out. Thread-safety: one thread.
class Inspector {
 public:
  /// Both must outlive this object.
  Inspector(core::Store& disk, Counts& counts) : disk_(disk), counts_(counts) {}

  /// The new entries, and `state` as their sum. Error: kInternal, kDataLoss: what is wrong.
  Result<void> inspect(const ledger::State& state);

 private:
  Result<void> read(const ledger::Entry& entry);
  Result<void> count_claim(const ledger::Entry& entry);
  Result<void> count_default(const ledger::Entry& entry, const protocol::Receipt& receipt);
  Result<void> pay_once(const Digest& ticket);

  core::Store& disk_;
  Counts& counts_;
  std::uint64_t entries_ = 0;
  Digest head_{};
  std::set<Digest> paid_;
  Amount came_in_, went_out_;
};

}  // namespace commensal::economy::testing
