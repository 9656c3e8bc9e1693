// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/merkle.hpp>

namespace commensal::crypto {

/// The hashes of the leaves of kMerkleLeafBytes that `bytes` consists of, the last one shorter if
/// need be: what leaf_hash gives, several at a time where the processor has wide registers.
/// Precondition: `hashes` has a place for each. Thread-safety: a pure function.
void leaf_hashes(ByteView bytes, std::span<Digest> hashes);

}  // namespace commensal::crypto
