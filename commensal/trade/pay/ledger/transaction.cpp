// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <commensal/trade/pay/ledger/typed.hpp>
#include <utility>

namespace commensal::ledger {
namespace {

using core::ErrorCode;

constexpr std::size_t kKinds = std::variant_size_v<Body>;

/// A row for each kind: its name, and how its fields are read into a body.
struct BodyRow {
  std::string_view name;
  void (*read)(protocol::Reader& reader, Body& body);
};

template <std::size_t... kIndices>
constexpr std::array<BodyRow, kKinds> body_rows(std::index_sequence<kIndices...>) {
  return {{{std::variant_alternative_t<kIndices, Body>::kName,
            [](protocol::Reader& reader, Body& body) {
              using Kind = std::variant_alternative_t<kIndices, Body>;
              Kind::fields(reader, body.template emplace<Kind>());
            }}...}};
}
constexpr auto kBodies = body_rows(std::make_index_sequence<kKinds>());

TypedFields typed_fields(const Transaction& transaction) {
  TypedFields fields;
  fields.field("sender", transaction.sender);
  fields.field("nonce", transaction.nonce);
  std::visit([&](const auto& body) { std::decay_t<decltype(body)>::fields(fields, body); },
             transaction.body);
  return fields;
}

std::string type_text(const Transaction& transaction, const TypedFields& fields) {
  return fmt::format("{}({})", name_of(transaction.body), fields.members());
}

}  // namespace

std::string_view name_of(const Body& body) { return kBodies[body.index()].name; }

void write(protocol::Writer& writer, const Body& body) {
  writer.u8(static_cast<std::uint8_t>(body.index()));
  std::visit([&](const auto& kind) { std::decay_t<decltype(kind)>::fields(writer, kind); }, body);
}

void read(protocol::Reader& reader, Body& body) {
  const std::uint8_t index = reader.u8();
  if (index >= kBodies.size()) {
    reader.refuse(ErrorCode::kInvalidArgument,
                  fmt::format("kind {}, expected 0 ({}) to {} ({})", index, kBodies.front().name,
                              kBodies.size() - 1, kBodies.back().name));
    return;
  }
  kBodies[index].read(reader, body);
}

core::Result<void> Transaction::validity() const {
  if (signatures.empty() || signatures.size() > limits::kLedgerSignaturesMax) {
    return core::fail(ErrorCode::kInvalidArgument, "{} signatures, expected 1 to {}",
                      signatures.size(), limits::kLedgerSignaturesMax);
  }
  return {};
}

std::string typed_name(const Transaction& transaction) {
  return type_text(transaction, typed_fields(transaction));
}

Digest signing_digest(const Transaction& transaction) {
  const TypedFields fields = typed_fields(transaction);
  crypto::StructHash hash(type_text(transaction, fields));
  for (const Digest& word : fields.words()) hash.word(word);
  crypto::Eip712Domain domain;
  domain.chain_id = transaction.chain_id;
  domain.verifying_contract = transaction.ledger;
  return crypto::typed_digest(domain, hash.finish());
}

void sign(const crypto::SecretKey& key, Transaction& transaction) {
  transaction.signatures.push_back(crypto::sign(key, signing_digest(transaction)));
}

core::Result<Address> Signatures::signer(const Digest& digest,
                                         const crypto::Signature& signature) const {
  return crypto::recover(digest, signature);
}

Digest entry_hash(core::ByteView encoded) {
  return crypto::tagged_hash("commensal/ledger/entry/v1", encoded);
}

}  // namespace commensal::ledger
