// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/job.hpp>

namespace commensal::protocol {

/// Chain id of signatures that count in a gateway's own ledger rather than on an EVM chain.
inline constexpr std::uint64_t kEmbeddedLedger = 0;

/// What both parties sign about one step: that it led to this commitment.
struct ReceiptBody {
  static constexpr NounKind kKind = NounKind::kReceiptBody;

  Digest job_id{};
  std::uint64_t step = 0;  // 1 to Job::steps
  Digest commitment{};     // commit_step

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job_id", self.job_id);
    archive.field("step", self.step);
    archive.field("commitment", self.commitment);
  }
  bool operator==(const ReceiptBody&) const = default;
};

/// H("commensal/receipt/v1", encoding).
Digest receipt_id(const ReceiptBody& body);

enum class Role : std::uint8_t { kProvider, kClient };
std::span<const std::string_view> enum_names(Role);

/// One signature over many receipts: the Merkle root over the leaf hashes of the encoded bodies is
/// signed (EIP-712: ReceiptBatch(string role,bytes32 root,uint64 count)), and each receipt carries
/// the path from its leaf. The role is signed so that a client's word never passes for a
/// provider's.
struct BatchSignature {
  static constexpr NounKind kKind = NounKind::kBatchSignature;

  crypto::Signature signature;
  std::uint64_t index = 0;
  std::uint64_t count = 0;
  std::vector<Digest> path;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("signature", self.signature);
    archive.field("index", self.index);
    archive.field("count", self.count);
    archive.field("path", self.path);
  }
  bool operator==(const BatchSignature&) const = default;
};

/// One for each body, in their order; none for none. Batches run across jobs and independent
/// requests, never along a chain: the next step needs the signatures of the one before.
std::vector<BatchSignature> sign_batch(const crypto::SecretKey& key, Role role,
                                       std::span<const ReceiptBody> bodies,
                                       std::uint64_t chain_id = kEmbeddedLedger);

/// That `signer` signed `body` in this role. Error: kUnauthenticated, or kInvalidArgument for a
/// malformed signature or path; the message begins with the role.
core::Result<void> verify_batch_signature(const BatchSignature& signature, const ReceiptBody& body,
                                          Role role, const crypto::Address& signer,
                                          std::uint64_t chain_id = kEmbeddedLedger);

/// What anyone needs to check who answered for what; with an opening (verify) also whether the
/// answer is right.
struct Receipt {
  static constexpr NounKind kKind = NounKind::kReceipt;

  Job job;
  std::uint64_t step = 0;
  Digest commitment{};
  BatchSignature provider;
  BatchSignature client;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("commitment", self.commitment);
    archive.field("provider", self.provider);
    archive.field("client", self.client);
  }
  ReceiptBody body() const { return {job_id(job), step, commitment}; }
  bool operator==(const Receipt&) const = default;
};

/// Both signatures, over the body that follows from the job itself, by the job's own parties.
/// Errors: as verify_batch_signature and Job::validity; "receipt: " stands before them.
core::Result<void> verify_receipt(const Receipt& receipt, std::uint64_t chain_id = kEmbeddedLedger);

}  // namespace commensal::protocol
