// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>

namespace commensal::crypto {

/// Keccak-256 with the original padding, as Ethereum uses it; not SHA3-256 of FIPS 202.
core::Digest keccak256(core::ByteView bytes);

}  // namespace commensal::crypto
