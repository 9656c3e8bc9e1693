// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <iterator>

namespace commensal::gateway {

namespace {

using core::ErrorCode;

constexpr std::string_view kAccountSpace = "accounts";              // name -> record
constexpr std::string_view kFormerSpace = "accounts_removed";       // name -> nothing
constexpr std::string_view kUninvitedSpace = "accounts_uninvited";  // likewise

constexpr std::size_t kKnownMax = 65'536;  // tokens, in memory

bool is_account_name(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= limits::kNameBytesMax && is_letter(name.front()) &&
         std::ranges::all_of(name, is_allowed);
}

core::Bytes bytes_of(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace

std::span<const std::string_view> enum_names(Role) {
  static constexpr std::string_view kNames[] = {"consumer", "operator", "auditor"};
  return kNames;
}

std::string_view name_of(Role role) { return protocol::name_of(role); }

core::Result<Role> role_from_text(std::string_view text) {
  for (const Role role : {Role::kConsumer, Role::kOperator, Role::kAuditor}) {
    if (name_of(role) == text) return role;
  }
  return core::fail(ErrorCode::kInvalidArgument, "unknown role '{}': consumer, operator or auditor",
                    text.substr(0, limits::kNameBytesMax));
}

core::Result<Account> Accounts::existing(const std::string& name) {
  COMMENSAL_ASSIGN(std::optional<Account> there, find(name));
  if (there) return *std::move(there);
  return core::fail(ErrorCode::kNotFound, "unknown account '{}'",
                    name.substr(0, limits::kNameBytesMax));
}

core::Result<std::string> Accounts::create(const std::string& name, Role role,
                                           core::Store::Batch with) {
  if (!is_account_name(name))
    return core::fail(ErrorCode::kInvalidArgument,
                      "an account's name has 1 to {} of [a-z0-9_-] and begins with a letter",
                      limits::kNameBytesMax);
  COMMENSAL_ASSIGN(const std::optional<Account> there, find(name));
  if (there) return core::fail(ErrorCode::kAlreadyExists, "the account '{}' exists", name);
  COMMENSAL_ASSIGN(const auto former, store_.get(kFormerSpace, core::as_bytes(name)));
  if (former) {
    return core::fail(ErrorCode::kAlreadyExists, "an account '{}' was removed; its name stays its",
                      name);
  }
  COMMENSAL_ASSIGN(Tokens::Made made, tokens_.make(name, {}));
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(Account{name, role}));
  made.writes.push_back({std::string(kAccountSpace), bytes_of(name), std::move(row)});
  std::ranges::move(with, std::back_inserter(made.writes));
  COMMENSAL_TRY(store_.apply(made.writes));
  if (names_) names_->insert_or_assign(name, Kept{role});
  return std::move(made.text);
}

core::Result<std::string> Accounts::create_uninvited(const std::string& name, std::size_t most,
                                                     core::Store::Batch with) {
  COMMENSAL_TRY(open());
  if (uninvited_ >= most) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "{} accounts were made here uninvited, the most: ask for an invitation",
                      uninvited_);
  }
  with.push_back({std::string(kUninvitedSpace), bytes_of(name), core::Bytes{1}});
  COMMENSAL_ASSIGN(std::string token, create(name, Role::kConsumer, std::move(with)));
  names_->at(name).is_uninvited = true;
  ++uninvited_;
  return token;
}

core::Result<std::string> Accounts::make_token(const std::string& name, const TokenTerms& terms) {
  COMMENSAL_TRY(existing(name));
  COMMENSAL_ASSIGN(Tokens::Made made, tokens_.make(name, terms));
  COMMENSAL_TRY(store_.apply(made.writes));
  return std::move(made.text);
}

core::Result<std::vector<Token>> Accounts::tokens(const std::string& name) {
  COMMENSAL_TRY(existing(name));
  return tokens_.list(name);
}

core::Result<void> Accounts::end_token(const std::string& name, const std::string& label) {
  COMMENSAL_TRY(existing(name));
  COMMENSAL_ASSIGN(const core::Store::Batch batch, tokens_.end(name, label));
  forget(name);
  return store_.apply(batch);
}

core::Result<std::string> Accounts::renew(const std::string& name) {
  COMMENSAL_TRY(existing(name));
  COMMENSAL_ASSIGN(Tokens::Made made, tokens_.replace_all(name));
  forget(name);
  COMMENSAL_TRY(store_.apply(made.writes));
  return std::move(made.text);
}

