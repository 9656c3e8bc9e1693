// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/tokens.hpp>
#include <functional>

namespace commensal::gateway {

namespace {

using core::ErrorCode;

constexpr std::string_view kTokenSpace = "account_tokens";  // SHA-256 of a token -> record
// The account's name, a zero byte and the label -> SHA-256 of the token.
constexpr std::string_view kLabelSpace = "account_token_labels";
// SHA-256 of a token -> the account's name: of builds whose accounts had one token each. It is not
// rewritten, so that such a build can still take over from this one.
constexpr std::string_view kEarlySpace = "tokens";
constexpr std::string_view kEarlyLabel = "default";

constexpr std::int64_t kDayMs = 86'400'000;

core::Bytes bytes_of(core::ByteView view) { return {view.begin(), view.end()}; }

core::Bytes prefix_of(const std::string& account) {
  core::Bytes key = bytes_of(core::as_bytes(account));
  key.push_back(0);
  return key;
}

core::Bytes key_of(const std::string& account, std::string_view label) {
  core::Bytes key = prefix_of(account);
  const core::ByteView end = core::as_bytes(label);
  key.insert(key.end(), end.begin(), end.end());
  return key;
}

/// The writes that end it.
void add_end(const core::Digest& hash, bool is_early, const Token& token,
             core::Store::Batch& batch) {
  batch.push_back({std::string(is_early ? kEarlySpace : kTokenSpace), bytes_of(hash), {}});
  if (is_early) return;
  batch.push_back({std::string(kLabelSpace), key_of(token.account, token.label), {}});
}

}  // namespace

bool is_label(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= limits::kNameBytesMax &&
         std::ranges::all_of(text, is_allowed) && text != "." && text != "..";
}

bool Token::has(Scope scope) const {
  return scope == Scope::kAny || scopes.empty() || std::ranges::find(scopes, scope) != scopes.end();
}

core::Result<void> Token::validity() const {
  if (!is_label(label))
    return core::fail(ErrorCode::kInvalidArgument, "a token's label is {}", kLabelRule);
  if (std::ranges::adjacent_find(scopes, std::ranges::greater_equal()) != scopes.end() ||
      (!scopes.empty() && scopes.front() == Scope::kAny))
    return core::fail(ErrorCode::kInvalidArgument, "a token's scopes are ascending");
  return {};
}

core::Result<void> check_given(const Token& by, const TokenTerms& terms) {
  const bool is_more =
      !by.scopes.empty() &&
      (terms.scopes.empty() ||
       !std::ranges::all_of(terms.scopes, [&by](Scope scope) { return by.has(scope); }));
  if (is_more) {
    return core::fail(ErrorCode::kPermissionDenied,
                      "the token '{}' makes and ends none with more scopes than it has: name some "
                      "of its own",
                      by.label);
  }
  const bool is_longer =
      by.expires_ms != 0 && (terms.expires_ms == 0 || terms.expires_ms > by.expires_ms);
  if (!is_longer) return {};
  return core::fail(ErrorCode::kPermissionDenied,
                    "the token '{}' expires: it makes and ends none that lasts longer", by.label);
}

core::Result<std::vector<Tokens::Known>> Tokens::known(const std::string& account) {
  std::vector<Known> found;
  COMMENSAL_TRY(store_.scan(kLabelSpace, prefix_of(account), [&](core::ByteView, core::ByteView v) {
    Known one;
    if (v.size() == one.hash.size()) std::ranges::copy(v, one.hash.begin());
    found.push_back(std::move(one));
    return true;
  }));
  for (Known& one : found) {
    COMMENSAL_ASSIGN(one.token, find(one.hash));
  }
  COMMENSAL_TRY(add_early(account, found));
  return found;
}

core::Result<void> Tokens::add_early(const std::string& account, std::vector<Known>& found) {
  if (!early_) {
    std::multimap<std::string, core::Digest> all;
    COMMENSAL_TRY(store_.scan(kEarlySpace, {}, [&](core::ByteView key, core::ByteView owner) {
      core::Digest hash{};
      if (key.size() == hash.size()) std::ranges::copy(key, hash.begin());
      all.emplace(core::as_text(owner), hash);
      return true;
    }));
    early_ = std::move(all);
  }
  const auto [begin, end] = early_->equal_range(account);
  for (auto at = begin; at != end; ++at) {
    COMMENSAL_ASSIGN(const auto there, store_.get(kEarlySpace, at->second));
    if (!there) continue;  // it has ended
    found.push_back({.hash = at->second,
                     .is_early = true,
                     .token = {.account = account, .label = std::string(kEarlyLabel)}});
  }
  return {};
}

core::Result<Tokens::Made> Tokens::made(const std::string& account, const TokenTerms& terms,
                                        core::Store::Batch before) {
  const std::int64_t now_ms = clock_.wall_ms();
  if (terms.expires_ms != 0 && terms.expires_ms <= now_ms)
    return core::fail(ErrorCode::kInvalidArgument, "a token expires in the future");
  Token token{.account = account,
              .label = terms.label,
              .scopes = terms.scopes,
              .made_ms = now_ms,
              .expires_ms = terms.expires_ms};
  std::ranges::sort(token.scopes);
  const auto twice = std::ranges::unique(token.scopes);
  token.scopes.erase(twice.begin(), twice.end());
  COMMENSAL_TRY(token.validity());
  Made made{.text = core::to_hex(rng_.next_digest()), .writes = std::move(before)};
  const core::Digest hash = crypto::sha256(core::as_bytes(made.text));
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(token));
  made.writes.push_back({std::string(kTokenSpace), bytes_of(hash), std::move(row)});
  made.writes.push_back({std::string(kLabelSpace), key_of(account, token.label), bytes_of(hash)});
  return made;
}

