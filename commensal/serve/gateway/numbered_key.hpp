// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>

namespace commensal::gateway {

/// Keys that sort from the newest number to the oldest.
core::Bytes newest_first_key(std::uint64_t number);
std::uint64_t number_of_key(core::ByteView key);

}  // namespace commensal::gateway
