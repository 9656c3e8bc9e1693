// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/test_money.hpp>
#include <iterator>

namespace commensal::gateway {

using core::Result;
using ledger::AccountKind;
using protocol::Amount;

namespace {

constexpr std::string_view kStakes = "test_stakes";      // address -> nothing
constexpr std::string_view kPromises = "test_promises";  // account -> decimal digits
constexpr std::string_view kOwed = "test_owed";          // account -> nothing, until it has its own
// "all" -> nothing: whoever else is owed something is in kOwed.
constexpr std::string_view kSettled = "test_settled";
constexpr std::size_t kOwedAtOnce = 256;  // rows of a batch

core::Store::Write write_of(std::string_view space, std::string_view key,
                            std::optional<core::Bytes> value) {
  const core::ByteView bytes = core::as_bytes(key);
  return {std::string(space), core::Bytes(bytes.begin(), bytes.end()), std::move(value)};
}

core::Digest credit_reference(const std::string& account) {
  return crypto::tagged_hash("commensal/test-credit/v1", core::as_bytes(account));
}

core::Digest stake_reference(const crypto::Address& provider) {
  return crypto::tagged_hash("commensal/test-stake/v1", provider.bytes);
}

}  // namespace

Result<void> TestMoney::open(Accounts& accounts) {
  constexpr std::string_view kAll = "all";
  COMMENSAL_ASSIGN(const auto settled, store_.get(kSettled, core::as_bytes(kAll)));
  if (!is_on()) {  // who is new meanwhile is owed something when it is
    return settled ? store_.apply({write_of(kSettled, kAll, {})}) : Result<void>();
  }
  COMMENSAL_TRY(store_.scan(kStakes, {}, [this](core::ByteView, core::ByteView) {
    ++stakes_;
    return true;
  }));
  if (settled) return settle_owed(accounts);
  COMMENSAL_TRY(settle_all(accounts));
  return store_.apply({write_of(kSettled, kAll, core::Bytes{1})});
}

Result<void> TestMoney::settle_all(Accounts& accounts) {
  COMMENSAL_ASSIGN(const std::vector<Account> all, accounts.list());
  core::Store::Batch owed;  // those for whom there was no room
  for (const Account& account : all) {
    COMMENSAL_TRY(settle(accounts, account.name));
    const bool is_owed = !has_some(account.name) && !has_got(credit_reference(account.name));
    if (is_owed) std::ranges::move(owe(account.name), std::back_inserter(owed));
    if (owed.size() < kOwedAtOnce && &account != &all.back()) continue;
    COMMENSAL_TRY(store_.apply(owed));
    owed.clear();
  }
  return {};
}

bool TestMoney::has_some(const std::string& account) const {
  const crypto::Address owner = bank_.address_of(account);
  return balance(owner, AccountKind::kAvailable) != Amount() ||
         balance(owner, AccountKind::kCredit) != Amount();
}

Result<void> TestMoney::settle_owed(Accounts& accounts) {
  std::vector<std::string> owed;
  COMMENSAL_TRY(store_.scan(kOwed, {}, [&](core::ByteView key, core::ByteView) {
    owed.emplace_back(core::as_text(key));
    return true;
  }));
  for (const std::string& account : owed) COMMENSAL_TRY(settle(accounts, account));
  return {};
}

Result<void> TestMoney::settle(Accounts& accounts, const std::string& account) {
  COMMENSAL_ASSIGN(const auto there, accounts.find(account));
  if (!there || has_some(account)) return owe_no_more(account);
  COMMENSAL_TRY(give_credit(account));
  return {};
}

core::Store::Batch TestMoney::owe(const std::string& account) const {
  if (!is_on()) return {};
  return {write_of(kOwed, account, core::Bytes{1})};
}

Result<void> TestMoney::owe_no_more(const std::string& account) {
  COMMENSAL_ASSIGN(const auto owed, store_.get(kOwed, core::as_bytes(account)));
  return owed ? store_.apply({write_of(kOwed, account, {})}) : Result<void>();
}

core::Store::Write TestMoney::promise(const std::string& account, const Amount& amount) {
  const std::string digits = to_text(amount);
  const core::ByteView said = core::as_bytes(digits);
  return write_of(kPromises, account, core::Bytes(said.begin(), said.end()));
}

Result<Amount> TestMoney::credit_of(const std::string& account) {
  COMMENSAL_ASSIGN(const auto said, store_.get(kPromises, core::as_bytes(account)));
  if (!said) return config_.test.credit;
  const auto amount = protocol::amount_from_text(core::as_text(*said));
  if (amount) return *amount;
  return core::fail(core::ErrorCode::kDataLoss, "test credit of '{}': {}", account,
                    amount.error().message);
}

Result<Amount> TestMoney::give_credit(const std::string& account) {
  const core::Digest reference = credit_reference(account);
  if (!is_on()) return Amount();
  if (has_got(reference)) {
    COMMENSAL_TRY(owe_no_more(account));
    return Amount();
  }
  const ledger::State& state = bank_.state();
  const Amount pooled = balance(bank_.address(), AccountKind::kCreditPool);
  COMMENSAL_ASSIGN(const Amount out, pooled.plus(state.scalars.credit));
  const Amount room = state.scalars.config.credit_cap.minus(out).value_or(Amount());
  COMMENSAL_ASSIGN(const Amount meant, credit_of(account));
  const Amount amount = std::min(meant, room);
  if (meant == Amount()) COMMENSAL_TRY(owe_no_more(account));
  if (amount == Amount()) return Amount();
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
    COMMENSAL_TRY(owe_no_more(account));
    COMMENSAL_TRY(bank_.submit(ledger::Deposit{bank_.address(), amount, reference}));
    COMMENSAL_TRY(bank_.submit(ledger::Fund{AccountKind::kCreditPool, amount}));
    COMMENSAL_TRY(bank_.submit(ledger::GrantCredit{bank_.address_of(account), amount}));
    return {};
  }));
  return amount;
}

Result<void> TestMoney::give_stake(const crypto::Address& provider) {
  const core::Digest reference = stake_reference(provider);
  if (!is_on() || stakes_ >= limits::kTestStakesMax || has_got(reference)) return {};
  COMMENSAL_ASSIGN(
      const Amount there,
      balance(provider, AccountKind::kAvailable).plus(balance(provider, AccountKind::kStake)));
  const Amount lack = config_.stake_min.minus(there).value_or(Amount());
  if (lack == Amount()) return {};
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
    COMMENSAL_TRY(bank_.submit(ledger::Deposit{provider, lack, reference}));
    const core::Bytes key(provider.bytes.begin(), provider.bytes.end());
    return store_.apply({{std::string(kStakes), key, core::Bytes{1}}});
  }));
  ++stakes_;
  return {};
}

}  // namespace commensal::gateway
