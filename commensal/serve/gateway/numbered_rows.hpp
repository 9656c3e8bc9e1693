// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace commensal::gateway {

/// Rows by number, made for new ones that have the greatest number, or the least while old ones are
/// read, and that go in that order: a row takes eight bytes more than it has. Those in the middle
/// that go leave gaps, no more than there are rows. A row stays where it is until one is erased, or
/// one is added between others, which takes long. Numbers are less than 2^63. Thread-safety: none.
template <class Row>
class NumberedRows {
 public:
  std::size_t size() const { return slots_.size() - gaps_; }
  bool empty() const { return size() == 0; }

  /// Precondition: the number is not there.
  Row& add(std::uint64_t number, Row row) {
    if (slots_.empty() || slots_.back().number() < number)
      return slots_.emplace_back(Slot{number << 1, std::move(row)}).row;
    const auto at = slots_.begin() + static_cast<std::ptrdiff_t>(slot_from(number));
    if (at->number() != number) return slots_.insert(at, Slot{number << 1, std::move(row)})->row;
    core::check(at->is_gap(), "a number is added once");
    --gaps_;
    *at = Slot{number << 1, std::move(row)};
    return at->row;
  }
  /// Null where it is not there.
  Row* find(std::uint64_t number) {
    const std::size_t at = slot_from(number);
    return is_at(at, number) ? &slots_[at].row : nullptr;
  }
  const Row* find(std::uint64_t number) const {
    const std::size_t at = slot_from(number);
    return is_at(at, number) ? &slots_[at].row : nullptr;
  }
  bool contains(std::uint64_t number) const { return find(number) != nullptr; }
  /// The least number that is not less than this, where there is one.
  std::optional<std::uint64_t> next(std::uint64_t number) const {
    std::size_t at = slot_from(number);
    while (at < slots_.size() && slots_[at].is_gap()) ++at;
    return at < slots_.size() ? std::optional(slots_[at].number()) : std::nullopt;
  }
  /// All from the least on, until `visit` says false.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const Slot& one : slots_) {
      if (!one.is_gap() && !visit(one.number(), one.row)) return;
    }
  }
  void erase(std::uint64_t number) {
    const std::size_t at = slot_from(number);
    if (!is_at(at, number)) return;
    slots_[at].key |= 1;
    ++gaps_;
    for (; !slots_.empty() && slots_.front().is_gap(); --gaps_) slots_.pop_front();
    for (; !slots_.empty() && slots_.back().is_gap(); --gaps_) slots_.pop_back();
    if (gaps_ <= size()) return;
    std::erase_if(slots_, [](const Slot& one) { return one.is_gap(); });
    gaps_ = 0;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;  // its number, and behind that whether it has gone
    [[no_unique_address]] Row row;
    std::uint64_t number() const { return key >> 1; }
    bool is_gap() const { return (key & 1) != 0; }
  };
  std::size_t slot_from(std::uint64_t number) const {
    const auto found = std::ranges::lower_bound(slots_, number, {}, &Slot::number);
    return static_cast<std::size_t>(found - slots_.begin());
  }
  bool is_at(std::size_t at, std::uint64_t number) const {
    return at < slots_.size() && slots_[at].number() == number && !slots_[at].is_gap();
  }

  std::deque<Slot> slots_;  // by number
  std::size_t gaps_ = 0;
};

}  // namespace commensal::gateway
