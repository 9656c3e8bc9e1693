// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/accounts.hpp>

namespace commensal::gateway {

namespace {

using core::ErrorCode;

constexpr std::string_view kAccountSpace = "accounts";         // name -> record
constexpr std::string_view kTokenSpace = "tokens";             // SHA-256 of a token -> name
constexpr std::string_view kFormerSpace = "accounts_removed";  // name -> nothing

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

core::Result<std::string> Accounts::create(const std::string& name, Role role) {
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
  const std::string token = core::to_hex(rng_.next_digest());
  const core::Digest hash = crypto::sha256(core::as_bytes(token));
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(Account{name, role}));
  COMMENSAL_TRY(store_.apply({
      {std::string(kAccountSpace), bytes_of(name), std::move(row)},
      {std::string(kTokenSpace), core::Bytes(hash.begin(), hash.end()), bytes_of(name)},
  }));
  return token;
}

core::Result<std::string> Accounts::renew(const std::string& name) {
  COMMENSAL_ASSIGN(const std::optional<Account> there, find(name));
  if (!there) return core::fail(ErrorCode::kNotFound, "unknown account '{}'", name);
  const std::string token = core::to_hex(rng_.next_digest());
  const core::Digest hash = crypto::sha256(core::as_bytes(token));
  forget(name);
  COMMENSAL_ASSIGN(core::Store::Batch batch, without_tokens(name));
  batch.push_back(
      {std::string(kTokenSpace), core::Bytes(hash.begin(), hash.end()), bytes_of(name)});
  COMMENSAL_TRY(store_.apply(batch));
  return token;
}

core::Result<core::Store::Batch> Accounts::without_tokens(const std::string& name) {
  core::Store::Batch batch;
  COMMENSAL_TRY(store_.scan(kTokenSpace, {}, [&](core::ByteView key, core::ByteView owner) {
    if (core::as_text(owner) == name) {
      batch.push_back({std::string(kTokenSpace), core::Bytes(key.begin(), key.end()), {}});
    }
    return true;
  }));
  return batch;
}

core::Result<void> Accounts::remove(const std::string& name) {
  COMMENSAL_ASSIGN(const std::optional<Account> there, find(name));
  if (!there) return core::fail(ErrorCode::kNotFound, "unknown account '{}'", name);
  forget(name);
  COMMENSAL_ASSIGN(core::Store::Batch batch, without_tokens(name));
  batch.push_back({std::string(kAccountSpace), bytes_of(name), {}});
  batch.push_back({std::string(kFormerSpace), bytes_of(name), core::Bytes{1}});
  return store_.apply(batch);
}

core::Result<Account> Accounts::authenticate(std::string_view token) {
  const core::Digest hash = crypto::sha256(core::as_bytes(token));
  if (auto known = recall(hash)) return *std::move(known);
  COMMENSAL_ASSIGN(Account account, read_token(hash));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kKnownMax) known_.clear();
  return known_.emplace(hash, std::move(account)).first->second;
}

std::optional<Account> Accounts::recall(std::string_view token) const {
  return recall(crypto::sha256(core::as_bytes(token)));
}

std::optional<Account> Accounts::recall(const core::Digest& hash) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(hash);
  return known == known_.end() ? std::nullopt : std::optional(known->second);
}

void Accounts::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& one) { return one.second.name == name; });
}

core::Result<Account> Accounts::read_token(const core::Digest& hash) {
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> name, store_.get(kTokenSpace, hash));
  if (!name) return core::fail(ErrorCode::kUnauthenticated, "unknown token");
  COMMENSAL_ASSIGN(std::optional<Account> account, find(std::string(core::as_text(*name))));
  if (!account)
    return core::fail(ErrorCode::kDataLoss,
                      "this token's account is gone: ask the operator for another");
  return *std::move(account);
}

core::Result<std::vector<Account>> Accounts::list() {
  std::vector<Account> accounts;
  core::Result<void> status;
  COMMENSAL_TRY(store_.scan(kAccountSpace, {}, [&](core::ByteView, core::ByteView value) {
    auto account = protocol::decode_stored<Account>(value);
    if (!account) {
      status = tl::unexpected(std::move(account).error());
      return false;
    }
    accounts.push_back(*std::move(account));
    return true;
  }));
  COMMENSAL_TRY(status);
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
