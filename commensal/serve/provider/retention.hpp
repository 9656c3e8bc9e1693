// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <optional>
#include <vector>

namespace commensal::provider {

/// What the provider must be able to show: for each commitment its opening, and the client's
/// signature once it is there. At its limit the provider stops accepting work (room_for); it never
/// drops what it may still have to open.
/// Thread-safety: one thread, the store's.
class Retention {
 public:
  struct Record {
    core::Digest receipt;
    core::Bytes opening;  // verify::Opening, encoded
  };

  Retention(core::Store& store, std::int64_t bytes_max) : store_(store), bytes_max_(bytes_max) {}

  /// Adds up what is there; call once before the rest. Error: kDataLoss.
  core::Result<void> open();
  bool room_for(std::int64_t bytes) const { return bytes_ + bytes <= bytes_max_; }
  /// Durable when it returns; all or nothing.
  core::Result<void> keep(const std::vector<Record>& records);
  /// The countersigned receipts: the provider's claims. Durable when it returns.
  core::Result<void> countersigned(const std::vector<protocol::Receipt>& receipts);
  core::Result<std::optional<core::Bytes>> find(const core::Digest& receipt);

 private:
  core::Store& store_;
  std::int64_t bytes_max_;
  std::int64_t bytes_ = 0;
};

}  // namespace commensal::provider
