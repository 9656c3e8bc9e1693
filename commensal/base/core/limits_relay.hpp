// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of a gateway that passes connections on to another: see limits.hpp.
namespace commensal::limits {

// Of one port. Those that nobody can be found for hold a socket and nothing else.
inline constexpr std::size_t kRelayConnectionsMax = 2048;
inline constexpr std::size_t kRelayBufferBytes = 1 << 15;  // of one way of a connection
inline constexpr std::int64_t kRelayWaitMs = 30'000;       // for who writes
inline constexpr std::int64_t kRelayDialMs = 3'000;        // one try to reach it
inline constexpr std::int64_t kRelayAgainMs = 100;         // between two
// Silence on both ways ends a connection: soon where the last word was the gateway's, which has
// bounds of its own for those that owe it one.
inline constexpr std::int64_t kRelayIdleMs = 180'000;
inline constexpr std::size_t kProxyHeaderBytesMax = 256;  // whose a connection is
// So far apart may the clocks of two gateways be, and so long may one who overhears a header say
// it again, for the same client.
inline constexpr std::int64_t kProxyHeaderAgeMsMax = 60'000;
// After a take-over: relays may not have heard of the new secret, or wait with the former one's
// header.
inline constexpr std::int64_t kRelayFormerSecretMs = 60'000;
// Networks that relays have proved to be in, and for how long they are taken to be.
inline constexpr std::size_t kRelayNetworksMax = 64;
inline constexpr std::int64_t kRelayNetworkMs = 600'000;
// A gateway that is told to stop: what is under way may take so long. A provider's stream does not
// end by itself: it is cut off sooner, and its work goes to another.
inline constexpr std::int64_t kDrainMs = 20'000;
inline constexpr std::int64_t kDrainStreamsMs = 5'000;
// What is left then ends where the gateway had the last word, so long ago, and after that anyhow.
inline constexpr std::int64_t kRelayQuietMs = 20;
inline constexpr std::int64_t kRelayLastMs = 1'000;

}  // namespace commensal::limits
