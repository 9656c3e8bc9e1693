// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/signer.hpp>
#include <unordered_map>

namespace commensal::protocol {

/// The round of receipts that take part in no draw; rounds of a beacon count from 1.
inline constexpr std::uint64_t kNoDraw = 0;

/// What both parties sign about one step: that it led to this commitment, and which round of the
/// beacon draws whether it is paid (ticket.hpp); neither knew that round's value when it signed.
struct ReceiptBody {
  static constexpr NounKind kKind = NounKind::kReceiptBody;

  Digest job_id{};
  std::uint64_t step = 0;         // 1 to Job::steps
  Digest commitment{};            // commit_step
  std::uint64_t round = kNoDraw;  // of the beacon

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job_id", self.job_id);
    archive.field("step", self.step);
    archive.field("commitment", self.commitment);
    archive.field("round", self.round);
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
/// requests, never along a rollout: the next step needs the signatures of the one before.
std::vector<BatchSignature> sign_batch(const crypto::SecretKey& key, Role role,
                                       std::span<const ReceiptBody> bodies,
                                       std::uint64_t chain_id = kEmbeddedLedger);

/// Batch signatures that have been verified, so that the receipts of one batch cost one recovery
/// together. Bounded: limits::kSignaturesKnownMax, then it starts anew. Thread-safety: one thread.
class KnownSignatures {
 public:
  bool contains(const BatchSignature& signature, Role role, const Digest& root,
                const crypto::Address& signer, std::uint64_t chain_id) const;
  /// Precondition: it has been verified.
  void add(const BatchSignature& signature, Role role, const Digest& root,
           const crypto::Address& signer, std::uint64_t chain_id);

 private:
  struct Key {
    Role role;
    Digest root;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Known {
    crypto::Signature signature;
    std::uint64_t count;
    crypto::Address signer;
    std::uint64_t chain_id;
    bool operator==(const Known&) const = default;
  };
  std::unordered_map<Key, Known, KeyHash> known_;
};

/// That `signer` signed `body` in this role. Error: kUnauthenticated, or kInvalidArgument for a
/// malformed signature or path; the message begins with the role. What is in `known` is not
/// recovered again, and what was verified is added to it.
core::Result<void> verify_batch_signature(const BatchSignature& signature, const ReceiptBody& body,
                                          Role role, const crypto::Address& signer,
                                          std::uint64_t chain_id = kEmbeddedLedger,
                                          KnownSignatures* known = nullptr);

/// What anyone needs to check who answered for what; with an opening (verify) also whether the
/// answer is right.
struct Receipt {
  static constexpr NounKind kKind = NounKind::kReceipt;

  Job job;
  std::uint64_t step = 0;
  Digest commitment{};
  std::uint64_t round = kNoDraw;
  BatchSignature provider;
  BatchSignature client;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("commitment", self.commitment);
    archive.field("round", self.round);
    archive.field("provider", self.provider);
    archive.field("client", self.client);
  }
  ReceiptBody body() const { return {job_id(job), step, commitment, round}; }
  bool operator==(const Receipt&) const = default;
};

/// Both signatures, over the body that follows from the job itself, by the job's own parties.
/// Errors: as verify_batch_signature and Job::validity; "receipt: " stands before them.
core::Result<void> verify_receipt(const Receipt& receipt, std::uint64_t chain_id = kEmbeddedLedger,
                                  KnownSignatures* known = nullptr);
/// The same where the caller has `body` already. Precondition: body == receipt.body().
core::Result<void> verify_receipt(const Receipt& receipt, const ReceiptBody& body,
                                  std::uint64_t chain_id, KnownSignatures* known);

}  // namespace commensal::protocol
