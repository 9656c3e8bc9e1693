// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <concepts>
#include <type_traits>

/// For tests: any value of anything that has `fields`, sizes around each bound and beyond included.
namespace commensal::protocol::testing {

/// An archive that fills what it is shown. What has its own encoding instead of fields stays.
class RandomPart {
 public:
  explicit RandomPart(std::uint64_t seed) : rng_(seed) {}

  template <class T>
  void field(std::string_view, T& value) {
    fill(value);
  }
  template <class T>
  void tail(std::string_view, std::optional<T>& value) {
    fill(value);
  }

 private:
  static constexpr int kTries = 100;  // for what would be refused for other reasons than its size

  template <class T>
  static bool is_valid(const T& value) {
    if constexpr (requires { value.validity(); }) return value.validity().has_value();
    return true;
  }
  std::uint64_t below(std::uint64_t bound) { return rng_.next_u64() % bound; }
  /// Few, seldom as many as are accepted or one more.
  std::size_t size(std::size_t most) {
    const std::uint64_t dice = below(64);
    return dice == 0 ? most + 1 : dice == 1 ? most : static_cast<std::size_t>(below(4));
  }

  template <class T>
  void fill(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = below(2) == 1;
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(below(3) == 0 ? rng_.next_u64() : below(4));
    } else if constexpr (NamedEnum<T>) {
      value = static_cast<T>(below(enum_names(value).size()));
    } else if constexpr (requires { T::fields(*this, value); }) {
      for (int tries = 0; tries < kTries; ++tries) {
        T::fields(*this, value);
        if (is_valid(value)) return;
      }
    }
  }
  void fill(Digest& value) { rng_.fill(value); }
  void fill(crypto::Address& value) { rng_.fill(value.bytes); }
  void fill(crypto::Signature& value) { rng_.fill(value.bytes); }
  void fill(std::string& value) {
    value.assign(size(limits::kTextBytesMax), static_cast<char>(' ' + below(95)));
    if (below(64) == 0) value += '\xff';
  }
  void fill(Bytes& value) { value.assign(size(limits::kNounBytesMax), 7); }
  template <class T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (below(2) == 0) fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& items) {
    items.resize(size(limits::kListItemsMax));
    const bool few = items.size() < 4;
    for (std::size_t i = 0; i < (few ? items.size() : 0); ++i) fill(items[i]);
  }

  core::CounterRng rng_;
};

template <class Part>
Part random_part(std::uint64_t seed) {
  RandomPart archive(seed);
  Part part;
  Part::fields(archive, part);
  return part;
}

}  // namespace commensal::protocol::testing
