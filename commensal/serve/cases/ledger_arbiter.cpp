// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/verify/arbiter/parting.hpp>

namespace commensal::cases {

using arbiter::Side;
using core::Result;

namespace {

ledger::Standing standing_of(const arbiter::Referee& referee) {
  ledger::Standing made;
  made.provider_owes = referee.owes(Side::kProvider);
  made.accuser_owes = referee.owes(Side::kChallenger);
  const auto& outcome = referee.outcome();
  if (!outcome) return made;
  made.reason = outcome->reason;
  made.end = outcome->ending == arbiter::Ending::kProved ? ledger::DisputeEnd::kProved
                                                         : ledger::DisputeEnd::kUndecided;
  made.provider_is_wrong = outcome->wrong[arbiter::at(Side::kProvider)];
  made.accuser_is_wrong = outcome->wrong[arbiter::at(Side::kChallenger)];
  return made;
}

}  // namespace

std::vector<arbiter::Said> said_by_sides(std::span<const ledger::Arbiter::Said> moves) {
  std::vector<arbiter::Said> made;
  for (const auto& [by_accuser, move] : moves) {
    made.push_back({by_accuser ? Side::kChallenger : Side::kProvider, move});
  }
  return made;
}

arbiter::Setup setup_of(const ledger::Dispute& dispute) {
  arbiter::Setup made;
  made.receipt = dispute.receipt;
  made.input_root = dispute.input_root;
  made.input_salt = dispute.input_salt;
  made.output_salt = dispute.output_salt;
  made.challenger = dispute.accuser;
  made.accused = dispute.accused;
  return made;
}

Result<void> LedgerArbiter::check(const ledger::Dispute& dispute) const {
  COMMENSAL_TRY(arbiter::Referee::open(setup_of(dispute), clock_));
  if (arbiter::has_fixed_input(dispute.receipt.job)) return {};
  return core::fail(core::ErrorCode::kUnsupported,
                    "what the step was computed from is not fixed by the job");
}

Result<ledger::Standing> LedgerArbiter::stand(const ledger::Dispute& dispute,
                                              std::span<const Said> moves) const {
  const arbiter::Setup setup = setup_of(dispute);
  const core::Digest id = arbiter::id_of(setup);
  const std::lock_guard lock(mutex_);
  const auto* const known = courses_.find(id);
  arbiter::Course& course =
      known != nullptr ? **known : *courses_.add(id, std::make_unique<arbiter::Course>(clock_));
  COMMENSAL_TRY(course.open(setup));
  COMMENSAL_TRY(course.go_to(said_by_sides(moves)));
  return standing_of(course.referee());
}

}  // namespace commensal::cases
