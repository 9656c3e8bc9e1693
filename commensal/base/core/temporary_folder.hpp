// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string_view>

namespace commensal::core {

/// A new, empty folder among the system's temporary ones, for its owner only; `name` is how it
/// begins. Who asks for it removes it. Error: kDataLoss.
Result<Path> make_temporary_folder(std::string_view name);

}  // namespace commensal::core
