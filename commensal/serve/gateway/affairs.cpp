// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/affairs.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

template <class... Kinds>
bool is_one_of(const ledger::Body& body) {
  return (std::holds_alternative<Kinds>(body) || ...);
}

bool moves_own_money(const ledger::Body& body) {
  return is_one_of<ledger::Withdraw, ledger::Fund, ledger::AnnounceWithdrawal,
                   ledger::CompleteWithdrawal, ledger::Allow, ledger::Sell, ledger::Buy,
                   ledger::Enlist>(body);
}

/// By any route: who is accused may be cut off by who runs the ledger.
bool is_about_a_case(const ledger::Body& body) {
  return is_one_of<ledger::Accuse, ledger::Contest, ledger::Concede, ledger::Argue, ledger::Expire,
                   ledger::Report, ledger::Disclose>(body);
}

/// By any route too: who is asked to draw a round may be cut off. What nobody asks for could be far
/// ahead, and to look at it takes as many hashes.
bool shows_what_is_asked(const ledger::State& state, const ledger::Transaction& transaction) {
  const auto* const reveal = std::get_if<ledger::Reveal>(&transaction.body);
  if (reveal == nullptr) return false;
  const ledger::HashChainRow* const row = state.hash_chains.find(reveal->hash_chain);
  if (row == nullptr || row->head.owner != transaction.sender) return false;
  const auto asked = state.demands.rows().lower_bound({reveal->hash_chain, 0});
  return asked != state.demands.rows().end() && asked->first.hash_chain == reveal->hash_chain &&
         asked->first.round <= reveal->round &&
         reveal->round <= row->round + limits::kAskedRevealGapMax;
}

}  // namespace

Result<void> check_strangers(const ledger::State& state, const ledger::Transaction& transaction) {
  if (moves_own_money(transaction.body) || is_about_a_case(transaction.body)) return {};
  if (shows_what_is_asked(state, transaction)) return {};
  return fail(
      ErrorCode::kPermissionDenied,
      "{}: expected Withdraw, Fund, AnnounceWithdrawal, CompleteWithdrawal, Allow, Sell, Buy, "
      "Enlist, a Reveal that the sender is asked for or what is said of an accusation",
      ledger::name_of(transaction.body));
}

Result<void> check_providers(const ledger::State& state, const ledger::Transaction& transaction,
                             const crypto::Address& provider) {
  if (transaction.sender != provider) {
    return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the provider itself, {}",
                crypto::to_text(transaction.sender), crypto::to_text(provider));
  }
  if (is_one_of<ledger::Demand, ledger::Default, ledger::Mature>(transaction.body)) return {};
  return check_strangers(state, transaction);
}

}  // namespace commensal::gateway
