// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/gateway/tokens.hpp>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace commensal::gateway {

enum class Role : std::uint8_t { kConsumer, kOperator, kAuditor };
/// "consumer", "operator", "auditor".
std::span<const std::string_view> enum_names(Role);
std::string_view name_of(Role role);
/// Error: kInvalidArgument.
core::Result<Role> role_from_text(std::string_view text);

struct Account {
  static constexpr std::string_view kRecord = "account";

  std::string name;
  Role role = Role::kConsumer;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("role", self.role);
  }
};

/// Who asks, and with which of the account's tokens.
struct Pass {
  Account account;
  Token token;
};

/// Who may ask for what. Thread-safety: one thread, the store's; recall() any.
class Accounts {
 public:
  /// All outlive this object.
  Accounts(core::Store& store, core::Rng& rng, const core::Clock& clock)
      : store_(store), tokens_(store, rng, clock), clock_(clock) {}

  /// Reads who there is, once. Error: kDataLoss.
  core::Result<void> open();

  /// Returns its first token, which can't be shown again; `with` is written in the same batch.
  /// Names: 1 to 64 of [a-z0-9_-], beginning with a letter. Errors: kAlreadyExists (also for one
  /// that was removed), kInvalidArgument.
  core::Result<std::string> create(const std::string& name, Role role,
                                   core::Store::Batch with = {});
  /// The same of a consumer who makes it for itself, uninvited. Error also: kResourceExhausted,
  /// where there are `most` of those.
  core::Result<std::string> create_uninvited(const std::string& name, std::size_t most,
                                             core::Store::Batch with);
  /// One more token. Errors: kNotFound, Tokens::make's.
  core::Result<std::string> make_token(const std::string& name, const TokenTerms& terms);
  /// By label. Error: kNotFound.
  core::Result<std::vector<Token>> tokens(const std::string& name);
  /// The token stops working. Error: kNotFound.
  core::Result<void> end_token(const std::string& name, const std::string& label);
  /// A new token, "default"; the account's old ones stop working. Error: kNotFound.
  core::Result<std::string> renew(const std::string& name);
  /// Its tokens stop working, and its name is nobody's again: receipts and the ledger still mean
  /// who had it. Error: kNotFound.
  core::Result<void> remove(const std::string& name);
  /// Error: kUnauthenticated (unknown, expired).
  core::Result<Pass> authenticate(std::string_view token);
  /// What authenticate() has found for the token, without the store; none where that is not known,
  /// or no longer.
  std::optional<Pass> recall(std::string_view token) const;
  /// By name: those behind `after`, at most `count`. Of memory, once open() or list() has read
  /// them.
  core::Result<std::vector<Account>> list(
      std::string_view after = {}, std::size_t count = std::numeric_limits<std::size_t>::max());
  core::Result<std::optional<Account>> find(const std::string& name);

 private:
  struct Kept {
    Role role = Role::kConsumer;
    bool is_uninvited = false;
  };
  using Names = std::map<std::string, Kept, std::less<>>;

  core::Result<Account> existing(const std::string& name);
  core::Result<Pass> read_token(const core::Digest& hash);
  std::optional<Pass> recall(const core::Digest& hash) const;
  void forget(const std::string& name);

  core::Store& store_;
  Tokens tokens_;
  const core::Clock& clock_;
  std::optional<Names> names_;  // of all accounts, once they were read
  std::size_t uninvited_ = 0;   // of them
  mutable std::mutex mutex_;
  std::map<core::Digest, Pass> known_;  // by a token's hash; of what is stored, as it is
};

}  // namespace commensal::gateway
