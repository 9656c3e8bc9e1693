// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::probe {

/// GET `target` of `endpoint`, one connection for one answer. Returns the body of an answer 200.
/// Nothing takes longer than `wait_ms` in all, nothing is longer than kProbeBodyBytesMax.
/// Errors: kUnavailable (no connection, or lost, or another status), kDeadlineExceeded, kDataLoss
/// (no HTTP), kResourceExhausted (too long).
core::Result<std::string> http_get(const Endpoint& endpoint, std::string_view target,
                                   const core::Clock& clock, std::int64_t wait_ms);

/// Sends `line` and returns the line that answers, under the same bounds and with the same errors.
core::Result<std::string> tcp_ask(const Endpoint& endpoint, std::string_view line,
                                  const core::Clock& clock, std::int64_t wait_ms);

}  // namespace commensal::probe
