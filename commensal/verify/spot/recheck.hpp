// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/receipt/shown.hpp>
#include <commensal/verify/spot/check.hpp>

namespace commensal::spot {

/// What a receipt's elements showed.
struct SpotRecheck {
  SpotReport report;
  std::string wrong;  // one line: why the answer is; "": nothing that was looked at is wrong
  bool matches() const { return wrong.empty(); }
};

/// receipt::recheck() of some elements alone, each computed by its cone: both signatures, that the
/// opening opens what was signed, that the model is the job's, that what was committed to has the
/// types, and where it was drawn the bits, that the model gives. Trusts neither gateway nor
/// provider; `draw.seed` is the checker's own, drawn after the receipt was signed.
/// A node outside of the cones may refuse its inputs unseen.
/// Errors: by the name of the check that does not pass, those of cone_values but kInvalidArgument;
/// kUnsupported where noise goes onto a value inside the graph. Wrong elements are no error.
core::Result<SpotRecheck> recheck(const protocol::Receipt& receipt, const receipt::Opening& opening,
                                  const graph::Graph& model, const SpotDraw& draw,
                                  const ConeOptions& options, const receipt::Passed& passed);

/// 0x and as many hexadecimal digits as an element of this type has.
std::string hex_of(tensor::DType dtype, std::uint64_t bits);

}  // namespace commensal::spot
