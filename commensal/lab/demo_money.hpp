// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/sim/terms.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <map>
#include <string>
#include <vector>

namespace commensal::lab {

struct DemoBalance {
  std::string owner;
  std::string account;  // "available", "stake", ...
  std::string before, after;
};

/// What the ledger says at the end.
struct DemoMoney {
  std::string price, face_value;
  ledger::Config rules;  // that the demo's ledger was founded with
  std::uint64_t tickets_issued = 0, tickets_won = 0, tickets_paid = 0;
  std::string tickets_expected, tickets_value_won;  // of those that were drawn
  protocol::Amount cheat_slashed, cheat_burnt, auditor_slashed;
  bool conserved = false;
  std::uint64_t journal_entries = 0;
  std::vector<DemoBalance> balances;
};

/// The demo's people with accounts in the gateway's ledger.
class DemoPurses {
 public:
  void add(const std::string& name, const crypto::Address& address) { names_[address] = name; }

  /// Deposits for all, escrow for the gateway; waits until the providers have locked their stakes.
  core::Result<void> fund(daemon::GatewayDaemon& gateway, const sim::Terms& terms,
                          const crypto::Address& consumer, std::size_t providers);
  /// From the ledger of the running gateway.
  DemoMoney report(daemon::GatewayDaemon& gateway, const sim::Terms& terms) const;

 private:
  using Balances = std::map<ledger::AccountId, protocol::Amount>;

  static Balances balances_of(daemon::GatewayDaemon& gateway);
  std::string owner_of(const ledger::AccountId& account) const;

  std::map<crypto::Address, std::string> names_;
  Balances before_;
};

}  // namespace commensal::lab
