// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>

namespace commensal::ledger {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

using Balances = std::map<AccountId, Amount>;

Result<void> post(Balances& balances, std::span<const Posting> postings) {
  for (const Posting& posting : postings) {
    const auto change = [&](const AccountId& account, bool grows) -> Result<void> {
      Amount& balance = balances[account];
      COMMENSAL_ASSIGN(balance,
                       grows ? balance.plus(posting.amount) : balance.minus(posting.amount));
      if (balance == Amount{}) balances.erase(account);
      return {};
    };
    COMMENSAL_TRY(change(posting.from, posting.from == kOutside));
    COMMENSAL_TRY(change(posting.to, posting.to != kOutside));
  }
  return {};
}

/// Runs a journal again, entry by entry.
class Replay {
 public:
  explicit Replay(const Signatures& signatures) : ledger_(signatures) {}

  Result<void> step(core::ByteView key, core::ByteView value) {
    COMMENSAL_ASSIGN(const std::uint64_t number, number_of(key));
    if (number != entries()) return fail(ErrorCode::kDataLoss, "the journal lacks it");
    COMMENSAL_TRY(replay(ledger_, value));
    COMMENSAL_ASSIGN(const Entry entry, protocol::decode<Entry>(value));
    return post(balances_, entry.postings);
  }

  /// What must hold at the end.
  Result<void> finish(const Head& head) const {
    if (head_of(ledger_.state()) != head) {
      return fail(ErrorCode::kDataLoss, "the head says {} entries up to {}, found {} up to {}",
                  head.entries, core::to_hex(head.hash), entries(),
                  core::to_hex(ledger_.state().scalars.head));
    }
    if (balances_ != ledger_.state().balances.rows()) {
      return fail(ErrorCode::kDataLoss, "the postings do not add up to the balances");
    }
    return check_all(ledger_.state());
  }

  std::uint64_t entries() const { return ledger_.state().scalars.entries; }
  const State& state() const { return ledger_.state(); }

 private:
  Ledger ledger_;
  Balances balances_;
};

/// Whether the stored state is `state`; false where it is of later entries.
Result<bool> is_stored(core::Store& store, const State& state, bool grown) {
  const auto stored = read_state(store);
  if (stored && state_digest(stored->state) == state_digest(state)) return true;
  if (grown) return false;
  if (!stored) return tl::unexpected(stored.error());
  return fail(ErrorCode::kDataLoss, "the stored state is not what the journal adds up to");
}

}  // namespace

Result<Verified> verify(core::Store& store, const Signatures& signatures,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  COMMENSAL_ASSIGN(const std::optional<Head> head, read_head(store));
  if (!head) return fail(ErrorCode::kNotFound, "this gateway has never kept a ledger");
  Replay run(signatures);
  Result<void> status;
  bool beyond = false;
  COMMENSAL_TRY(store.scan(kJournalSpace, {}, [&](core::ByteView key, core::ByteView value) {
    const std::uint64_t number = run.entries();
    beyond = number == head->entries;
    if (beyond) return false;
    status = run.step(key, value);
    if (!status) status = core::in_context(fmt::format("entry {}", number), status.error());
    if (progress) progress(run.entries(), head->entries);
    return status.has_value();
  }));
  COMMENSAL_TRY(status);
  COMMENSAL_ASSIGN(const std::optional<Head> later, read_head(store));
  const bool grown = later != head;
  if (beyond && !grown) {
    return fail(ErrorCode::kDataLoss, "entry {}: it lies behind the end of the journal",
                head->entries);
  }
  const auto in_place = [&](core::Error error) {
    return core::in_context(fmt::format("after entry {}", run.entries()), std::move(error));
  };
  if (const auto sound = run.finish(*head); !sound) return in_place(sound.error());
  const auto has_state = is_stored(store, run.state(), grown);
  if (!has_state) return in_place(has_state.error());
  return Verified{run.state(), state_digest(run.state()), run.entries(), *has_state};
}

}  // namespace commensal::ledger
