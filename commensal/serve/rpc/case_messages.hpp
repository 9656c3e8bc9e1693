// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/address.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <cstdint>
#include <string>
#include <vector>

/// What a gateway says to a provider that is accused: messages of the stream (messages.hpp).
namespace commensal::rpc {

/// The provider is accused in the gateway's ledger; what it needs to answer, also where it has let
/// go of all that. CaseMoves follow: at once, and after each change of the case.
struct Accused {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kAccused;

  core::Bytes dispute;   // ledger::Dispute, encoded
  core::Digest model{};  // SHA-256 of the model file, which it may fetch
  core::Bytes task;      // receipt::StepTask, encoded without its tensors, which are
  tensor::NamedTensors inputs;
  tensor::NamedTensors outputs_before;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("dispute", self.dispute);
    archive.field("model", self.model);
    archive.field("task", self.task);
    archive.field("inputs", self.inputs);
    archive.field("outputs_before", self.outputs_before);
  }
};
/// How that stands, and what both sides have said from move number `from` on.
struct CaseMoves {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kCaseMoves;

  struct Item {
    bool by_accuser = false;
    core::Bytes move;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("by_accuser", self.by_accuser);
      archive.field("move", self.move);
    }
  };
  core::Digest subject{};  // ledger::CaseKey
  crypto::Address accuser;
  std::string status;  // in the words of ledger::CaseStatus
  std::uint32_t from = 0;
  std::vector<Item> items;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("subject", self.subject);
    archive.field("accuser", self.accuser);
    archive.field("status", self.status);
    archive.field("from", self.from);
    archive.field("items", self.items);
  }
};

}  // namespace commensal::rpc
