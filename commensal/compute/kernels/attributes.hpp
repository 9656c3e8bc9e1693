// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/result.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace commensal::kernels {

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>, tensor::Tensor>;

/// The attributes of one node, by name, in the order of their names (so that an encoding of them
/// is canonical). Getters return the default where the attribute is absent; one of the wrong type
/// is an error naming it.
class Attributes {
 public:
  using Named = std::pair<std::string, Attribute>;

  void set(std::string name, Attribute value) {
    const auto at = std::ranges::lower_bound(values_, name, {}, &Named::first);
    if (at != values_.end() && at->first == name) {
      at->second = std::move(value);
    } else {
      values_.emplace(at, std::move(name), std::move(value));
    }
  }
  const std::vector<Named>& all() const { return values_; }
  /// Null where it is absent.
  const Attribute* find(std::string_view name) const {
    const auto found = std::ranges::find(values_, name, &Named::first);
    return found == values_.end() ? nullptr : &found->second;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }

  core::Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const {
    return get<std::int64_t>(name, fallback, "an integer");
  }
  core::Result<float> real(std::string_view name, float fallback) const {
    return get<float>(name, fallback, "a float");
  }
  core::Result<std::string> text(std::string_view name, std::string_view fallback) const {
    return get<std::string>(name, std::string(fallback), "a string");
  }
  core::Result<std::vector<std::int64_t>> integers(std::string_view name,
                                                   std::vector<std::int64_t> fallback = {}) const {
    return get<std::vector<std::int64_t>>(name, std::move(fallback), "a list of integers");
  }
  /// The same where it lies; nothing where it is absent.
  core::Result<std::span<const std::int64_t>> integers_view(std::string_view name) const {
    const Attribute* const found = find(name);
    if (found == nullptr) return std::span<const std::int64_t>();
    if (const auto* const list = std::get_if<std::vector<std::int64_t>>(found))
      return std::span(*list);
    return wrong_type(name, "a list of integers");
  }
  core::Result<std::vector<float>> reals(std::string_view name,
                                         std::vector<float> fallback = {}) const {
    return get<std::vector<float>>(name, std::move(fallback), "a list of floats");
  }
  core::Result<std::vector<std::string>> texts(std::string_view name,
                                               std::vector<std::string> fallback = {}) const {
    return get<std::vector<std::string>>(name, std::move(fallback), "a list of strings");
  }
  core::Result<tensor::Tensor> tensor(std::string_view name) const {
    return get<tensor::Tensor>(name, tensor::Tensor(), "a tensor");
  }

 private:
  template <class T>
  core::Result<T> get(std::string_view name, T fallback, std::string_view expected) const {
    const Attribute* const found = find(name);
    if (found == nullptr) return fallback;
    if (const T* value = std::get_if<T>(found)) return *value;
    return wrong_type(name, expected);
  }
  static tl::unexpected<core::Error> wrong_type(std::string_view name, std::string_view expected) {
    return core::fail(core::ErrorCode::kInvalidArgument, "attribute '{}' must be {}", name,
                      expected);
  }

  std::vector<Named> values_;  // in the order of their names; few, so that they are looked through
};

}  // namespace commensal::kernels
