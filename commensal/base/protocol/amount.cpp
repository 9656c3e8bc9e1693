// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/amount.hpp>

namespace commensal::protocol {
namespace {

tl::unexpected<core::Error> overflow(const Amount& a, char sign, const Amount& b,
                                     std::string_view how) {
  return core::fail(core::ErrorCode::kInvalidArgument, "amount: {} {} {} {}", to_text(a), sign,
                    to_text(b), how);
}

constexpr std::string_view kTooLarge = "exceeds 2^128 - 1";

}  // namespace

core::Result<Amount> Amount::plus(const Amount& other) const {
  Amount sum;
  if (__builtin_add_overflow(units_, other.units_, &sum.units_)) {
    return overflow(*this, '+', other, kTooLarge);
  }
  return sum;
}

core::Result<Amount> Amount::minus(const Amount& other) const {
  Amount difference;
  if (__builtin_sub_overflow(units_, other.units_, &difference.units_)) {
    return overflow(*this, '-', other, "is below zero");
  }
  return difference;
}

core::Result<Amount> Amount::times(const Amount& factor) const {
  Amount product;
  if (__builtin_mul_overflow(units_, factor.units_, &product.units_)) {
    return overflow(*this, '*', factor, kTooLarge);
  }
  return product;
}

std::string to_text(const Amount& amount) {
  std::string digits;
  auto rest = amount.units_;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

core::Result<Amount> amount_from_text(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), digit) ||
      (text.size() > 1 && text[0] == '0')) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "amount: expected decimal digits without leading zeros, found '{}'",
                      text.substr(0, 64));
  }
  Amount amount;
  for (char c : text) {
    auto next = amount.times(Amount(10));
    if (next) next = next->plus(Amount(static_cast<std::uint64_t>(c - '0')));
    if (!next) {
      return core::fail(core::ErrorCode::kInvalidArgument, "amount: '{}' {}", text.substr(0, 64),
                        kTooLarge);
    }
    amount = *next;
  }
  return amount;
}

void write(Writer& writer, const Amount& amount) {
  writer.u64(amount.high());
  writer.u64(amount.low());
}

void read(Reader& reader, Amount& amount) {
  const std::uint64_t high = reader.u64();
  amount = Amount::from_words(high, reader.u64());
}

}  // namespace commensal::protocol
