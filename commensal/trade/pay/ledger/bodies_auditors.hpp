// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/bodies_disputes.hpp>

/// What can be asked of a ledger about who audits. What each does is in docs/money.md.
namespace commensal::ledger {

/// The sender may be drawn as an auditor, or not any more. What counts is the stake that it has now
/// and keeps: who wants more of it to count is on the list from then on only.
struct Enlist {
  static constexpr std::string_view kName = "Enlist";
  std::uint8_t listed = 1;  // 0 or 1

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("listed", self.listed);
  }
  bool operator==(const Enlist&) const = default;
};

/// The consumer's part of a draw, which the receipt's job commits to. By anyone: it is its own
/// proof.
struct Disclose {
  static constexpr std::string_view kName = "Disclose";
  Digest receipt{};  // protocol::receipt_id of one that is accused
  Digest nonce{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("nonce", self.nonce);
  }
  bool operator==(const Disclose&) const = default;
};

/// Draws who reports in a case that nothing else decides. By anyone.
struct Summon : OnCase {
  static constexpr std::string_view kName = "Summon";
  bool operator==(const Summon&) const = default;
};

}  // namespace commensal::ledger
