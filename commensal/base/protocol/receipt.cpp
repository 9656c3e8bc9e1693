// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <cstring>

namespace commensal::protocol {
namespace {

using core::ErrorCode;

Digest batch_digest(Role role, const Digest& root, std::uint64_t count, std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(
      domain, crypto::StructHash("ReceiptBatch(string role,bytes32 root,uint64 count)")
                  .text(name_of(role))
                  .word(root)
                  .uint(count)
                  .finish());
}

core::Result<void> verify_batch_signer(const BatchSignature& signature, const Digest& root,
                                       Role role, const crypto::Address& signer,
                                       std::uint64_t chain_id) {
  const auto verified = verify_signer(
      [&](std::uint64_t chain) { return batch_digest(role, root, signature.count, chain); },
      signature.signature, signer, chain_id);
  if (verified || verified.error().code != ErrorCode::kUnauthenticated) return verified;
  const Role other = role == Role::kProvider ? Role::kClient : Role::kProvider;
  if (crypto::recover(batch_digest(other, root, signature.count, chain_id), signature.signature) ==
      signer) {
    return core::fail(ErrorCode::kUnauthenticated, "wrong role: it was signed as {}",
                      name_of(other));
  }
  return verified;
}

}  // namespace

std::span<const std::string_view> enum_names(Role) {
  static constexpr std::string_view kNames[] = {"provider", "client"};
  return kNames;
}

Digest receipt_id(const ReceiptBody& body) {
  return crypto::tagged_hash("commensal/receipt/v1", encode(body));
}

std::vector<BatchSignature> sign_batch(const crypto::SecretKey& key, Role role,
                                       std::span<const ReceiptBody> bodies,
                                       std::uint64_t chain_id) {
  if (bodies.empty()) return {};
  std::vector<Digest> leaves;
  leaves.reserve(bodies.size());
  for (const ReceiptBody& body : bodies) leaves.push_back(crypto::leaf_hash(encode(body)));
  const crypto::MerkleTree tree(std::move(leaves));
  const crypto::Signature signature =
      crypto::sign(key, batch_digest(role, tree.root(), bodies.size(), chain_id));
  std::vector<BatchSignature> signatures;
  signatures.reserve(bodies.size());
  for (std::uint64_t i = 0; i < bodies.size(); ++i) {
    crypto::MerkleProof proof = tree.prove(i);
    signatures.push_back({signature, proof.index, proof.count, std::move(proof.path)});
  }
  return signatures;
}

std::size_t KnownSignatures::KeyHash::operator()(const Key& key) const {
  std::size_t hash = 0;
  std::memcpy(&hash, key.root.data(), sizeof hash);
  return hash ^ static_cast<std::size_t>(key.role);
}

bool KnownSignatures::contains(const BatchSignature& signature, Role role, const Digest& root,
                               const crypto::Address& signer, std::uint64_t chain_id) const {
  const auto found = known_.find({role, root});
  return found != known_.end() &&
         found->second == Known{signature.signature, signature.count, signer, chain_id};
}

void KnownSignatures::add(const BatchSignature& signature, Role role, const Digest& root,
                          const crypto::Address& signer, std::uint64_t chain_id) {
  if (known_.size() >= limits::kSignaturesKnownMax) known_.clear();
  known_.insert_or_assign({role, root},
                          Known{signature.signature, signature.count, signer, chain_id});
}

core::Result<void> verify_batch_signature(const BatchSignature& signature, const ReceiptBody& body,
                                          Role role, const crypto::Address& signer,
                                          std::uint64_t chain_id, KnownSignatures* known) {
  const auto place = [role] { return fmt::format("{} signature", name_of(role)); };
  const auto root = crypto::merkle_root_of_proof(crypto::leaf_hash(encode(body)), signature.index,
                                                 signature.count, signature.path);
  if (!root) return core::in_context(place(), root.error());
  if (known != nullptr && known->contains(signature, role, *root, signer, chain_id)) return {};
  const auto verified = verify_batch_signer(signature, *root, role, signer, chain_id);
  if (!verified) return core::in_context(place(), verified.error());
  if (known != nullptr) known->add(signature, role, *root, signer, chain_id);
  return {};
}

core::Result<void> verify_receipt(const Receipt& receipt, std::uint64_t chain_id,
                                  KnownSignatures* known) {
  return verify_receipt(receipt, receipt.body(), chain_id, known);
}

core::Result<void> verify_receipt(const Receipt& receipt, const ReceiptBody& body,
                                  std::uint64_t chain_id, KnownSignatures* known) {
  const auto in_receipt = [](const core::Result<void>& result) -> core::Result<void> {
    if (!result) return core::in_context("receipt", result.error());
    return {};
  };
  COMMENSAL_TRY(in_receipt(receipt.job.validity()));
  if (receipt.step == 0 || receipt.step > receipt.job.steps) {
    return core::fail(ErrorCode::kInvalidArgument, "receipt: step {}, expected 1 to {}",
                      receipt.step, receipt.job.steps);
  }
  COMMENSAL_TRY(in_receipt(verify_batch_signature(receipt.provider, body, Role::kProvider,
                                                  receipt.job.provider, chain_id, known)));
  return in_receipt(verify_batch_signature(receipt.client, body, Role::kClient, receipt.job.client,
                                           chain_id, known));
}

}  // namespace commensal::protocol
