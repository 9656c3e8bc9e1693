// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The descriptors that a worker's process begins with.
namespace commensal::worker {

inline constexpr int kSocketFile = 3;
inline constexpr int kPagesFile = 4;  // SharedPages
inline constexpr int kPaceFile = 5;   // where the parent's pacer shows its level, if it has one

}  // namespace commensal::worker
