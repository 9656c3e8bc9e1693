// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
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

/// Snapshots by number of entries; few, for a book keeps only its newest.
Result<std::map<std::uint64_t, core::Bytes>> read_snapshots(core::Store& store) {
  std::map<std::uint64_t, core::Bytes> snapshots;
  Result<void> status;
  COMMENSAL_TRY(store.scan(kSnapshotSpace, {}, [&](core::ByteView key, core::ByteView value) {
    const auto number = number_of(key);
    if (!number) {
      status = tl::unexpected(number.error());
      return false;
    }
    snapshots[*number].assign(value.begin(), value.end());
    return true;
  }));
  COMMENSAL_TRY(status);
  return snapshots;
}

/// Runs a journal again, entry by entry.
class Replay {
 public:
  Replay(const Signatures& signatures, std::map<std::uint64_t, core::Bytes> snapshots)
      : ledger_(signatures), snapshots_(std::move(snapshots)) {}

  Result<void> step(core::ByteView key, core::ByteView value) {
    COMMENSAL_ASSIGN(const std::uint64_t number, number_of(key));
    if (number != entries()) return fail(ErrorCode::kDataLoss, "it is missing");
    COMMENSAL_TRY(replay(ledger_, value));
    COMMENSAL_ASSIGN(const Entry entry, protocol::decode<Entry>(value));
    COMMENSAL_TRY(post(balances_, entry.postings));
    const auto snapshot = snapshots_.find(entries());
    if (snapshot == snapshots_.end()) return {};
    if (snapshot->second != encode_snapshot(ledger_.state())) {
      return fail(ErrorCode::kDataLoss, "the snapshot after it is not what the journal adds up to");
    }
    ++matched_;
    return {};
  }

  /// What must hold at the end.
  /// Snapshots beyond the head are of a book that has been written to meanwhile.
  Result<void> finish(const Head& head, bool grown) const {
    if (head_of(ledger_.state()) != head) {
      return fail(ErrorCode::kDataLoss, "the head says {} entries up to {}, found {} up to {}",
                  head.entries, core::to_hex(head.hash), entries(),
                  core::to_hex(ledger_.state().scalars.head));
    }
    if (balances_ != ledger_.state().balances.rows()) {
      return fail(ErrorCode::kDataLoss, "the postings do not add up to the balances");
    }
    const auto beyond = static_cast<std::uint64_t>(
        std::distance(snapshots_.upper_bound(head.entries), snapshots_.end()));
    if (matched_ + (grown ? beyond : 0) != snapshots_.size()) {
      return fail(ErrorCode::kDataLoss, "a snapshot is of entries that are not there");
    }
    return check_all(ledger_.state());
  }

  std::uint64_t entries() const { return ledger_.state().scalars.entries; }
  std::uint64_t matched() const { return matched_; }
  const State& state() const { return ledger_.state(); }

 private:
  Ledger ledger_;
  std::map<std::uint64_t, core::Bytes> snapshots_;
  Balances balances_;
  std::uint64_t matched_ = 0;
};

}  // namespace

Result<Verified> verify(core::Store& store, const Signatures& signatures,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  COMMENSAL_ASSIGN(const std::optional<Head> head, read_head(store));
  if (!head) return fail(ErrorCode::kNotFound, "there is no ledger here");
  COMMENSAL_ASSIGN(auto snapshots, read_snapshots(store));
  Replay run(signatures, std::move(snapshots));
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
    return fail(ErrorCode::kDataLoss, "entry {}: the head says that there is none", head->entries);
  }
  if (const auto sound = run.finish(*head, grown); !sound) {
    return core::in_context(fmt::format("after entry {}", run.entries()), sound.error());
  }
  return Verified{run.state(), state_digest(run.state()), run.entries(), run.matched()};
}

}  // namespace commensal::ledger
