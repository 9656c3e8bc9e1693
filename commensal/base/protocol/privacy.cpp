// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/protocol/privacy.hpp>
#include <commensal/base/protocol/signer.hpp>

namespace commensal::protocol {
namespace {

Digest statement_digest(const PrivacyStatement& statement) {
  crypto::Eip712Domain domain;
  domain.chain_id = kEmbeddedLedger;
  return crypto::typed_digest(
      domain, crypto::StructHash("PrivacyStatement(address provider,string privacyClass,"
                                 "uint64 validUntilMs,address auditor)")
                  .address(statement.provider)
                  .text(statement.privacy_class)
                  .uint(statement.valid_until_ms)
                  .address(statement.auditor)
                  .finish());
}

}  // namespace

bool is_privacy_class(std::string_view name) {
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= limits::kPrivacyClassBytesMax &&
         std::ranges::all_of(name, may_stand);
}

core::Result<void> check_privacy_class(std::string_view name) {
  if (is_privacy_class(name)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "the privacy class '{}', expected 1 to {} of a-z, 0-9 and -",
                    one_line(name.substr(0, 2 * limits::kPrivacyClassBytesMax)),
                    limits::kPrivacyClassBytesMax);
}

core::Result<void> PrivacyStatement::validity() const { return check_privacy_class(privacy_class); }

PrivacyStatement sign_statement(const crypto::SecretKey& key, PrivacyStatement statement) {
  core::check(statement.validity().has_value(), "a statement of something that is no class");
  statement.auditor = key.address();
  statement.signature = crypto::sign(key, statement_digest(statement));
  return statement;
}

core::Result<void> verify_statement(const PrivacyStatement& statement) {
  COMMENSAL_TRY(statement.validity());
  const auto found = crypto::recover(statement_digest(statement), statement.signature);
  if (!found) return core::in_context("privacy statement", found.error());
  if (*found == statement.auditor) return {};
  return core::fail(core::ErrorCode::kUnauthenticated,
                    "privacy statement: its signature recovers to {}, expected its auditor {}",
                    crypto::to_text(*found), crypto::to_text(statement.auditor));
}

}  // namespace commensal::protocol
