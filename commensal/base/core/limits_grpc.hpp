// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_serve.hpp>

/// Bounds of what is said over gRPC: by consumers, beside those that hold over HTTP too, and in
/// frames of the stream between gateways and providers.
namespace commensal::limits {

inline constexpr int kGrpcCallsMax = 128;                    // of one connection, at a time
inline constexpr std::size_t kGrpcStreamRequestsMax = 4;     // of one stream, under way
inline constexpr std::int64_t kGrpcMessageWaitMs = 600'000;  // for a whole one, or the next
inline constexpr std::int64_t kGrpcLightBytesMax = 64 << 10;  // read on the thread of all calls
// Ahead of what was read: of a long message that is being read; of a connection, whosever it is.
inline constexpr std::int32_t kGrpcAheadBytes = 2 << 20;
inline constexpr std::int32_t kGrpcConnectionAheadBytes = 16 << 20;
inline constexpr int kGrpcPartsMax = 1 << 13;  // messages in one, of any depth: tensors, parameters
inline constexpr std::int64_t kGrpcAnswerBytesMax = (std::int64_t{1} << 31) - 1;  // protobuf's own
// Calls of strangers that are refused as too many, of one network: at once, then a second; with
// more it is kept out for a while.
inline constexpr double kGrpcRefusedAtOnce = 512;
inline constexpr double kGrpcRefusedPerSecond = 64;
inline constexpr double kGrpcRefusedBytes = 64 << 10;  // that have come of one count as one more
// Of an account, as often; what is refused beyond that is told so much later, while it counts as a
// call under way: whoever asks in vain as fast as it can would have the gateway do nothing else.
inline constexpr std::int64_t kGrpcRefusalPauseMs = 2'000;
// Calls under way of which it is not known whose they are, of one network: with more it is kept out
// for a while, before anybody is asked.
inline constexpr std::size_t kGrpcStrangerCallsMax = 256;
// Calls that are taken back on connections that stay, of one network and of one account: likewise.
inline constexpr double kGrpcTakenBackAtOnce = 256;
inline constexpr double kGrpcTakenBackPerSecond = 128;
// Whoever waits for less, and is not answered, counts as if it had taken its call back.
inline constexpr std::int64_t kGrpcHastyMs = 1'000;
// Frames that are no call's, of one connection: pings, settings, priorities, empty data.
inline constexpr double kGrpcWordsAtOnce = 512;
inline constexpr double kGrpcWordsPerSecond = 64;
// Bytes that are no call's, frames of any kind and their heads, of one connection: at once, then a
// second; each call brings some, and each piece that is written of answers.
inline constexpr double kGrpcIdleBytesAtOnce = 512 << 10;
inline constexpr double kGrpcIdleBytesPerSecond = 32 << 10;
inline constexpr std::size_t kGrpcIdleBytesOfCall = 256;
inline constexpr std::int64_t kGrpcFreeHeadBytes = 4 << 10;  // of a head, that may be table entries
inline constexpr double kGrpcIdleShareOfWritten = 1.0 / 64;
// Frames that wait to be written, where no more is read until some are.
inline constexpr std::size_t kGrpcUnwrittenFramesMax = 1 << 12;
inline constexpr std::size_t kGrpcUnreadAcksMax = 128;  // that a peer does not read: it is cut off
// Of a connection before a token is seen on it: each call may have a window of its own ahead.
inline constexpr std::uint64_t kGrpcStrangerBytesMax = 8 << 20;
// Of one between two calls of an account's: a message of megabytes is read ahead by then.
inline constexpr std::uint64_t kGrpcKnownBytesMax = 64 << 20;

inline constexpr int kRpcBundleMax = 64;  // small messages in one frame

}  // namespace commensal::limits
