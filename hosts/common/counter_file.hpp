// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace hosts::common {

/// Replaces the file, so that a reader sees one count or the next. False: it cannot be written.
bool replace_count(const std::string& path, std::uint64_t count);

}  // namespace hosts::common
