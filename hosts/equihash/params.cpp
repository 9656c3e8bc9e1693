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

}  // namespace hosts::equihash
