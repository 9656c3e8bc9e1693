// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>

#include <algorithm>
#include <apps/common/summary.hpp>
#include <array>
#include <cmath>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <numeric>

namespace commensal::apps {
namespace {

template <class T>
auto number(T value) {
  if constexpr (!std::is_arithmetic_v<T>) {
    return tensor::to_float(value);
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<int>(value);  // fmt prints chars and bools as such
  } else {
    return value;
  }
}

// Quoted; what a terminal should not get is escaped.
std::string printable(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

std::string hash_of(const tensor::Tensor& tensor) {
  if (tensor.dtype() != tensor::DType::kString) {
    return core::to_hex(crypto::sha256(tensor.bytes()));
  }
  crypto::Sha256 hash;
  for (const std::string_view text : tensor.strings()) {
    std::array<std::uint8_t, 8> size{};
    for (std::size_t i = 0; i < size.size(); ++i) {
      size[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
    }
    hash.update(size);
    hash.update(core::as_bytes(text));
  }
  return core::to_hex(hash.finish());
}

std::string utc_text(std::int64_t ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

std::vector<std::string> first_values(const tensor::Tensor& tensor, std::size_t count) {
  if (tensor.dtype() == tensor::DType::kString) {
    std::vector<std::string> values;
    for (const std::string_view text :
         tensor.strings().first(std::min(count, static_cast<std::size_t>(tensor.elements())))) {
      values.push_back(printable(text));
    }
    return values;
  }
  return tensor::with_type(tensor.dtype(), [&]<class T>() {
    const auto data = tensor.data<T>();
    std::vector<std::string> values;
    for (const T value : data.first(std::min(count, data.size()))) {
      values.push_back(fmt::format("{}", number(value)));
    }
    return values;
  });
}

std::vector<Ranked> top_values(const tensor::Tensor& tensor, std::int64_t row, std::int64_t extent,
                               std::size_t count) {
  return tensor::with_type(tensor.dtype(), [&]<class T>() {
    const auto data = tensor.data<T>().subspan(static_cast<std::size_t>(row * extent),
                                               static_cast<std::size_t>(extent));
    std::vector<std::size_t> order(data.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rank = [&](std::size_t i) {
      const auto value = static_cast<double>(number(data[i]));
      return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
    };
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(), [&](std::size_t a, std::size_t b) {
                        return rank(a) != rank(b) ? rank(a) > rank(b) : a < b;
                      });
    double sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) sum += std::exp(rank(i) - rank(order[0]));
    std::vector<Ranked> top;
    for (std::size_t i = 0; i < count; ++i) {
      top.push_back({static_cast<std::int64_t>(order[i]), fmt::format("{}", number(data[order[i]])),
                     std::exp(rank(order[i]) - rank(order[0])) / sum});
    }
    return top;
  });
}

}  // namespace commensal::apps
