// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/spot/check.hpp>
#include <commensal/verify/spot/sheet.hpp>
#include <numeric>
#include <set>

namespace commensal::spot {
namespace {

/// Numbers that follow from a seed: the first eight bytes, big-endian, of
/// H(tag, seed | i as u64) for i = 0, 1, ... Modulo n they are uniform but for n / 2^64.
class Dice {
 public:
  explicit Dice(const core::Digest& seed) : seed_(seed) {}

  /// In [0, bound). Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    std::array<std::uint8_t, 8> counter{};
    for (std::size_t b = 0; b < 8; ++b) {
      counter[7 - b] = static_cast<std::uint8_t>(drawn_ >> 8 * b);
    }
    ++drawn_;
    const core::Digest hash = crypto::tagged_hash("commensal/spot/v1", seed_, counter);
    std::uint64_t made = 0;
    for (std::size_t b = 0; b < 8; ++b) made = made << 8 | hash[b];
    return made % bound;
  }

 private:
  core::Digest seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

core::Result<std::uint64_t> samples_for(const SpotPolicy& policy) {
  const double f = policy.fraction, e = policy.escape;
  if (!(f > 0 && f <= 1 && e > 0 && e < 1)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a fraction of {} and an escape of {}, expected (0, 1] and (0, 1)", f, e);
  }
  if (f == 1) return 1;
  const double count = std::ceil(std::log(e) / std::log1p(-f));
  return count < 0x1p62 ? static_cast<std::uint64_t>(count) : std::uint64_t{1} << 62;
}

std::vector<std::int64_t> draw_places(const core::Digest& seed, std::int64_t elements,
                                      std::uint64_t count) {
  std::vector<std::int64_t> all;
  if (count >= static_cast<std::uint64_t>(elements)) {
    all.resize(static_cast<std::size_t>(elements));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  // Floyd's: each subset of this size is as likely as any other.
  Dice dice(seed);
  std::set<std::int64_t> drawn;
  for (auto last = elements - static_cast<std::int64_t>(count); last < elements; ++last) {
    const auto place = static_cast<std::int64_t>(dice.below(static_cast<std::uint64_t>(last) + 1));
    if (!drawn.insert(place).second) drawn.insert(last);
  }
  all.assign(drawn.begin(), drawn.end());
  return all;
}

core::Result<SpotReport> spot_check(const graph::Graph& graph,
                                    std::span<const tensor::Tensor> inputs, std::size_t output,
                                    const tensor::Tensor& claimed, const core::Digest& seed,
                                    const SpotPolicy& policy, const ConeOptions& options) {
  COMMENSAL_ASSIGN(const std::uint64_t count, samples_for(policy));
  const auto places = draw_places(seed, claimed.elements(), count);
  SpotReport report;
  auto computed = cone_values(graph, inputs, output, places, options);
  if (!computed) {
    // Of a claim with more elements than there are, places may lie behind the last.
    COMMENSAL_ASSIGN(computed, cone_values(graph, inputs, output, {}, options));
    if (computed->type == claimed.type()) return tl::unexpected(computed.error());
  }
  report.work = computed->work;
  if (!(computed->type == claimed.type())) {
    report.first = SpotDifference{-1, 0, 0};
    return report;
  }
  report.checked = places.size();
  for (std::size_t i = 0; i < places.size() && !report.first; ++i) {
    const std::uint64_t bits = tensor::element_bits(claimed, places[i]);
    if (bits != computed->values[i].bits) {
      report.first = SpotDifference{places[i], bits, computed->values[i].bits};
    }
  }
  return report;
}

}  // namespace commensal::spot
