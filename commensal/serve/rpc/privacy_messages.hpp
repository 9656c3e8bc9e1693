// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/privacy.hpp>
#include <string_view>
#include <vector>

/// What a provider shows of where private data may go: messages of the stream (messages.hpp).
namespace commensal::rpc {

/// What auditors have signed of the provider, all of it each time, and nothing where there is none:
/// once it is welcome, to a gateway that knows_statements(). Not in Hello, which is said before
/// anybody knows whether the gateway would read it.
struct Statements {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kStatements;

  std::vector<protocol::PrivacyStatement> items;  // limits::kPrivacyStatementsMax

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("items", self.items);
  }
  core::Result<void> validity() const;
};

/// Whether who is of this version says, or reads, Statements: from 0.1.3 on.
bool knows_statements(std::string_view version);

}  // namespace commensal::rpc
