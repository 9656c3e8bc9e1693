// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <commensal/compute/kernels/ref/cast_text.hpp>
#include <commensal/compute/kernels/ref/value.hpp>

namespace commensal::kernels::ref {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+';
  return has_plus ? text.substr(1) : text;
}

bool is(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
}

template <class C>
std::optional<C> parsed(std::string_view text) {
  C value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
std::optional<bool> truth_of(std::string_view text) {
  if (is(text, "true") || text == "1") return true;
  if (is(text, "false") || text == "0") return false;
  return std::nullopt;
}

std::string shortest(auto value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value);
  core::check(error == std::errc(), "64 characters hold a number");
  return {buffer, end};
}

}  // namespace

std::optional<Scalar> number_of(std::string_view text, DType to) {
  text = trimmed(text);
  return visit(Everything{}, to, [&]<class T>() -> std::optional<Scalar> {
    if constexpr (std::is_same_v<T, bool>) {
      const auto truth = truth_of(text);
      return truth ? std::optional(scalar_of(*truth)) : std::nullopt;
    } else {
      const auto value = parsed<Compute<T>>(text);
      return value ? std::optional(scalar_of(store<T>(*value))) : std::nullopt;
    }
  });
}

std::string text_of(const Tensor& from, std::int64_t index) {
  return visit(Everything{}, from.dtype(), [&]<class T>() -> std::string {
    const auto value = load(from.data<T>()[static_cast<std::size_t>(index)]);
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "True" : "False";
    } else {
      if constexpr (std::is_floating_point_v<Compute<T>>) {
        if (value != value) return "NaN";
        if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
      }
      return shortest(value);
    }
  });
}

}  // namespace commensal::kernels::ref