core::Result<void> Accounts::remove(const std::string& name) {
  COMMENSAL_TRY(existing(name));
  COMMENSAL_ASSIGN(core::Store::Batch batch, tokens_.end_all(name));
  forget(name);
  batch.push_back({std::string(kAccountSpace), bytes_of(name), {}});
  batch.push_back({std::string(kFormerSpace), bytes_of(name), core::Bytes{1}});
  batch.push_back({std::string(kUninvitedSpace), bytes_of(name), {}});
  COMMENSAL_TRY(store_.apply(batch));
  if (!names_) return {};
  const auto gone = names_->find(name);
  if (gone == names_->end()) return {};
  if (gone->second.is_uninvited) --uninvited_;
  names_->erase(gone);
  return {};
}

core::Result<Pass> Accounts::authenticate(std::string_view token) {
  const core::Digest hash = crypto::sha256(core::as_bytes(token));
  if (auto known = recall(hash)) return *std::move(known);
  COMMENSAL_ASSIGN(Pass pass, read_token(hash));
  const std::int64_t now_ms = clock_.wall_ms();
  if (pass.token.is_expired(now_ms))
    return core::fail(ErrorCode::kUnauthenticated, "the token '{}' of '{}' has expired {} s ago",
                      pass.token.label, pass.token.account,
                      (now_ms - pass.token.expires_ms) / 1'000);
  tokens_.note_use(hash, pass.token);
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kKnownMax) known_.clear();
  return known_.insert_or_assign(hash, std::move(pass)).first->second;
}

std::optional<Pass> Accounts::recall(std::string_view token) const {
  return recall(crypto::sha256(core::as_bytes(token)));
}

/// Not where there is something to say of it, or to note.
std::optional<Pass> Accounts::recall(const core::Digest& hash) const {
  const std::int64_t now_ms = clock_.wall_ms();
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(hash);
  if (known == known_.end()) return std::nullopt;
  const Token& token = known->second.token;
  if (token.is_expired(now_ms) || !token.is_noted(now_ms)) return std::nullopt;
  return known->second;
}

void Accounts::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& one) { return one.second.account.name == name; });
}

core::Result<Pass> Accounts::read_token(const core::Digest& hash) {
  COMMENSAL_ASSIGN(Token token, tokens_.find(hash));
  COMMENSAL_ASSIGN(std::optional<Account> account, find(token.account));
  if (!account)
    return core::fail(ErrorCode::kDataLoss,
                      "this token's account is gone: ask the operator for another");
  return Pass{*std::move(account), std::move(token)};
}

core::Result<void> Accounts::open() {
  if (names_) return {};
  Names names;
  core::Result<void> status;
  COMMENSAL_TRY(store_.scan(kAccountSpace, {}, [&](core::ByteView, core::ByteView value) {
    auto account = protocol::decode_stored<Account>(value);
    if (!account) {
      status = tl::unexpected(std::move(account).error());
      return false;
    }
    names.insert_or_assign(std::move(account->name), Kept{account->role});
    return true;
  }));
  COMMENSAL_TRY(status);
  std::size_t uninvited = 0;
  COMMENSAL_TRY(store_.scan(kUninvitedSpace, {}, [&](core::ByteView key, core::ByteView) {
    const auto found = names.find(core::as_text(key));
    if (found == names.end()) return true;
    found->second.is_uninvited = true;
    ++uninvited;
    return true;
  }));
  names_ = std::move(names);
  uninvited_ = uninvited;
  return {};
}

core::Result<std::vector<Account>> Accounts::list(std::string_view after, std::size_t count) {
  COMMENSAL_TRY(open());
  std::vector<Account> accounts;
  auto next = names_->upper_bound(after);
  for (; next != names_->end() && accounts.size() < count; ++next) {
    accounts.push_back({next->first, next->second.role});
  }
  return accounts;
}

core::Result<std::optional<Account>> Accounts::find(const std::string& name) {
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> value,
                   store_.get(kAccountSpace, core::as_bytes(name)));
  if (!value) return std::nullopt;
  COMMENSAL_ASSIGN(Account account, protocol::decode_stored<Account>(*value));
  return account;
}

}  // namespace commensal::gateway
