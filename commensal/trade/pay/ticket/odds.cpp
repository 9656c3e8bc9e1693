// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <limits>

namespace commensal::ticket {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;
__extension__ using Wide = unsigned __int128;

constexpr int kWords = 4;
using Words = std::array<std::uint64_t, kWords>;  // of a threshold, the lowest first

Words words_of(const Digest& threshold) {
  Words words{};
  for (std::size_t i = 0; i < threshold.size(); ++i) {
    std::uint64_t& word = words[kWords - 1 - i / 8];
    word = word << 8 | threshold[i];
  }
  return words;
}

Digest threshold_from(const Words& words) {
  Digest threshold;
  for (std::size_t i = 0; i < threshold.size(); ++i) {
    threshold[i] = static_cast<std::uint8_t>(words[kWords - 1 - i / 8] >> (56 - 8 * (i % 8)));
  }
  return threshold;
}

Wide wide(const Amount& amount) { return Wide{amount.high()} << 64 | amount.low(); }

}  // namespace

Digest certain_threshold() {
  Digest threshold;
  threshold.fill(0xff);
  return threshold;
}

core::Result<Digest> threshold_for(const Amount& price, const Amount& face) {
  if (face == Amount(0)) {
    return fail(ErrorCode::kInvalidArgument, "the face value is 0, expected 1 or more");
  }
  if (price >= face) return certain_threshold();
  // Long division, a bit at a time: `rest` stays below `divisor`.
  const Wide divisor = wide(face);
  Wide rest = wide(price);
  Words words{};
  for (int bit = 64 * kWords - 1; bit >= 0; --bit) {
    const bool carry = rest >> 127 != 0;
    rest <<= 1;
    if (!carry && rest < divisor) continue;
    rest -= divisor;
    words[static_cast<std::size_t>(bit / 64)] |= std::uint64_t{1} << (bit % 64);
  }
  return threshold_from(words);
}

core::Result<Digest> threshold_of(double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    return fail(ErrorCode::kInvalidArgument, "a probability of {}, expected 0 to 1", probability);
  }
  if (probability == 1) return certain_threshold();
  Words words{};
  for (int i = kWords - 1; i >= 0; --i) {
    probability = std::ldexp(probability, 64);
    const double whole = std::floor(probability);
    words[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(whole);
    probability -= whole;
  }
  return threshold_from(words);
}

double probability_of(const Digest& threshold) {
  const Words words = words_of(threshold);
  double probability = 0;
  for (const std::uint64_t word : words) {
    probability = std::ldexp(probability + static_cast<double>(word), -64);
  }
  return std::min(probability, 1.0);
}

Amount expected_value(const Amount& face, const Digest& threshold) {
  const Words words = words_of(threshold);
  const std::array<std::uint64_t, 2> factor = {face.low(), face.high()};
  std::array<std::uint64_t, kWords + 2> product{};
  for (std::size_t i = 0; i < factor.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < kWords; ++j) {
      const Wide sum = Wide{factor[i]} * words[j] + product[i + j] + carry;
      product[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    product[i + kWords] = carry;
  }
  const bool exact = std::all_of(product.begin(), product.begin() + kWords,
                                 [](std::uint64_t word) { return word == 0; });
  const Wide units = (Wide{product[kWords + 1]} << 64 | product[kWords]) + (exact ? 0 : 1);
  return Amount::from_words(static_cast<std::uint64_t>(units >> 64),
                            static_cast<std::uint64_t>(units));
}

double variance(const Amount& face, const Digest& threshold) {
  const double p = probability_of(threshold);
  return to_double(face) * to_double(face) * p * (1 - p);
}

double tickets_per_win(const Digest& threshold) {
  const double p = probability_of(threshold);
  return p > 0 ? 1 / p : std::numeric_limits<double>::infinity();
}

double to_double(const Amount& amount) {
  return std::ldexp(static_cast<double>(amount.high()), 64) + static_cast<double>(amount.low());
}

std::uint64_t winners_most(std::uint64_t tickets, double probability) {
  const double n = static_cast<double>(tickets), p = probability;
  return static_cast<std::uint64_t>(
      std::min(n, std::ceil(n * p + 6 * std::sqrt(n * p * (1 - p)) + 1)));
}

core::Result<Amount> winners_cover(std::uint64_t tickets, double probability, const Amount& face,
                                   const Amount& fee) {
  COMMENSAL_ASSIGN(const Amount each, face.plus(fee));
  return each.times(Amount(winners_most(tickets, probability)));
}

}  // namespace commensal::ticket
