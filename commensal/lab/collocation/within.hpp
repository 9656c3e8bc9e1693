// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/collocation/slice.hpp>
#include <optional>

namespace commensal::lab {

/// What a guest that rests now and then left the host of a slice: one less the share of its time
/// with the guest times what the host lost in it, each stretch with the guest against the means of
/// up to kBesideS without it just before and just after. None: a guest without a rest.
std::optional<double> kept_within(const Slice& slice);

inline constexpr double kBesideS = 5;

}  // namespace commensal::lab
