// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string>

namespace commensal::probe {

/// All of a small file that others write, read in one go; also of /proc, where files have no size.
/// Waits for nobody: what is no regular file is refused.
/// Errors: kNotFound, kInvalidArgument (not a regular file), kResourceExhausted (longer).
core::Result<std::string> read_small_file(const core::Path& path, std::size_t bytes_max);

}  // namespace commensal::probe
