// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// How much is kept of what operators see of a gateway.
namespace commensal::limits {

// Versions of models with figures of their own, of whichever came first; some ninety lines each.
inline constexpr std::size_t kMeteredModelsMax = 128;
inline constexpr std::size_t kRequestIdBytesMax = 128;
// Requests that wait to be logged; beyond them some are left out, and counted.
inline constexpr std::size_t kLoggedRequestsMax = 4096;
// Spans that wait for their collector, likewise, some kilobyte each; and those of one message.
inline constexpr std::size_t kSpansMax = 8192;
inline constexpr std::size_t kSpansAtOnceMax = 512;

}  // namespace commensal::limits
