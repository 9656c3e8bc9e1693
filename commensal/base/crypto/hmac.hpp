// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/sha256.hpp>

namespace commensal::crypto {

/// HMAC-SHA-256 (RFC 2104) of the text, by a key of any length. Pure. Any thread. What somebody
/// else has sent is compared with core::equal_in_constant_time().
Digest hmac_sha256(ByteView key, ByteView text);

}  // namespace commensal::crypto
