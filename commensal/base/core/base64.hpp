// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace commensal::core {

/// RFC 4648's first alphabet, with padding. Pure, as the one below: any thread.
std::string to_base64(std::string_view bytes);

/// The only text that to_base64() makes this of; none where that is another, or not there (no
/// padding, other characters, bits behind the last byte).
std::optional<std::string> from_base64(std::string_view text);

}  // namespace commensal::core
