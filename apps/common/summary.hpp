// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// SHA-256 of the elements' little-endian bytes, row-major, in hexadecimal.
std::string hash_of(const tensor::Tensor& tensor);

/// Milliseconds since 1970 as "2026-01-31 23:59:59Z".
std::string utc_text(std::int64_t ms);

/// Up to `count` elements from the first on, as text.
std::vector<std::string> first_values(const tensor::Tensor& tensor, std::size_t count);

struct Ranked {
  std::int64_t index = 0;  // in its row
  std::string value;
  double share = 0;  // of its row, by softmax, computed in binary64
};
/// The `count` greatest elements, greatest first, of one row: the `extent` elements from
/// `row * extent` on, which the tensor has. It has numbers.
std::vector<Ranked> top_values(const tensor::Tensor& tensor, std::int64_t row, std::int64_t extent,
                               std::size_t count);

}  // namespace commensal::apps
