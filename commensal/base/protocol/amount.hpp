// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/encoding.hpp>
#include <compare>

namespace commensal::protocol {

/// Money in the smallest unit of its currency: an integer from 0 to 2^128 - 1, never a fraction.
/// Sixteen bytes, big-endian, in the canonical encoding. Errors of arithmetic: kInvalidArgument;
/// nothing wraps around.
class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(std::uint64_t units) : units_(units) {}
  static constexpr Amount from_words(std::uint64_t high, std::uint64_t low) {
    Amount amount(high);
    amount.units_ = amount.units_ << 64 | low;
    return amount;
  }
  constexpr std::uint64_t high() const { return static_cast<std::uint64_t>(units_ >> 64); }
  constexpr std::uint64_t low() const { return static_cast<std::uint64_t>(units_); }

  core::Result<Amount> plus(const Amount& other) const;
  core::Result<Amount> minus(const Amount& other) const;
  core::Result<Amount> times(const Amount& factor) const;

  auto operator<=>(const Amount&) const = default;

 private:
  friend std::string to_text(const Amount& amount);
  __extension__ using Units = unsigned __int128;
  Units units_ = 0;
};

/// Decimal digits, no sign, no leading zeros.
std::string to_text(const Amount& amount);
/// Reads just what to_text writes. Error: kInvalidArgument.
core::Result<Amount> amount_from_text(std::string_view text);

void write(Writer& writer, const Amount& amount);
void read(Reader& reader, Amount& amount);

}  // namespace commensal::protocol
