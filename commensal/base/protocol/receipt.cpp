// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/receipt.hpp>

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

core::Result<void> verify_signer(const BatchSignature& signature, const Digest& root, Role role,
                                 const crypto::Address& signer, std::uint64_t chain_id) {
  const auto recover_as = [&](Role signed_role) {
    return crypto::recover(batch_digest(signed_role, root, signature.count, chain_id),
                           signature.signature);
  };
  COMMENSAL_ASSIGN(const crypto::Address found, recover_as(role));
  if (found == signer) return {};
  const Role other = role == Role::kProvider ? Role::kClient : Role::kProvider;
  if (recover_as(other) == signer) {
    return core::fail(ErrorCode::kUnauthenticated, "wrong role: it was signed as {}",
                      name_of(other));
  }
  return core::fail(ErrorCode::kUnauthenticated, "recovers to {}, expected {}",
                    crypto::to_text(found), crypto::to_text(signer));
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

core::Result<void> verify_batch_signature(const BatchSignature& signature, const ReceiptBody& body,
                                          Role role, const crypto::Address& signer,
                                          std::uint64_t chain_id) {
  const std::string place = fmt::format("{} signature", name_of(role));
  const auto root = crypto::merkle_root_of_proof(crypto::leaf_hash(encode(body)), signature.index,
                                                 signature.count, signature.path);
  if (!root) return core::in_context(place, root.error());
  const auto verified = verify_signer(signature, *root, role, signer, chain_id);
  if (!verified) return core::in_context(place, verified.error());
  return {};
}

core::Result<void> verify_receipt(const Receipt& receipt, std::uint64_t chain_id) {
  const auto in_receipt = [](const core::Result<void>& result) -> core::Result<void> {
    if (!result) return core::in_context("receipt", result.error());
    return {};
  };
  COMMENSAL_TRY(in_receipt(receipt.job.validity()));
  if (receipt.step == 0 || receipt.step > receipt.job.steps) {
    return core::fail(ErrorCode::kInvalidArgument, "receipt: step {}, expected 1 to {}",
                      receipt.step, receipt.job.steps);
  }
  const ReceiptBody body = receipt.body();
  COMMENSAL_TRY(in_receipt(verify_batch_signature(receipt.provider, body, Role::kProvider,
                                                  receipt.job.provider, chain_id)));
  return in_receipt(
      verify_batch_signature(receipt.client, body, Role::kClient, receipt.job.client, chain_id));
}

}  // namespace commensal::protocol
