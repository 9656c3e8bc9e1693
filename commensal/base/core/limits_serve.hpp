// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>

/// Bounds of what a daemon holds of its connections.
namespace commensal::limits {

inline constexpr std::int64_t kHttpLingerBytesMax = 8
                                                    << 20;  // read and thrown away after a refusal
inline constexpr std::int64_t kHttpBytesPerSecondMin = 64 << 10;  // of bodies, on the whole
// Of JSON that holds tensors: a second of a processor, and five times as much memory. Beyond it
// they travel as binary data.
inline constexpr std::int64_t kHttpJsonBytesMax = 32 << 20;
inline constexpr std::int64_t kFilesSentBytesMax = std::int64_t{16} << 30;  // at a time
// Of a list that anybody may ask for: one has the next part, after what is told.
inline constexpr std::size_t kHttpListBytesMax = 64 << 10;
// So long what could be written waits for what is on its way, so that one write serves both.
inline constexpr std::int64_t kGatherMs = 5;
inline constexpr std::int64_t kInferTimeoutMsMax = 24 * 60 * 60 * 1000;  // a longer one is this
inline constexpr std::size_t kHttpHeavyBytesMin = 1 << 20;  // takes more than a millisecond to read
inline constexpr std::size_t kHttpHeavyThreads = 2;
inline constexpr std::int64_t kConfigBytesMax = 1 << 20;  // of how a model is served, with labels
inline constexpr std::size_t kStatisticsMax = 1 << 16;    // versions of models, since the start
inline constexpr std::size_t kBatchSizesMax = 64;         // of each of those, in its statistics
inline constexpr std::size_t kRegionsMax = 1024;          // of shared memory, of all accounts
// Requests of nobody's over HTTP, of one network: at once, then a second.
inline constexpr double kStrangerRequestsAtOnce = 256;
inline constexpr double kStrangerRequestsPerSecond = 64;
inline constexpr std::size_t kStrangerAnswerBytes = 16 << 10;  // of an answer count as one
// Accounts that who is not invited makes, where that is open: of one network, of all.
inline constexpr double kSignUpsAtOnce = 4;
inline constexpr double kSignUpsPerSecond = 1.0 / 60;
inline constexpr double kSignUpsPerDay = 32;  // of one network
inline constexpr double kSignUpsAllAtOnce = 256;
inline constexpr double kSignUpsAllPerSecond = 1;
// Handshakes of TLS, some 0.3 ms of a processor each: at once, then a second, of all.
inline constexpr double kHttpHandshakesAtOnce = 64;
inline constexpr double kHttpHandshakesPerSecond = 256;
inline constexpr std::int64_t kRpcOutboxBytesMax = 2 * kRpcMessageBytesMax;  // of one stream
// What a provider may do before it has proved its key (Hello): so long, so many, from one address.
inline constexpr std::int64_t kHelloWaitMs = 10'000;
inline constexpr std::int64_t kAtWorkWordMs = 2'000;  // between two words of who is at work
inline constexpr std::int64_t kHostWordMs = 2'000;    // between two words of a host
inline constexpr std::size_t kStrangersMax = 128;
// Connections to the providers' port that are taken: of one network at once, then a second; of all.
// A provider has one for its stream, and one for each model that it fetches. Calls on one: at once,
// then a second; each needs one.
inline constexpr std::size_t kDoorConnectionsMax = 2 * kProvidersMax + kStrangersMax;
inline constexpr double kDoorCallsAtOnce = 4;
inline constexpr double kDoorCallsPerSecond = 1;
// Downloads of models: of one stream's provider, and of all.
inline constexpr std::size_t kFetchesOfOneMax = 4;
inline constexpr std::size_t kFetchesMax = kProvidersMax;
// What comes on a connection before anybody vouches for it: TLS, and Hello, which names so many
// models.
inline constexpr std::uint64_t kStrangerBytesMax = 1 << 16;
inline constexpr std::size_t kHelloModelsMax = 512;
// In one message of a provider's.
inline constexpr std::size_t kCommitsMax = 1024;
inline constexpr std::size_t kClaimsMax = 256;
// In one of a gateway's.
inline constexpr std::size_t kPreferredSizesMax = 64;  // of batches
// Of a model's configuration: how long a request may wait for others, and levels of priority.
inline constexpr std::uint32_t kBatchWaitUsMax = 10'000'000;
inline constexpr std::uint32_t kPriorityLevelsMax = 1024;
inline constexpr std::size_t kTicketsOwedMax = std::size_t{1} << 32;  // of all its providers
inline constexpr double kNewcomersAtOnce = 128;
inline constexpr double kNewcomersPerSecond = 16;
inline constexpr double kNewcomersAllPerSecond = 256;
// Beyond these, of networks of which few came lately.
inline constexpr double kNewcomersRarePerSecond = 64;
inline constexpr double kNewcomersRareEveryS = 10;  // of one network
// Twice the connections over HTTP, as those that leave take a moment; the providers' at most a half
// of all files, two each; and the gateway's own.
inline constexpr std::uint64_t kFilesWanted = 4 * kDoorConnectionsMax;
inline constexpr std::size_t kStrangersPerAddressMax = 32;
inline constexpr std::size_t kStrangerWordsMax = 16;        // other than Hello
inline constexpr std::int64_t kRpcFrameBytesMax = 1 << 20;  // larger messages are cut up
inline constexpr std::int64_t kRpcLookMs = 30'000;  // in which a whole piece of one comes at least
inline constexpr std::int64_t kRpcWireBytesMax = kRpcFrameBytesMax + (1 << 16);  // in protobuf
// Half-sent messages of all connections, as each holds one in gRPC, and what else those need.
inline constexpr std::size_t kRpcQuotaBytes =
    kDoorConnectionsMax * static_cast<std::size_t>(kRpcWireBytesMax) * 9 / 8;
// Half-sent messages in pieces: of all streams, and of one network's.
inline constexpr std::int64_t kRpcHalfSentBytesMax = std::int64_t{2} << 30;
inline constexpr std::int64_t kRpcHalfSentOfNetworkBytesMax = kRpcHalfSentBytesMax / 4;
inline constexpr std::int64_t kPemBytesMax = 1 << 18;  // of a chain of certificates
inline constexpr std::size_t kLineBytesMax = 512;      // of a message; gRPC puts some into headers

// Computing: operations of one step (compute/graph/work.hpp), some twenty minutes of a processor.
inline constexpr std::int64_t kStepOpsMax = std::int64_t{1} << 46;
// A replay may run the plain graph where the provider ran a planned one, whose nodes are fewer.
inline constexpr std::int64_t kReplayOpsMax = 2 * kStepOpsMax;
inline constexpr std::size_t kCasesMax = 64;  // accusations that a provider answers at a time

// Work in a process of its own.
inline constexpr std::size_t kWorkerHeadBytesMax = 16 << 20;       // of a message, but for elements
inline constexpr std::size_t kWorkerCounselBytesMax = 1 << 19;     // of one with a dispute's move
inline constexpr std::int64_t kWorkerBytesBase = 512 << 20;        // beside tensors and weights
inline constexpr std::int64_t kWorkerModelCopiesMax = 8;           // weights, packed and unpacked
inline constexpr std::int64_t kWorkerCancelMs = 100;               // to end once it is told to
inline constexpr std::int64_t kWorkerStillMsMax = 60'000;          // at work, using no processor
inline constexpr std::int64_t kWorkerLoadCpuMsMax = 600'000;       // of processor time
inline constexpr std::int64_t kWorkerCpuMsMax = 24LL * 3'600'000;  // of processor time, for one run

}  // namespace commensal::limits
