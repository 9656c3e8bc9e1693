// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/verify/noise/answers.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/number.hpp>

namespace commensal::noise {
namespace {

using tensor::Tensor;

/// The element of `samples` that each tensor is filled with.
struct Range {
  double smallest = 0, largest = 0, sum = 0;
  std::int64_t count = 0;
  core::Bytes smallest_bytes, largest_bytes;
};

Range range_of(const std::vector<Tensors>& samples, std::size_t place) {
  Range range;
  for (const Tensors& sample : samples) {
    const Tensor& tensor = sample[place];
    tensor::with_type(tensor.dtype(), [&]<class T>() {
      for (const T& element : tensor.data<T>()) {
        const double value = number(element);
        const auto* at = reinterpret_cast<const std::uint8_t*>(&element);
        if (range.count == 0 || value < range.smallest) {
          range.smallest = value;
          range.smallest_bytes.assign(at, at + sizeof(T));
        }
        if (range.count == 0 || value > range.largest) {
          range.largest = value;
          range.largest_bytes.assign(at, at + sizeof(T));
        }
        range.sum += value;
        ++range.count;
      }
    });
  }
  return range;
}

template <class ElementOf>
Tensors filled(const std::vector<Tensors>& samples, const ElementOf& element_of) {
  Tensors made;
  for (std::size_t place = 0; place < samples.front().size(); ++place) {
    const tensor::TensorType& type = samples.front()[place].type();
    const core::Bytes element = element_of(place, type.dtype);
    core::Bytes bytes;
    bytes.reserve(static_cast<std::size_t>(type.bytes()));
    while (std::ssize(bytes) < type.bytes()) {
      bytes.insert(bytes.end(), element.begin(), element.end());
    }
    made.push_back(Tensor::copy_of(type, bytes));
  }
  return made;
}

core::Bytes zero(tensor::DType dtype) {
  return core::Bytes(static_cast<std::size_t>(tensor::traits(dtype).size), 0);
}

/// Sums of disturbed formats are narrowed like any other number.
core::Bytes narrowed(double value, tensor::DType dtype) {
  const auto bytes_of = [](const auto& element) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(&element);
    return core::Bytes(at, at + sizeof(element));
  };
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case tensor::DType::kFloat64:
      return bytes_of(value);
    case tensor::DType::kFloat16:
      return bytes_of(tensor::to_float16(single));
    case tensor::DType::kBfloat16:
      return bytes_of(tensor::to_bfloat16(single));
    default:
      return bytes_of(single);
  }
}

}  // namespace

double share_of_bits_changed(const Tensors& a, const Tensors& b) {
  std::uint64_t changed = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const core::ByteView one = a[i].bytes(), other = b[i].bytes();
    if (one.size() != other.size()) return 1;
    for (std::size_t j = 0; j < one.size(); ++j) {
      changed +=
          static_cast<std::uint64_t>(std::popcount(static_cast<std::uint8_t>(one[j] ^ other[j])));
    }
    all += 8 * one.size();
  }
  return all == 0 ? 0 : static_cast<double>(changed) / static_cast<double>(all);
}

core::Digest hash_of(const Tensors& tensors) {
  crypto::Sha256 hash;
  for (const Tensor& tensor : tensors) {
    hash.update(core::as_bytes(tensor.type().text())).update(tensor.bytes());
  }
  return hash.finish();
}

std::vector<std::int64_t> largest_places(const Tensor& tensor) {
  const tensor::Shape& shape = tensor.shape();
  const std::int64_t width = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  std::vector<std::int64_t> places;
  if (tensor.elements() == 0) return places;
  tensor::with_type(tensor.dtype(), [&]<class T>() {
    const auto all = tensor.data<T>();
    for (std::size_t row = 0; row < all.size(); row += static_cast<std::size_t>(width)) {
      const auto elements = all.subspan(row, static_cast<std::size_t>(width));
      const auto less = [](const T& a, const T& b) {
        const double x = number(a), y = number(b);
        return x < y || (x == x && y != y);
      };
      places.push_back(std::ranges::max_element(elements, less) - elements.begin());
    }
  });
  return places;
}

Tensors filled_with_zero(const std::vector<Tensors>& samples) {
  return filled(samples, [](std::size_t, tensor::DType dtype) { return zero(dtype); });
}

Tensors filled_with_mean(const std::vector<Tensors>& samples) {
  return filled(samples, [&](std::size_t place, tensor::DType dtype) {
    const Range range = range_of(samples, place);
    if (range.count == 0) return zero(dtype);
    return is_disturbable(dtype) ? narrowed(range.sum / static_cast<double>(range.count), dtype)
                                 : range.smallest_bytes;
  });
}

Tensors filled_with_largest(const std::vector<Tensors>& samples) {
  return filled(samples, [&](std::size_t place, tensor::DType dtype) {
    const Range range = range_of(samples, place);
    return range.count == 0 ? zero(dtype) : range.largest_bytes;
  });
}

}  // namespace commensal::noise
