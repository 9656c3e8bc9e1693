// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace commensal::kernels {

/// Version of the numeric specification (docs/numerics.md) that every back end follows; part of
/// every job id. It changes whenever any output bit of any operator may change.
inline constexpr int kNumericsVersion = 1;

}  // namespace commensal::kernels
