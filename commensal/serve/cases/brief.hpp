// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/cases/party.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <optional>

namespace commensal::cases {

/// All that an accused needs to say what it owes, from who has the ledger and what was computed.
struct Brief {
  static constexpr std::string_view kRecord = "brief";

  ledger::CaseKey key;
  ledger::Dispute dispute;
  ledger::CaseStatus status = ledger::CaseStatus::kAccused;
  std::vector<ledger::Arbiter::Said> moves;
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  core::Digest content{};                 // SHA-256 of the file
  std::optional<receipt::StepTask> task;  // none: who has accused has it

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("key", self.key);
    archive.field("dispute", self.dispute);
    archive.field("status", self.status);
    archive.field("moves", self.moves);
    archive.field("model", self.model);
    archive.field("version", self.version);
    archive.field("content", self.content);
    archive.field("task", self.task);
  }
  Case at() const { return {key, dispute, status, moves}; }
};

/// Which of its cases somebody asks about.
struct Wanted {
  std::optional<std::string> account = {};   // only about this account's receipts
  bool or_public = false;                    // ... and what any auditor may see
  std::optional<core::Digest> subject = {};  // only this one
};

}  // namespace commensal::cases
