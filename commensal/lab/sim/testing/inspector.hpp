// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/state.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <commensal/trade/pay/ticket/record.hpp>
#include <set>

namespace commensal::sim::testing {

/// What a ledger's journal tells of tickets and money, in entries and units.
struct MoneyCounts {
  std::uint64_t opened = 0;               // winners
  std::uint64_t paid = 0;                 // by a verdict
  std::uint64_t matured = 0;              // without one
  std::uint64_t refused = 0;              // in a case
  std::uint64_t conceded = 0, moves = 0;  // by the accused; of both sides of disputes
  std::uint64_t silent = 0;               // won, not opened
  std::uint64_t defaults_of_gateway = 0;
  std::uint64_t defaults_of_providers = 0;
  std::uint64_t came_in = 0, went_out = 0, paid_out = 0, slashed = 0, burnt = 0;

  bool operator==(const MoneyCounts&) const = default;
};

/// Reads a gateway's journal from its disk, entry by entry as it grows, and believes nobody: what
/// is in it may never disappear, no ticket is paid twice, the accounts hold what came in less what
/// went out, none of them less than nothing, and every reserve is the sum of its parts.
/// Thread-safety: one thread.
class MoneyInspector {
 public:
  /// `disk` is what a kill leaves; it must outlive this object.
  explicit MoneyInspector(core::Store& disk) : disk_(disk) {}

  /// The new entries. Error: kInternal, kDataLoss: what is wrong.
  core::Result<void> read_on();
  /// These, and `state` as the sum of all. Error: likewise.
  core::Result<void> inspect(const ledger::State& state);
  /// Runs the whole journal again, signatures included (ledger::verify): it must end in `state`.
  core::Result<void> verify(const ledger::State& state);

  const MoneyCounts& counts() const { return counts_; }

 private:
  core::Result<void> read(const ledger::Entry& entry);
  core::Result<void> count_claim(const ledger::Entry& entry);
  core::Result<void> count_default(const ledger::Entry& entry, const protocol::Receipt& receipt);
  core::Result<void> pay_once(const core::Digest& ticket);

  core::Store& disk_;
  MoneyCounts counts_;
  std::uint64_t entries_ = 0;
  core::Digest head_{};
  std::set<core::Digest> paid_;
  protocol::Amount came_in_, went_out_;
};

/// Whether both parties' books and the ledger say the same of every ticket of that provider that
/// the ledger knows. Both books are read from their disks; nothing may be on its way any more.
/// Error: kInternal, saying what each has.
core::Result<void> expect_agreement(const ledger::State& state, core::Store& gateways_disk,
                                    core::Store& providers_disk, const crypto::Address& provider,
                                    const core::Clock& clock);

}  // namespace commensal::sim::testing
