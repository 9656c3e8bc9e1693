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

/// By the entry of a Checkpoint: the root of the rows that are kept of it.
using Roots = std::map<std::uint64_t, Digest>;

/// Runs a journal again, entry by entry, from `base` on.
class Replay {
 public:
  Replay(const Signatures& signatures, StoredState base, Roots roots, const Arbiter* arbiter)
      : balances_(base.state.balances.rows()),
        roots_(std::move(roots)),
        ledger_(signatures, std::move(base), arbiter) {}

  Result<void> step(std::uint64_t number, core::ByteView value) {
    if (number != entries()) return fail(ErrorCode::kDataLoss, "the journal lacks it");
    COMMENSAL_ASSIGN(const Entry entry, protocol::decode<Entry>(value));
    COMMENSAL_TRY(check_kept(number, std::get_if<Checkpoint>(&entry.transaction.body)));
    COMMENSAL_TRY(replay(ledger_, value));
    if (number % kFolded == 0) ledger_.take_changes();
    return post(balances_, entry.postings);
  }

  /// What must hold at the end.
  Result<void> finish(const Head& head) const {
    if (head_of(ledger_.state(), head.from) != head) {
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
  Digest root() const { return root_digest(ledger_.root()); }

 private:
  static constexpr std::uint64_t kFolded = 4096;  // entries whose changes are held at most

  Result<void> check_kept(std::uint64_t number, const Checkpoint* found) const {
    const auto kept = roots_.find(number);
    if (kept == roots_.end()) return {};
    if (found == nullptr) return fail(ErrorCode::kDataLoss, "it is no Checkpoint");
    if (found->root == kept->second) return {};
    return fail(ErrorCode::kDataLoss, "its root is {}, that of the rows kept of it {}",
                core::to_hex(found->root), core::to_hex(kept->second));
  }

  Balances balances_;
  Roots roots_;
  Ledger ledger_;
};

struct Base {
  Head head;
  StoredState stored;  // before entry head.from
  Roots roots;
};

/// By checkpoint, the last one first.
using Kept = std::map<std::uint64_t, std::vector<BeforeRow>, std::greater<>>;
Result<Kept> read_kept(core::Store& store, std::uint64_t from) {
  Kept kept;
  Result<void> status;
  COMMENSAL_TRY(store.scan(kBeforeSpace, {}, [&](core::ByteView key, core::ByteView value) {
    auto row = decode_before(key, value);
    if (row && row->checkpoint >= from) kept[row->checkpoint].push_back(*std::move(row));
    if (!row) status = tl::unexpected(row.error());
    return status.has_value();
  }));
  COMMENSAL_TRY(status);
  if (kept.contains(from)) return kept;
  return fail(ErrorCode::kDataLoss, "ledger: nothing is kept of checkpoint {}", from);
}

/// Takes the present rows back from checkpoint to checkpoint.
Result<void> take_back(Rows rows, Kept kept, Base& base) {
  for (auto& [checkpoint, before] : kept) {
    for (BeforeRow& row : before) {
      if (row.value) {
        rows.insert_or_assign(std::move(row.key), *std::move(row.value));
      } else {
        rows.erase(row.key);
      }
    }
    auto stored = state_of(rows);
    if (!stored) {
      return core::in_context(fmt::format("before entry {}", checkpoint), stored.error());
    }
    base.stored = *std::move(stored);
    base.roots[checkpoint] = root_digest({base.stored.state.scalars, base.stored.sum});
  }
  return {};
}

/// One moment's, though the store may be written to meanwhile.
Result<Base> read_base(core::Store& store) {
  constexpr int kTriesMax = 100;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    COMMENSAL_ASSIGN(const std::optional<Head> head, read_head(store));
    if (!head) return fail(ErrorCode::kNotFound, "this gateway has never kept a ledger");
    Base base{*head, {}, {}};
    if (head->from == 0) return base;
    COMMENSAL_ASSIGN(Rows rows, read_rows(store));
    auto kept = read_kept(store, head->from);
    COMMENSAL_ASSIGN(const std::optional<Head> later, read_head(store));
    if (later != head) continue;
    COMMENSAL_TRY(kept);
    COMMENSAL_TRY(take_back(std::move(rows), *std::move(kept), base));
    return base;
  }
  return fail(ErrorCode::kUnavailable, "the ledger is written to all the time; try again");
}

/// Whether the stored state is `state`; false where it is of later entries.
Result<bool> is_stored(core::Store& store, const Digest& root, bool grown) {
  const auto stored = read_state(store);
  if (stored && root_digest({stored->state.scalars, stored->sum}) == root) return true;
  if (grown) return false;
  if (!stored) return tl::unexpected(stored.error());
  return fail(ErrorCode::kDataLoss, "the stored state is not what the journal adds up to");
}

}  // namespace

Result<Verified> verify(core::Store& store, const Signatures& signatures,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                        const Arbiter* arbiter) {
  COMMENSAL_ASSIGN(Base base, read_base(store));
  const Head head = base.head;
  Replay run(signatures, std::move(base.stored), std::move(base.roots), arbiter);
  Result<void> status;
  bool beyond = false;
  COMMENSAL_TRY(store.scan(kJournalSpace, {}, [&](core::ByteView key, core::ByteView value) {
    const auto number = number_of(key);
    if (number && *number < head.from) return true;  // not removed yet
    beyond = run.entries() == head.entries;
    if (beyond) return false;
    const std::uint64_t next = run.entries();
    status = number.and_then([&](std::uint64_t found) { return run.step(found, value); });
    if (!status) status = core::in_context(fmt::format("entry {}", next), status.error());
    if (progress) progress(run.entries() - head.from, head.entries - head.from);
    return status.has_value();
  }));
  COMMENSAL_TRY(status);
  COMMENSAL_ASSIGN(const std::optional<Head> later, read_head(store));
  const bool grown = later != head;
  if (beyond && !grown) {
    return fail(ErrorCode::kDataLoss, "entry {}: it lies behind the end of the journal",
                head.entries);
  }
  const auto in_place = [&](core::Error error) {
    return core::in_context(fmt::format("after entry {}", run.entries()), std::move(error));
  };
  if (const auto sound = run.finish(head); !sound) return in_place(sound.error());
  const auto has_state = is_stored(store, run.root(), grown);
  if (!has_state) return in_place(has_state.error());
  return Verified{run.state(), run.root(), run.entries(), head.from, *has_state};
}

}  // namespace commensal::ledger
