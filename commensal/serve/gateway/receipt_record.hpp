// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/receipt_book.hpp>

namespace commensal::gateway {

/// A record as it lies in the store: all but its opening, whose size stands there instead.
core::Bytes encode(const ReceiptRecord& record, std::uint64_t opening_bytes);

struct StoredReceipt {
  ReceiptRecord record;
  std::uint64_t opening_bytes = 0;
};
/// Error: kDataLoss.
core::Result<StoredReceipt> decode_receipt_record(core::ByteView value);

}  // namespace commensal::gateway
