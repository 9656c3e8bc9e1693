// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/protocol/record.hpp>
#include <optional>
#include <string>
#include <string_view>

/// What a provider says of the host beside it, where its owner lets it: a message of the stream
/// (messages.hpp), to a gateway that knows_host().
namespace commensal::rpc {

/// A host, by the word of the provider that governs its machine.
struct HostSeen {
  std::string unit;                            // of its work; one line
  double rate = 0;                             // of work a second, last seen; 0: there is no signal
  double reference = 0;                        // ... without guests; 0: it is not known yet
  std::optional<double> income_per_hour = {};  // without guests, in the ledger's unit

  bool operator==(const HostSeen&) const = default;
  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("unit", self.unit);
    archive.field("rate", self.rate);
    archive.field("reference", self.reference);
    archive.field("income_per_hour", self.income_per_hour);
  }
  core::Result<void> validity() const;
};

/// Provider to gateway: how the host does now, after every change but at most every
/// limits::kHostWordMs; nothing once this provider does not look at one any longer.
struct HostNow {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kHostNow;

  std::optional<HostSeen> host = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("host", self.host);
  }
};

/// Whether who is of this version reads HostNow: from 0.1.5 on.
bool knows_host(std::string_view version);

}  // namespace commensal::rpc
