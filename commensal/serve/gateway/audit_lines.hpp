// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/crypto/address.hpp>
#include <deque>
#include <map>
#include <optional>

namespace commensal::gateway {

/// Audits that wait to be done here, by the provider that they are of: next is whoever least time
/// has been spent on since nothing waited, so that one whose replays take long delays its own most.
/// A value.
class AuditLines {
 public:
  void push_back(const crypto::Address& provider, const core::Digest& receipt) {
    lines_[provider].receipts.push_back(receipt);
  }
  /// Before the provider's others.
  void push_front(const crypto::Address& provider, const core::Digest& receipt) {
    lines_[provider].receipts.push_front(receipt);
  }
  void spend(const crypto::Address& provider, std::int64_t ms) { lines_[provider].spent_ms += ms; }
  /// Nothing where nothing waits; then what was spent is forgotten.
  std::optional<core::Digest> pop() {
    Line* next = nullptr;
    for (auto& [provider, line] : lines_) {
      const bool waits = !line.receipts.empty();
      if (waits && (next == nullptr || line.spent_ms < next->spent_ms)) next = &line;
    }
    if (next == nullptr) {
      lines_.clear();
      return std::nullopt;
    }
    const core::Digest receipt = next->receipts.front();
    next->receipts.pop_front();
    return receipt;
  }

 private:
  struct Line {
    std::deque<core::Digest> receipts;
    std::int64_t spent_ms = 0;
  };
  std::map<crypto::Address, Line> lines_;
};

}  // namespace commensal::gateway
