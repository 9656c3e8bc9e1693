// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <commensal/base/core/limits_outlook.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace commensal::graph {

/// What is shown of something inside a node's graph: its name behind where it is. A long one lacks
/// its middle, as names of graphs in graphs, each of thousands of bytes, would fill the memory.
inline std::string inner_name(std::string_view around, std::string_view name) {
  constexpr std::string_view kGap = "...";
  constexpr std::size_t kSideBytes = (limits::kInnerNameBytesMax - kGap.size()) / 2;
  const std::string whole = fmt::format("{}{}", around, name);
  if (whole.size() <= limits::kInnerNameBytesMax) return whole;
  const auto splits = [&](std::size_t at) { return (whole[at] & 0xC0) == 0x80; };  // a UTF-8 letter
  std::size_t head = kSideBytes, tail = whole.size() - kSideBytes;
  while (head > 0 && splits(head)) --head;
  while (tail < whole.size() && splits(tail)) ++tail;
  return fmt::format("{}{}{}", whole.substr(0, head), kGap, whole.substr(tail));
}

}  // namespace commensal::graph
