// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <string>

namespace commensal::protocol {

/// What a file seems to be that was given in place of another, for people: "a receipt", "an
/// endorsement"; "" for what does not begin as any noun does. A pure function.
std::string noun_in(core::ByteView bytes);

}  // namespace commensal::protocol
