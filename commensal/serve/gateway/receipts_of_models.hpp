// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <map>
#include <vector>

namespace commensal::gateway {

/// How many receipts are kept of each model's file: there are many of those and few of these, so
/// that a receipt has a number only. Thread-safety: none.
class ReceiptsOfModels {
 public:
  /// One more, delivered then. Its model's number, for the rest.
  std::uint32_t add(const core::Digest& content, std::int64_t delivered_ms) {
    const auto [known, is_new] = numbers_.try_emplace(content, 0);
    if (is_new) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(models_.size()));
        models_.emplace_back();
      }
      known->second = free_.back();
      free_.pop_back();
      models_[known->second] = {.content = content};
    }
    Model& model = models_[known->second];
    ++model.receipts;
    model.newest_ms = std::max(model.newest_ms, delivered_ms);
    return known->second;
  }
  /// One is no longer kept; it is not held then.
  void take(std::uint32_t number) {
    Model& model = models_[number];
    if (--model.receipts > 0) return;
    numbers_.erase(model.content);
    free_.push_back(number);
  }
  /// One cannot go, or can again: for each thing that is still to be decided about it.
  void hold(std::uint32_t number, bool is_held) {
    is_held ? ++models_[number].held : --models_[number].held;
  }
  /// Whether one is held, or was delivered at that time or later.
  bool is_needed(const core::Digest& content, std::int64_t since_ms) const {
    const auto known = numbers_.find(content);
    if (known == numbers_.end()) return false;
    const Model& model = models_[known->second];
    return model.held > 0 || model.newest_ms >= since_ms;
  }

 private:
  struct Model {
    core::Digest content{};
    std::size_t receipts = 0, held = 0;
    std::int64_t newest_ms = 0;
  };
  std::vector<Model> models_;
  std::vector<std::uint32_t> free_;
  std::map<core::Digest, std::uint32_t> numbers_;  // by content
};

}  // namespace commensal::gateway
