// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/serve/part.hpp>

/// The floor of any way from a consumer over a gateway to a provider and back: gRPC alone. A relay
/// takes unary calls and passes each as one message down the one stream that an echo has opened to
/// it; what comes back is the call's answer, or is passed down once more before: an answer with a
/// receipt takes an offer, its commitment, the countersignature and the delivery. Nothing is
/// parsed, signed, counted or kept.
namespace commensal::lab::bench::serve {

inline constexpr const char* kEchoMethod = "/echo.Echo/Call";

/// Each call goes to the echo and back `trips` times. Says "host:port".
core::Result<void> relay(const Part::Side& side, int trips);
/// Answers every message of the relay with `answer_bytes`.
core::Result<void> echo(const Part::Side& side, const std::string& relay_address,
                        std::size_t answer_bytes);

}  // namespace commensal::lab::bench::serve
