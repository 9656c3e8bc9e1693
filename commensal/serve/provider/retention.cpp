// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/provider/retention.hpp>

namespace commensal::provider {
namespace {

constexpr std::string_view kOpenings = "openings";
constexpr std::string_view kClaims = "claims";

core::Bytes key_of(const core::Digest& receipt) { return {receipt.begin(), receipt.end()}; }

}  // namespace

core::Result<void> Retention::open() {
  bytes_ = 0;
  return store_.scan(kOpenings, {}, [this](core::ByteView, core::ByteView value) {
    bytes_ += static_cast<std::int64_t>(value.size());
    return true;
  });
}

core::Result<void> Retention::keep(const std::vector<Record>& records) {
  core::Store::Batch batch;
  std::int64_t bytes = 0;
  for (const Record& record : records) {
    bytes += static_cast<std::int64_t>(record.opening.size());
    batch.push_back({std::string(kOpenings), key_of(record.receipt), record.opening});
  }
  COMMENSAL_TRY(store_.apply(batch));
  bytes_ += bytes;
  return {};
}

core::Result<void> Retention::countersigned(const std::vector<protocol::Receipt>& receipts) {
  core::Store::Batch batch;
  for (const protocol::Receipt& receipt : receipts) {
    batch.push_back({std::string(kClaims), key_of(protocol::receipt_id(receipt.body())),
                     protocol::encode(receipt)});
  }
  return store_.apply(batch);
}

core::Result<std::optional<core::Bytes>> Retention::find(const core::Digest& receipt) {
  return store_.get(kOpenings, receipt);
}

}  // namespace commensal::provider
