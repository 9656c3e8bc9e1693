// SPDX-License-Identifier: Apache-2.0
#include <hosts/equihash/params.hpp>

namespace hosts::equihash {

tl::expected<Params, std::string> make_params(unsigned n, unsigned k) {
  if (n == 0 || n > 512 || n % 8 != 0)
    return tl::unexpected<std::string>("n must be a multiple of 8, from 8 to 512");
  if (k < 2 || k > 15 || n % (k + 1) != 0)
    return tl::unexpected<std::string>("k must be from 2 to 15, and n a multiple of k + 1");
  const Params params{n, k};
  if (params.digit_bits() < kDigitBitsMin || params.digit_bits() > kDigitBitsMax)
    return tl::unexpected<std::string>("n / (k + 1) must be from 4 to 20 bits");
  if (params.solution_indices() * params.index_bits() % 8 != 0)
    return tl::unexpected<std::string>("a solution must fill whole bytes");
  return params;
}

std::vector<std::uint8_t> to_minimal(const Params& params, const Indices& indices) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(params.solution_bytes());
  std::uint64_t held = 0;
  unsigned bits = 0;
  for (const std::uint32_t index : indices) {
    held = held << params.index_bits() | index;
    for (bits += params.index_bits(); bits >= 8; bits -= 8)
      bytes.push_back(static_cast<std::uint8_t>(held >> (bits - 8)));
  }
  return bytes;
}

tl::expected<Indices, std::string> from_minimal(const Params& params,
                                                const std::vector<std::uint8_t>& bytes) {
  if (bytes.size() != params.solution_bytes())
    return tl::unexpected("expected " + std::to_string(params.solution_bytes()) +
                          " bytes of solution, got " + std::to_string(bytes.size()));
  Indices indices;
  indices.reserve(params.solution_indices());
  std::uint64_t held = 0;
  unsigned bits = 0;
  for (const std::uint8_t byte : bytes) {
    held = held << 8 | byte;
    for (bits += 8; bits >= params.index_bits(); bits -= params.index_bits()) {
      const std::uint64_t index = held >> (bits - params.index_bits());
      indices.push_back(static_cast<std::uint32_t>(index & (params.strings() - 1)));
    }
  }
  return indices;
}

}  // namespace hosts::equihash