core::Result<Tokens::Made> Tokens::make(const std::string& account, const TokenTerms& terms) {
  COMMENSAL_ASSIGN(const std::vector<Known> there, known(account));
  core::Store::Batch before;
  for (const Known& one : there) {
    if (one.token.label != terms.label) continue;
    if (!one.token.is_expired(clock_.wall_ms()))
      return core::fail(ErrorCode::kAlreadyExists, "'{}' has a token '{}': name it otherwise",
                        account, terms.label);
    add_end(one.hash, one.is_early, one.token, before);
  }
  if (before.empty() && there.size() >= limits::kTokensMax)
    return core::fail(ErrorCode::kResourceExhausted,
                      "'{}' has {} tokens, the most that are kept: end one first", account,
                      there.size());
  return made(account, terms, std::move(before));
}

core::Result<Tokens::Made> Tokens::replace_all(const std::string& account) {
  COMMENSAL_ASSIGN(core::Store::Batch before, end_all(account));
  return made(account, {}, std::move(before));
}

core::Result<core::Store::Batch> Tokens::end_all(const std::string& account) {
  COMMENSAL_ASSIGN(const std::vector<Known> there, known(account));
  core::Store::Batch batch;
  for (const Known& one : there) add_end(one.hash, one.is_early, one.token, batch);
  return batch;
}

core::Result<core::Store::Batch> Tokens::end(const std::string& account, const std::string& label) {
  COMMENSAL_ASSIGN(const std::vector<Known> there, known(account));
  core::Store::Batch batch;
  for (const Known& one : there) {
    if (one.token.label == label) add_end(one.hash, one.is_early, one.token, batch);
  }
  if (!batch.empty()) return batch;
  return core::fail(ErrorCode::kNotFound, "'{}' has no token '{}'", account,
                    label.substr(0, limits::kNameBytesMax));
}

core::Result<std::vector<Token>> Tokens::list(const std::string& account) {
  COMMENSAL_ASSIGN(std::vector<Known> there, known(account));
  std::vector<Token> tokens;
  for (Known& one : there) tokens.push_back(std::move(one.token));
  return tokens;
}

core::Result<Token> Tokens::find(const core::Digest& hash) {
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> row, store_.get(kTokenSpace, hash));
  if (row) return protocol::decode_stored<Token>(*row);
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> owner, store_.get(kEarlySpace, hash));
  if (!owner) return core::fail(ErrorCode::kUnauthenticated, "unknown token");
  return Token{.account = std::string(core::as_text(*owner)), .label = std::string(kEarlyLabel)};
}

bool Token::is_noted(std::int64_t now_ms) const { return used_ms >= now_ms / kDayMs * kDayMs; }

void Tokens::note_use(const core::Digest& hash, Token& token) {
  const std::int64_t day_ms = clock_.wall_ms() / kDayMs * kDayMs;
  if (day_ms <= token.used_ms) return;
  token.used_ms = day_ms;
  const auto there = store_.get(kTokenSpace, hash);
  auto row = protocol::encode_stored(token);
  if (!there || !*there || !row) return;  // an early one, which has no place for it
  // Who is known is let in whether that is written or not.
  const auto written = store_.apply({{std::string(kTokenSpace), bytes_of(hash), *std::move(row)}});
  static_cast<void>(written);
}

}  // namespace commensal::gateway
