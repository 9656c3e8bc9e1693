// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <hosts/common/counter_file.hpp>

namespace hosts::common {

bool replace_count(const std::string& path, std::uint64_t count) {
  const std::string next = path + ".next";
  std::FILE* const file = std::fopen(next.c_str(), "w");
  if (file == nullptr) return false;
  const bool is_written = std::fprintf(file, "%llu\n", static_cast<unsigned long long>(count)) > 0;
  const bool is_closed = std::fclose(file) == 0;
  return is_written && is_closed && std::rename(next.c_str(), path.c_str()) == 0;
}

}  // namespace hosts::common
