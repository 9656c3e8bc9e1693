// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_privacy.hpp>
#include <commensal/base/protocol/encoding.hpp>

namespace commensal::protocol {

/// An auditor's word that a provider may be shown data of a class, signed (EIP-712:
/// PrivacyStatement(address provider,string privacyClass,uint64 validUntilMs,address auditor)).
/// What the class stands for is between the auditor and those who believe it.
///
/// Unlike the other signed nouns it binds no chain (the domain's is always kEmbeddedLedger): no
/// ledger reads it and no money hangs on it, and a provider shows the same one to every gateway.
struct PrivacyStatement {
  static constexpr NounKind kKind = NounKind::kPrivacyStatement;

  crypto::Address provider;
  std::string privacy_class;         // is_privacy_class()
  std::uint64_t valid_until_ms = 0;  // since 1970; it does not hold at this time any more
  crypto::Address auditor;
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("provider", self.provider);
    archive.field("privacy_class", self.privacy_class);
    archive.field("valid_until_ms", self.valid_until_ms);
    archive.field("auditor", self.auditor);
    archive.field("signature", self.signature);
  }
  /// Error: kInvalidArgument (the name of the class).
  core::Result<void> validity() const;
  bool operator==(const PrivacyStatement&) const = default;
};

/// 1 to limits::kPrivacyClassBytesMax lower-case letters, digits and `-`.
bool is_privacy_class(std::string_view name);
/// Error: kInvalidArgument, saying that.
core::Result<void> check_privacy_class(std::string_view name);

/// Fills in auditor and signature. Precondition: the rest is valid.
PrivacyStatement sign_statement(const crypto::SecretKey& key, PrivacyStatement statement);
/// That the auditor named in it signed it; whether that one is believed, and whether it holds
/// still, is for the caller to know. Errors: kUnauthenticated, kInvalidArgument.
core::Result<void> verify_statement(const PrivacyStatement& statement);

}  // namespace commensal::protocol
