// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <functional>
#include <optional>

/// The small files and folders in which a kernel tells of its devices. Stateless.
namespace commensal::device {

/// The number that the file begins with. None: no such file, no number.
std::optional<std::uint64_t> number_in(const core::Path& path);

/// The first `most` entries of a folder, in no order; none of one that is not there.
void for_entries(const core::Path& folder, std::size_t most,
                 const std::function<void(const core::Path&)>& visit);

}  // namespace commensal::device
