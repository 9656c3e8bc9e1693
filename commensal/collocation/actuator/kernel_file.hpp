// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string_view>

namespace commensal::actuator {

/// Writes to a file that the kernel makes (proc, cgroup): in one write, and it must be there.
/// Errors: kUnavailable, with the path and what the system says.
core::Result<void> write_kernel_file(const core::Path& path, std::string_view text);

}  // namespace commensal::actuator
