// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <cstdint>

namespace commensal::protocol {

using core::Digest;

// A salted commitment binds its maker to a state without showing it: who sees only the commitment
// cannot test a guess, because the salt (32 random bytes, one for each step) is not shown. `root`
// is the state's Merkle root, shapes and dtypes included.

/// c_0 = H("commensal/input/v1", root | salt). No job id: it goes into the job.
Digest commit_input(const Digest& root, const Digest& salt);

/// c_i = H("commensal/step/v1", J | i as u64 | root | salt), i from 1 to n.
Digest commit_step(const Digest& job_id, std::uint64_t step, const Digest& root,
                   const Digest& salt);

/// Of a consumer to its part of a draw of auditors: H("commensal/auditors/nonce/v1", nonce).
Digest commit_nonce(const Digest& nonce);

}  // namespace commensal::protocol
