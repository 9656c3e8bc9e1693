// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <optional>
#include <span>
#include <string>

namespace commensal::gateway {

/// What became of an answer.
enum class AuditState : std::uint8_t {
  kNotDrawn,    // delivered, no audit was drawn
  kDrawn,       // an audit is due or runs
  kMatched,     // re-executed, same bits
  kMismatched,  // re-executed, other bits: the provider cheated or its hardware erred
  kReplaced,    // not audited, but its provider was caught: see replaced_by
  kFailed,      // drawn, but it could not be re-executed: nobody is accused
};
/// "not drawn", "drawn", ...: for people and, by number, for the store.
std::span<const std::string_view> enum_names(AuditState);
std::string_view name_of(AuditState state);

/// All that the gateway keeps of one answer.
struct ReceiptRecord {
  static constexpr std::string_view kRecord = "receipt record";
  static constexpr std::uint8_t kVersion = 3;  // with report

  std::uint64_t number = 0;  // 1, 2, ... in the order of delivery
  protocol::Receipt receipt;
  std::string account;
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  core::Digest model_content;
  std::int64_t delivered_ms = 0;
  AuditState audit = AuditState::kNotDrawn;
  std::optional<protocol::Verdict> verdict;
  std::optional<core::Digest> replaced_by;      // receipt id of the re-execution
  std::optional<protocol::AuditReport> report;  // of an auditor elsewhere
  /// receipt::Opening, encoded, for append(); the book has it later. Empty where the job's own rows
  /// (rollout::JobRows) hold it, or a file does.
  core::Bytes opening;
  std::uint64_t opening_bytes = 0;  // of the one that is kept
  bool is_in_file = false;          // OpeningFolder has it
  bool is_wanted = true;            // an order stood behind it when it came: else none replaces it
  bool charged = true;              // to the account, on delivery; not kept
  std::optional<std::string> privacy_class = {};  // of its inputs, also if it is computed again

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("number", self.number);
    archive.field("receipt", self.receipt);
    archive.field("account", self.account);
    archive.field("model", self.model);
    archive.field("version", self.version);
    archive.field("model_content", self.model_content);
    archive.field("delivered_ms", self.delivered_ms);
    archive.field("audit", self.audit);
    archive.field("verdict", self.verdict);
    archive.field("replaced_by", self.replaced_by);
    archive.field("report", self.report);
    archive.field("opening_bytes", self.opening_bytes);
    archive.field("is_in_file", self.is_in_file);
    archive.field("is_wanted", self.is_wanted);
    archive.tail("privacy_class", self.privacy_class);
  }
  bool awaits_audit() const { return audit == AuditState::kDrawn; }
  core::Digest id() const;
};

}  // namespace commensal::gateway
