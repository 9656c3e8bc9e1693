// SPDX-License-Identifier: Apache-2.0
// What goes where a book of receipts has more than it may keep.
#include <algorithm>
#include <commensal/serve/gateway/receipt_book.hpp>

namespace commensal::gateway {

/// Chooses what goes before something is added.
class ReceiptBook::Trim {
 public:
  Trim(const ReceiptBook& book, const std::map<std::uint64_t, Added>& added)
      : book_(book),
        records_(book.kept_.size() + added.size()),
        steps_(book.rollout_steps_.size()),
        bytes_(book.opening_bytes_),
        most_(kRemovedMin + kRemovedPerRecord * added.size()) {
    for (const auto& [number, one] : added) {
      bytes_ += one.kept.opening_bytes;
      steps_ += one.kept.is_kept ? 1 : 0;
      now_ms_ = std::max(now_ms_, one.kept.delivered_ms);
    }
  }
  void drop_old() {
    book_.kept_.each([this](std::uint64_t number, const Kept& kept) {
      if (is_done() || kept.delivered_ms >= now_ms_ - book_.limits_.age_ms_max) return false;
      drop(number, kept);
      return true;
    });
  }
  void drop_steps() {
    for (const auto& [number, rollout] : book_.rollout_steps_) {
      if (fits() || is_done() || steps_ <= book_.limits_.records_max / 2) return;
      drop(number, *book_.kept_.find(number));
    }
  }
  void drop_of_largest() {
    if (fits()) return;
    std::vector<Share> shares;
    for (const auto& [account, owned] : book_.owned_) {
      shares.push_back(
          {owned.numbers.size(), owned.opening_bytes, owned.numbers.next(0), &owned.numbers});
    }
    const auto is_less = [this](const Share& a, const Share& b) {
      const bool by_count = records_ > book_.limits_.records_max;
      const std::uint64_t left = by_count ? a.records : a.bytes;
      const std::uint64_t right = by_count ? b.records : b.bytes;
      return left != right ? left < right : *a.next > *b.next;
    };
    while (!shares.empty() && !fits() && !is_done()) {
      const auto largest = std::ranges::max_element(shares, is_less);
      const std::uint64_t number = *largest->next;
      largest->next = largest->numbers->next(number + 1);
      const Kept& kept = *book_.kept_.find(number);
      if (numbers_.contains(number) || drop(number, kept)) {
        --largest->records;
        largest->bytes -= kept.opening_bytes;
      }
      if (!largest->next) shares.erase(largest);
    }
  }
  std::set<std::uint64_t> take() && { return std::move(numbers_); }

 private:
  // With lower limits than before there may be very many: no write takes them all.
  static constexpr std::size_t kRemovedMin = 256;
  static constexpr std::size_t kRemovedPerRecord = 4;

  struct Share {
    std::size_t records;
    std::uint64_t bytes;
    std::optional<std::uint64_t> next;
    const NumberedRows<Nothing>* numbers;
  };

  bool fits() const {
    return records_ <= book_.limits_.records_max && bytes_ <= book_.limits_.opening_bytes_max;
  }
  bool is_done() const { return numbers_.size() >= most_; }
  bool drop(std::uint64_t number, const Kept& kept) {
    if (kept.is_held() || !numbers_.insert(number).second) return false;
    --records_;
    bytes_ -= kept.opening_bytes;
    steps_ -= kept.is_kept ? 1 : 0;
    return true;
  }

  const ReceiptBook& book_;
  std::size_t records_, steps_;
  std::uint64_t bytes_;
  const std::size_t most_;
  std::int64_t now_ms_ = 0;
  std::set<std::uint64_t> numbers_;
};

std::set<std::uint64_t> ReceiptBook::surplus(const std::map<std::uint64_t, Added>& added) const {
  Trim trim(*this, added);
  trim.drop_old();
  trim.drop_steps();
  trim.drop_of_largest();
  return std::move(trim).take();
}

}  // namespace commensal::gateway
