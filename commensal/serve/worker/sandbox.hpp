// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <string>

namespace commensal::worker {

/// Of a worker; one that has more is ended.
inline constexpr std::int64_t kThreadsMax = 1024;

/// Takes from this process what a computation does not need, for good: it ends with its parent,
/// leaves no core, gets at most `data_bytes_max` of memory of its own, and addresses for it and for
/// files; sees an empty folder, no network and nobody's messages (namespaces, where the system
/// grants them), and ends at the first system call that is not on the list: it computes in its
/// memory, on its threads, with the descriptors that it has. To be called before there is a second
/// thread. Returns in one line what the system did not grant and is done without, or "". Error:
/// kUnavailable for what is not done without, the list above all.
core::Result<std::string> confine(std::int64_t data_bytes_max);

}  // namespace commensal::worker
