// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <functional>
#include <string_view>

namespace commensal::receipt {

/// What a re-execution by hand found.
struct Recheck {
  core::Digest receipt;
  core::Digest expected;    // c_i, as both parties signed it
  core::Digest recomputed;  // c_i, from the outputs that were computed now
  bool matches() const { return expected == recomputed; }
};

/// Checks a receipt from nothing but itself, its opening and the model: both signatures, that the
/// opening opens what was signed, that the model is the job's, and that running it gives the same
/// bits. Trusts neither gateway nor provider.
/// `passed` is called with the name of each check as it passes.
/// Errors: by the name of the check that does not pass; a mismatch of bits is no error.
core::Result<Recheck> recheck(const protocol::Receipt& receipt, const Opening& opening,
                              const std::shared_ptr<const graph::Graph>& model,
                              const graph::SessionOptions& options,
                              const std::function<void(std::string_view)>& passed);

}  // namespace commensal::receipt
