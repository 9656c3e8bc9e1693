// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>
#include <commensal/trade/pay/ledger/rules.hpp>
#include <optional>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;

core::Result<void> apply_rule(Context& context, const Body& body) {
  return std::visit([&](const auto& kind) { return rule(context, kind); }, body);
}

core::Result<void> Ledger::check_head(const Transaction& transaction, std::int64_t time_ms) const {
  const State::Scalars& now = state_.scalars;
  const auto* found = std::get_if<Genesis>(&transaction.body);
  if ((found != nullptr) != (now.entries == 0)) {
    return fail(ErrorCode::kFailedPrecondition, "a ledger is founded once, by its first entry");
  }
  if (time_ms < 0 || static_cast<std::uint64_t>(time_ms) < now.time_ms) {
    return fail(ErrorCode::kFailedPrecondition,
                "clock: the machine's clock went back from {} ms to {} ms", now.time_ms, time_ms);
  }
  const Config& config = found != nullptr ? found->config : now.config;
  if (transaction.chain_id != config.chain_id) {
    return fail(ErrorCode::kUnauthenticated, "chain id: signed for {}, this ledger has {}",
                transaction.chain_id, config.chain_id);
  }
  if (transaction.ledger != config.operator_address) {
    return fail(ErrorCode::kUnauthenticated,
                "ledger: signed for that of {}, this is the ledger of {}",
                crypto::to_text(transaction.ledger), crypto::to_text(config.operator_address));
  }
  const std::uint64_t expected = state_.nonces.get(transaction.sender);
  if (transaction.nonce < expected) {
    return fail(ErrorCode::kAlreadyExists, "replay: nonce {} of {} is used, expected {}",
                transaction.nonce, crypto::to_text(transaction.sender), expected);
  }
  if (transaction.nonce > expected) {
    return fail(ErrorCode::kFailedPrecondition, "nonce: {} of {} is too early, expected {}",
                transaction.nonce, crypto::to_text(transaction.sender), expected);
  }
  return {};
}

core::Result<void> Ledger::check_signatures(const Transaction& transaction) const {
  COMMENSAL_TRY(transaction.validity());
  const Digest digest = signing_digest(transaction);
  std::optional<Address> first;
  for (const crypto::Signature& signature : transaction.signatures) {
    COMMENSAL_ASSIGN(const Address signer, signatures_.signer(digest, signature));
    if (!first) first = signer;
  }
  if (first != transaction.sender) {  // validity() wants one at least
    return fail(ErrorCode::kUnauthenticated, "signature: recovers to {}, expected the sender {}",
                crypto::to_text(*first), crypto::to_text(transaction.sender));
  }
  return {};
}

Root Ledger::root() const {
  Root root{state_.scalars, sum_};
  add_to(root.sum, changes_of(state_));
  return root;
}

std::vector<RowChange> Ledger::take_changes() {
  std::vector<RowChange> changes = ledger::take_changes(state_);
  add_to(sum_, changes);
  return changes;
}

/// Before anything is changed: it speaks of the state as it is.
core::Result<void> Ledger::check_root(const Checkpoint& body) const {
  const Digest found = root_digest(root());
  if (body.root == found) return {};
  return fail(ErrorCode::kInvalidArgument, "root: {}, but the state has {}",
              core::to_hex(body.root), core::to_hex(found));
}

core::Result<void> Ledger::run(Entry& entry) {
  COMMENSAL_TRY(check_signatures(entry.transaction));
  const auto* point = std::get_if<Checkpoint>(&entry.transaction.body);
  if (point != nullptr) COMMENSAL_TRY(check_root(*point));
  Context context(state_, entry, arbiter_);
  forget_some(context);
  COMMENSAL_TRY(apply_rule(context, entry.transaction.body));
  state_.nonces.set(entry.transaction.sender, entry.transaction.nonce + 1);
  // The journal has to be read back, so its readers' bounds are the writer's.
  const auto again = protocol::decode<Entry>(protocol::encode(entry));
  if (!again) return core::in_context("it could not be read back", again.error());
  return {};
}

core::Result<Entry> Ledger::apply(const Transaction& transaction, std::int64_t time_ms) {
  const auto refused = [&](core::Error error) {
    return core::in_context(name_of(transaction.body), std::move(error));
  };
  if (auto fits = check_head(transaction, time_ms); !fits) return refused(fits.error());
  const State::Scalars before = state_.scalars;
  Entry entry{before.entries, static_cast<std::uint64_t>(time_ms), transaction, {}, before.head};
  if (auto done = run(entry); !done) {
    state_.each_table([](auto& table) { table.undo(); });
    state_.scalars = before;
    return refused(done.error());
  }
  state_.scalars.entries = entry.sequence + 1;
  state_.scalars.time_ms = entry.time_ms;
  state_.scalars.head = entry_hash(entry);
  const auto sound = check_changes(state_, entry.postings);
  core::check(sound.has_value(), sound ? "" : sound.error().message);
  state_.each_table([](auto& table) { table.keep(); });
  return entry;
}

}  // namespace commensal::ledger
