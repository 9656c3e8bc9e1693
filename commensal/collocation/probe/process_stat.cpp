// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/collocation/probe/process_stat.hpp>

namespace commensal::probe {

using core::ErrorCode;
using core::fail;

core::Result<ProcessStat> parse_process_stat(std::string_view text) {
  // The name is in parentheses and may hold any character: the last one ends it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      close + 3 > text.size()) {
    return fail(ErrorCode::kDataLoss, "the process's stat has no name in parentheses");
  }
  ProcessStat made{std::string(text.substr(open + 1, close - open - 1)), text[close + 2], 0, 0};
  std::string_view rest = text.substr(close + 2);
  constexpr int kUser = 14, kSystem = 15, kStart = 22;  // counted from 1; the state is 3
  for (int field = 3; field <= kStart; ++field) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (field == kUser || field == kSystem || field == kStart) {
      std::uint64_t value = 0;
      const auto read = std::from_chars(rest.data(), rest.data() + end, value);
      if (read.ec != std::errc() || read.ptr != rest.data() + end)
        return fail(ErrorCode::kDataLoss, "field {} of the process's stat is no number", field);
      (field == kStart ? made.start_ticks : made.cpu_ticks) += value;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return made;
}

}  // namespace commensal::probe
