// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/ticket.hpp>

namespace commensal::protocol {
namespace {

using core::ErrorCode;
using core::fail;

Digest typed(const crypto::StructHash& message, std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(domain, message.finish());
}

Digest digest_of(const Endorsement& endorsement, std::uint64_t chain_id) {
  return typed(
      crypto::StructHash("Endorsement(bytes32 ticket,uint64 index,address from,address to)")
          .word(endorsement.ticket)
          .uint(endorsement.index)
          .address(endorsement.from)
          .address(endorsement.to),
      chain_id);
}

/// As a uint256.
Digest word_of(const Amount& amount) {
  Writer writer;
  writer.u64(0);
  writer.u64(0);
  write(writer, amount);
  Digest word;
  std::copy(writer.written().begin(), writer.written().end(), word.begin());
  return word;
}

Digest digest_of(const JointSettlement& settlement, std::uint64_t chain_id) {
  return typed(crypto::StructHash("JointSettlement(bytes32 ticket,address client,address holder,"
                                  "uint256 toHolder,uint256 toClient)")
                   .word(settlement.ticket)
                   .address(settlement.client)
                   .address(settlement.holder)
                   .word(word_of(settlement.to_holder))
                   .word(word_of(settlement.to_client)),
               chain_id);
}

core::Result<void> expect_link(const Endorsement& link, const Digest& ticket, std::uint64_t index,
                               const crypto::Address& holder, std::uint64_t chain_id) {
  if (link.ticket != ticket) {
    return fail(ErrorCode::kInvalidArgument, "it is about ticket {}, expected {}",
                core::to_hex(link.ticket), core::to_hex(ticket));
  }
  if (link.index != index) {
    return fail(ErrorCode::kInvalidArgument, "its index is {}, expected {}", link.index, index);
  }
  if (link.from != holder) {
    return fail(ErrorCode::kInvalidArgument, "it is from {}, expected the holder {}",
                crypto::to_text(link.from), crypto::to_text(holder));
  }
  return verify_endorsement(link, chain_id);
}

}  // namespace

Digest ticket_id(const Digest& job_id, std::uint64_t step) {
  Writer writer;
  writer.u64(step);
  return crypto::tagged_hash("commensal/ticket-id/v1", job_id, writer.written());
}

Endorsement sign_endorsement(const crypto::SecretKey& key, Endorsement endorsement,
                             std::uint64_t chain_id) {
  endorsement.from = key.address();
  endorsement.signature = crypto::sign(key, digest_of(endorsement, chain_id));
  return endorsement;
}

core::Result<void> verify_endorsement(const Endorsement& endorsement, std::uint64_t chain_id) {
  return verify_signer([&](std::uint64_t chain) { return digest_of(endorsement, chain); },
                       endorsement.signature, endorsement.from, chain_id);
}

core::Result<crypto::Address> last_holder(const Digest& ticket, const crypto::Address& first_holder,
                                          std::span<const Endorsement> chain,
                                          std::uint64_t chain_id) {
  if (chain.size() > limits::kEndorsementsMax) {
    return fail(ErrorCode::kResourceExhausted, "{} endorsements, at most {} are accepted",
                chain.size(), limits::kEndorsementsMax);
  }
  crypto::Address holder = first_holder;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto linked = expect_link(chain[i], ticket, i, holder, chain_id);
    if (!linked) return core::in_context(fmt::format("endorsement {}", i), linked.error());
    holder = chain[i].to;
  }
  return holder;
}

crypto::Signature sign_settlement(const crypto::SecretKey& key, const JointSettlement& settlement,
                                  std::uint64_t chain_id) {
  return crypto::sign(key, digest_of(settlement, chain_id));
}

core::Result<void> verify_settlement(const JointSettlement& settlement, std::uint64_t chain_id) {
  const auto digest_on = [&](std::uint64_t chain) { return digest_of(settlement, chain); };
  const auto client = verify_signer(digest_on, settlement.by_client, settlement.client, chain_id);
  if (!client) return core::in_context("joint settlement: client", client.error());
  const auto holder = verify_signer(digest_on, settlement.by_holder, settlement.holder, chain_id);
  if (!holder) return core::in_context("joint settlement: holder", holder.error());
  return {};
}

}  // namespace commensal::protocol
