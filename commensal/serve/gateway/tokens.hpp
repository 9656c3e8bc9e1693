// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/gateway/scopes.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace commensal::gateway {

/// 1 to 64 of [A-Za-z0-9._-]: what people call tokens and invitations by.
bool is_label(std::string_view text);
inline constexpr std::string_view kLabelRule = "1 to 64 of [A-Za-z0-9._-]";

/// What is asked of a new token.
struct TokenTerms {
  std::string label = "default";   // no other of the account's is called so
  std::vector<Scope> scopes = {};  // empty: all
  std::int64_t expires_ms = 0;     // 0: never
};

/// One of an account's tokens: all but itself.
struct Token {
  static constexpr std::string_view kRecord = "token";

  std::string account;
  std::string label;
  std::vector<Scope> scopes = {};  // ascending; empty: all
  std::int64_t made_ms = 0;        // 0: nobody knows
  std::int64_t expires_ms = 0;
  std::int64_t used_ms = 0;  // the day on which it was last seen, its beginning; 0: never

  bool has(Scope scope) const;
  bool is_expired(std::int64_t now_ms) const { return expires_ms != 0 && now_ms >= expires_ms; }
  /// That it is seen today is remembered.
  bool is_noted(std::int64_t now_ms) const;
  /// Error: kInvalidArgument.
  core::Result<void> validity() const;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("account", self.account);
    archive.field("label", self.label);
    archive.field("scopes", self.scopes);
    archive.field("made_ms", self.made_ms);
    archive.field("expires_ms", self.expires_ms);
    archive.field("used_ms", self.used_ms);
  }
};

/// That `by` makes no token that may more, or lasts longer, than itself. Error: kPermissionDenied.
core::Result<void> check_given(const Token& by, const TokenTerms& terms);

/// The tokens of all accounts. A token is 32 random bytes in hexadecimal; only its SHA-256 is
/// stored. What changes them is handed out as writes, so that they become durable with what else
/// belongs to it; what is asked for next sees them once they are applied.
/// Thread-safety: one thread, the store's.
class Tokens {
 public:
  /// All outlive this object.
  Tokens(core::Store& store, core::Rng& rng, const core::Clock& clock)
      : store_(store), rng_(rng), clock_(clock) {}

  struct Made {
    std::string text;  // can't be shown again
    core::Store::Batch writes;
  };
  /// One that has expired makes room for another of its name. Errors: kInvalidArgument (label,
  /// expiry), kAlreadyExists (the label), kResourceExhausted (limits::kTokensMax).
  core::Result<Made> make(const std::string& account, const TokenTerms& terms);
  /// In place of all the account has.
  core::Result<Made> replace_all(const std::string& account);
  core::Result<core::Store::Batch> end_all(const std::string& account);
  /// Error: kNotFound.
  core::Result<core::Store::Batch> end(const std::string& account, const std::string& label);
  /// By label.
  core::Result<std::vector<Token>> list(const std::string& account);
  /// The token of this hash, expired or not. Error: kUnauthenticated.
  core::Result<Token> find(const core::Digest& hash);
  /// Remembers the day on which it is seen, where that is another one.
  void note_use(const core::Digest& hash, Token& token);

 private:
  struct Known {
    core::Digest hash{};
    bool is_early = false;
    Token token;
  };
  core::Result<std::vector<Known>> known(const std::string& account);
  /// Of those that were made before tokens had labels.
  core::Result<void> add_early(const std::string& account, std::vector<Known>& found);
  core::Result<Made> made(const std::string& account, const TokenTerms& terms,
                          core::Store::Batch before);

  core::Store& store_;
  core::Rng& rng_;
  const core::Clock& clock_;
  std::optional<std::multimap<std::string, core::Digest>> early_;  // by account, ended ones too
};

}  // namespace commensal::gateway
