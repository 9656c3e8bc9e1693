// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/receipt/origin.hpp>

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

Result<void> LedgerArbiter::check(const ledger::Dispute& dispute, core::ByteView origin) const {
  COMMENSAL_TRY(arbiter::Referee::open(setup_of(dispute), clock_));
  const protocol::Receipt& receipt = dispute.receipt;
  if (arbiter::has_fixed_input(receipt.job)) {
    if (origin.empty()) return {};
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "origin: expected none, c_0 alone opens the inputs");
  }
  const auto shown = protocol::decode<receipt::Origin>(origin);
  if (!shown) {  // never for auditors to decide: whoever accuses can do it right
    return core::fail(core::ErrorCode::kInvalidArgument, "origin: {}", shown.error().message);
  }
  COMMENSAL_ASSIGN(const core::Digest root,
                   receipt::input_root_of(*shown, receipt.job, receipt.step));
  if (root == dispute.input_root) return {};
  return core::fail(core::ErrorCode::kDataLoss,
                    "the input root is {}, but the step's state and noise have {}",
                    core::to_hex(dispute.input_root), core::to_hex(root));
}

template <class Tell>
auto LedgerArbiter::after(const ledger::Dispute& dispute, std::span<const Said> moves,
                          Tell tell) const
    -> Result<decltype(tell(std::declval<const arbiter::Referee&>()))> {
  const arbiter::Setup setup = setup_of(dispute);
  const core::Digest id = arbiter::id_of(setup);
  const std::lock_guard lock(mutex_);
  const auto* const known = courses_.find(id);
  arbiter::Course& course =
      known != nullptr ? **known : *courses_.add(id, std::make_unique<arbiter::Course>(clock_));
  COMMENSAL_TRY(course.open(setup));
  COMMENSAL_TRY(course.go_to(said_by_sides(moves)));
  return tell(course.referee());
}

Result<ledger::Standing> LedgerArbiter::stand(const ledger::Dispute& dispute,
                                              std::span<const Said> moves) const {
  return after(dispute, moves, standing_of);
}

Result<Place> LedgerArbiter::place(const ledger::Dispute& dispute,
                                   std::span<const Said> moves) const {
  return after(dispute, moves, place_of);
}

}  // namespace commensal::cases
