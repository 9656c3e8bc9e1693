// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/common/confirm.hpp>
#include <array>

namespace commensal::apps {

bool says_yes(std::string_view answer) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!answer.empty() && is_blank(answer.back())) answer.remove_suffix(1);
  while (!answer.empty() && is_blank(answer.front())) answer.remove_prefix(1);
  std::string small(answer);
  std::transform(small.begin(), small.end(), small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small == "y" || small == "yes";
}

bool is_confirmed(const std::string& question, std::FILE* in, std::FILE* out) {
  if (::isatty(::fileno(in)) != 1 || ::isatty(::fileno(out)) != 1) return true;
  fmt::print(out, "{} [y/N] ", question);
  std::fflush(out);
  std::array<char, 64> line{};
  return std::fgets(line.data(), static_cast<int>(line.size()), in) != nullptr &&
         says_yes(line.data());
}

}  // namespace commensal::apps
