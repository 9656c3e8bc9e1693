// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/dispute_ends.hpp>

namespace commensal::gateway {
namespace {

constexpr std::string_view kDisputeEnds = "dispute-ends";  // subject | accuser -> Place

core::Bytes bytes_of(const ledger::CaseKey& key) {
  core::Bytes bytes(key.subject.begin(), key.subject.end());
  bytes.insert(bytes.end(), key.accuser.bytes.begin(), key.accuser.bytes.end());
  return bytes;
}

}  // namespace

core::Result<void> DisputeEnds::keep(const ledger::CaseKey& key, const cases::Place& place) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(place));
  return store_.apply({{std::string(kDisputeEnds), bytes_of(key), std::move(row)}});
}

core::Result<std::optional<cases::Place>> DisputeEnds::find(const ledger::CaseKey& key) {
  COMMENSAL_ASSIGN(const auto row, store_.get(kDisputeEnds, bytes_of(key)));
  if (!row) return std::nullopt;
  return protocol::decode_stored<cases::Place>(*row);
}

}  // namespace commensal::gateway
