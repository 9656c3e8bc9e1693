// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
    line_of(provider).receipts.push_back(receipt);
  }
  /// Before the provider's others.
  void push_front(const crypto::Address& provider, const core::Digest& receipt) {
    line_of(provider).receipts.push_front(receipt);
  }
  void spend(const crypto::Address& provider, std::int64_t ms) { line_of(provider).spent_ms += ms; }
  /// Nothing where nothing waits; then what was spent is forgotten.
  std::optional<core::Digest> pop() {
    Line* next = nullptr;
    for (auto& [provider, line] : lines_) {
      const bool waits = !line.receipts.empty();
      if (waits && (next == nullptr || line.spent_ms < next->spent_ms)) next = &line;
    }
    if (next == nullptr) {
      lines_.clear();
      now_ms_ = 0;
      return std::nullopt;
    }
    now_ms_ = std::max(now_ms_, next->spent_ms);
    const core::Digest receipt = next->receipts.front();
    next->receipts.pop_front();
    return receipt;
  }

 private:
  struct Line {
    std::deque<core::Digest> receipts;
    std::int64_t spent_ms = 0;
  };
  /// Who comes new, or again, has had as much as whoever was next last: no key is worth a turn.
  Line& line_of(const crypto::Address& provider) {
    Line& line = lines_[provider];
    if (line.receipts.empty()) line.spent_ms = std::max(line.spent_ms, now_ms_);
    return line;
  }

  std::map<crypto::Address, Line> lines_;
  std::int64_t now_ms_ = 0;  // what whoever was next last had been spent on
};

}  // namespace commensal::gateway
