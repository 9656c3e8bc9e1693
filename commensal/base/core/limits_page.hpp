// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of a page's folder (an operator's slip of the pen is not to fill the memory): see
/// limits.hpp.
namespace commensal::limits {

inline constexpr std::size_t kPageFilesMax = 256;
inline constexpr std::int64_t kPageBytesMax = 64 << 20;  // of all of them

}  // namespace commensal::limits
