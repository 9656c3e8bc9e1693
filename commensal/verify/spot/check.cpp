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

double chance_to_find(double fraction, std::uint64_t checked, std::uint64_t elements) {
  if (checked >= elements) return 1;
  return -std::expm1(static_cast<double>(checked) * std::log1p(-fraction));
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

std::uint64_t SpotReport::total() const {
  return std::accumulate(checked.begin(), checked.end(), std::uint64_t{0});
}

namespace {

/// Places among the elements of all tensors, told apart by tensor.
std::vector<std::vector<std::int64_t>> places_in(std::span<const tensor::Tensor> tensors,
                                                 const SpotDraw& draw, std::int64_t elements) {
  std::vector<std::vector<std::int64_t>> places(tensors.size());
  std::size_t at = 0;
  std::int64_t before = 0;
  for (const std::int64_t place : draw_places(draw.seed, elements, draw.count)) {
    while (place - before >= tensors[at].elements()) before += tensors[at++].elements();
    places[at].push_back(place - before);
  }
  return places;
}

std::optional<SpotDifference> first_difference(std::span<const tensor::Tensor> claimed,
                                               std::span<const Asked> asked,
                                               std::span<const ConeValues> computed) {
  for (std::size_t o = 0; o < claimed.size(); ++o) {
    const tensor::TensorType& type = computed[o].type;
    if (type != claimed[o].type()) return SpotDifference{o, -1, 0, 0, type};
    for (std::size_t i = 0; i < asked[o].indices.size(); ++i) {
      const std::int64_t element = asked[o].indices[i];
      const std::uint64_t bits = tensor::element_bits(claimed[o], element);
      const std::uint64_t right = computed[o].values[i].bits;
      if (bits != right) return SpotDifference{o, element, bits, right, type};
    }
  }
  return std::nullopt;
}

}  // namespace

core::Result<SpotReport> spot_check(const graph::Graph& graph,
                                    std::span<const tensor::Tensor> inputs,
                                    std::span<const tensor::Tensor> claimed, const SpotDraw& draw,
                                    const ConeOptions& options) {
  if (claimed.size() != graph.outputs.size()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{} outputs, expected {}", claimed.size(),
                      graph.outputs.size());
  }
  std::int64_t elements = 0;
  for (const tensor::Tensor& one : claimed) elements += one.elements();
  const auto places = places_in(claimed, draw, elements);
  std::vector<Asked> asked;
  for (std::size_t o = 0; o < claimed.size(); ++o) {
    asked.push_back({o, places[o], claimed[o].type()});
  }
  COMMENSAL_ASSIGN(const Cones computed, cone_values(graph, inputs, asked, options));
  SpotReport report;
  report.elements = static_cast<std::uint64_t>(elements);
  report.work = computed.work;
  report.first = first_difference(claimed, asked, computed.outputs);
  for (const ConeValues& values : computed.outputs) report.checked.push_back(values.values.size());
  return report;
}

}  // namespace commensal::spot
