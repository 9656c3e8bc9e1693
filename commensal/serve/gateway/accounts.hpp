// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
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

/// Who may ask for what. A token is 32 random bytes in hexadecimal; only its SHA-256 is stored.
/// Thread-safety: one thread, the store's; recall() any.
class Accounts {
 public:
  Accounts(core::Store& store, core::Rng& rng) : store_(store), rng_(rng) {}

  /// Returns the token, which can't be shown again. Names: 1 to 64 of [a-z0-9_-], beginning with a
  /// letter. Errors: kAlreadyExists (also for one that was removed), kInvalidArgument.
  core::Result<std::string> create(const std::string& name, Role role);
  /// A new token; the account's old ones stop working. Error: kNotFound.
  core::Result<std::string> renew(const std::string& name);
  /// Its tokens stop working, and its name is nobody's again: receipts and the ledger still mean
  /// who had it. Error: kNotFound.
  core::Result<void> remove(const std::string& name);
  /// Error: kUnauthenticated.
  core::Result<Account> authenticate(std::string_view token);
  /// What authenticate() has found for the token, without the store; none where that is not known,
  /// or no longer.
  std::optional<Account> recall(std::string_view token) const;
  core::Result<std::vector<Account>> list();
  core::Result<std::optional<Account>> find(const std::string& name);

 private:
  /// The writes that end all tokens of an account.
  core::Result<core::Store::Batch> without_tokens(const std::string& name);

  core::Result<Account> read_token(const core::Digest& hash);
  std::optional<Account> recall(const core::Digest& hash) const;
  void forget(const std::string& name);

  core::Store& store_;
  core::Rng& rng_;
  mutable std::mutex mutex_;
  std::map<core::Digest, Account> known_;  // by a token's hash; of what is stored, as it is
};

}  // namespace commensal::gateway
