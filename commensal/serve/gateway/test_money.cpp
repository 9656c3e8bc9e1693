// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/test_money.hpp>

namespace commensal::gateway {

using core::Result;
using ledger::AccountKind;
using protocol::Amount;

namespace {

constexpr std::string_view kStakes = "test_stakes";      // address -> nothing
constexpr std::string_view kPromises = "test_promises";  // account -> decimal digits

core::Digest credit_reference(const std::string& account) {
  return crypto::tagged_hash("commensal/test-credit/v1", core::as_bytes(account));
}

core::Digest stake_reference(const crypto::Address& provider) {
  return crypto::tagged_hash("commensal/test-stake/v1", provider.bytes);
}

}  // namespace

Result<void> TestMoney::open(Accounts& accounts) {
  if (!is_on()) return {};
  COMMENSAL_TRY(store_.scan(kStakes, {}, [this](core::ByteView, core::ByteView) {
    ++stakes_;
    return true;
  }));
  COMMENSAL_ASSIGN(const std::vector<Account> all, accounts.list());
  for (const Account& account : all) {
    const crypto::Address owner = bank_.address_of(account.name);
    const bool has_some = balance(owner, AccountKind::kAvailable) != Amount() ||
                          balance(owner, AccountKind::kCredit) != Amount();
    if (!has_some) COMMENSAL_TRY(give_credit(account.name));
  }
  return {};
}

core::Store::Write TestMoney::promise(const std::string& account, const Amount& amount) {
  const std::string digits = to_text(amount);
  const core::ByteView name = core::as_bytes(account), said = core::as_bytes(digits);
  return {std::string(kPromises), core::Bytes(name.begin(), name.end()),
          core::Bytes(said.begin(), said.end())};
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
  if (!is_on() || has_got(reference)) return Amount();
  const ledger::State& state = bank_.state();
  const Amount pooled = balance(bank_.address(), AccountKind::kCreditPool);
  COMMENSAL_ASSIGN(const Amount out, pooled.plus(state.scalars.credit));
  const Amount room = state.scalars.config.credit_cap.minus(out).value_or(Amount());
  COMMENSAL_ASSIGN(const Amount meant, credit_of(account));
  const Amount amount = std::min(meant, room);
  if (amount == Amount()) return Amount();
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
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
