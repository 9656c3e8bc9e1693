// SPDX-License-Identifier: Apache-2.0
// What becomes of an answer that somebody calls wrong.
#include <algorithm>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::attack {

namespace {

core::Bytes bytes_of(const Digest& root) { return {root.begin(), root.end()}; }

}  // namespace

Result<ledger::CaseKey> Stand::begin_case(const Work& work, const Party& accuser) {
  const ledger::Accuse body{work.receipt,     receipt::state_root(work.inputs),
                            work.input_salt,  work.output_root,
                            work.output_salt, {}};
  COMMENSAL_TRY(send(accuser, body));
  return ledger::CaseKey{ledger::subject_of(body), accuser.address};
}

Result<bool> Stand::accuse(const Work& work, const Party& accuser, const Digest& root) {
  constexpr Plea kPleas[] = {Plea::kConcede, Plea::kContest, Plea::kSilence};
  const Plea plea = work.is_bad ? kPleas[aside_.next_u64() % std::size(kPleas)] : Plea::kContest;
  return accuse(work, accuser, root, plea);
}

Result<bool> Stand::accuse(const Work& work, const Party& accuser, const Digest& root, Plea plea) {
  COMMENSAL_ASSIGN(const ledger::CaseKey key, begin_case(work, accuser));
  if (plea == Plea::kConcede) {
    COMMENSAL_TRY(send(*work.provider, ledger::Concede{key.subject, key.accuser}));
  } else if (plea == Plea::kContest) {
    COMMENSAL_TRY(contest(work, accuser, key, root));
  } else {
    COMMENSAL_TRY(report(work, key));
  }
  const ledger::CaseStatus status = state().cases.find(key)->status;
  if (!ledger::is_pending(status)) return status == ledger::CaseStatus::kConvicted;
  return core::fail(core::ErrorCode::kInternal, "a case did not end");
}

/// Each says what it has computed: one move of each side is all that the knowing arbiter asks for.
Result<void> Stand::contest(const Work& work, const Party& accuser, const ledger::CaseKey& key,
                            const Digest& root) {
  COMMENSAL_TRY(send(*work.provider, ledger::Contest{key.subject, key.accuser}));
  COMMENSAL_TRY(send(accuser, ledger::Argue{key.subject, key.accuser, bytes_of(root)}));
  if (!ledger::is_pending(state().cases.find(key)->status)) return {};
  COMMENSAL_TRY(
      send(*work.provider, ledger::Argue{key.subject, key.accuser, bytes_of(work.output_root)}));
  return {};
}

/// Auditors from outside are drawn once its time to contest is over, and run it again.
Result<void> Stand::report(const Work& work, const ledger::CaseKey& key) {
  COMMENSAL_ASSIGN(const Digest root, replay(work));
  wait_ms(rules().contest_delay_ms);
  ledger::Summon summon;
  summon.subject = key.subject, summon.accuser = key.accuser;
  COMMENSAL_TRY(send(*operator_, summon));
  const std::vector<Address> called = state().cases.find(key)->called;
  for (const Party* one : outsiders_) {
    if (std::ranges::find(called, one->address) == called.end()) continue;
    COMMENSAL_TRY(send(*one, ledger::Report{key.subject, key.accuser, root}));
  }
  return {};
}

}  // namespace commensal::attack
