// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::gateway {

/// What became of an answer.
enum class AuditState : std::uint8_t {
  kNotDrawn,    // delivered, no audit was drawn
  kDrawn,       // an audit is due or runs
  kMatched,     // re-executed, same bits
  kMismatched,  // re-executed, other bits: the provider cheated or its hardware erred
  kUnanswered,  // the provider did not open it
  kReplaced,    // not audited, but its provider was caught: see replaced_by
};
std::string_view name_of(AuditState state);

/// All that the gateway keeps of one answer.
struct ReceiptRecord {
  std::uint64_t number = 0;  // 1, 2, ... in the order of delivery
  protocol::Receipt receipt;
  std::string account;
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  core::Digest model_content;
  std::int64_t delivered_ms = 0;
  AuditState audit = AuditState::kNotDrawn;
  std::optional<protocol::Verdict> verdict;
  std::optional<core::Digest> replaced_by;  // receipt id of the re-execution
  core::Bytes opening;                      // verify::Opening, encoded

  core::Digest id() const;
};

/// Receipts, durable and bounded: beyond `records_max` the oldest that need no audit go.
/// Thread-safety: one thread, the store's.
class ReceiptBook {
 public:
  explicit ReceiptBook(core::Store& store) : store_(store) {}

  /// Reads the highest number; call once before the rest.
  core::Result<void> open();
  /// Gives the records their numbers and writes all in one batch.
  core::Result<void> append(std::vector<ReceiptRecord>& records);
  core::Result<void> update(const ReceiptRecord& record);
  /// By receipt id. Error: kNotFound.
  core::Result<ReceiptRecord> find(const core::Digest& id);
  /// Newest first, at most `count`; of one account, or of all where it is empty.
  core::Result<std::vector<ReceiptRecord>> list(const std::string& account, std::size_t count);
  /// All records for which `wanted` holds, oldest first.
  core::Result<std::vector<ReceiptRecord>> select(
      const std::function<bool(const ReceiptRecord&)>& wanted);

 private:
  core::Store& store_;
  std::uint64_t last_number_ = 0;
};

}  // namespace commensal::gateway
