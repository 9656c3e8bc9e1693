// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Every bound on what is read from outside or kept in a queue. One name, one place.
namespace commensal::limits {

// Tensors and graphs.
inline constexpr int kRankMax = 16;
inline constexpr std::int64_t kTensorElementsMax = std::int64_t{1} << 40;
inline constexpr std::int64_t kModelBytesMax = std::int64_t{2} << 30;  // protobuf's own bound
// What a model's messages cost once parsed depends on their number, not on their bytes.
inline constexpr std::int64_t kModelFieldsMax = std::int64_t{1} << 22;
inline constexpr std::size_t kModelDepthMax = 48;
inline constexpr std::size_t kValueNameBytesMax = 4096;
inline constexpr int kGraphNodesMax = 1 << 20;
inline constexpr int kNodeInputsMax = 1 << 16;
inline constexpr int kSubgraphDepthMax = 8;
inline constexpr std::int64_t kLoopStepsMax = std::int64_t{1} << 24;  // of one Loop or Scan
inline constexpr std::int64_t kNodeRunsMax = std::int64_t{1} << 26;   // of one run, loops in loops
inline constexpr std::size_t kSequenceItemsMax = std::size_t{1} << 16;
inline constexpr std::int64_t kStandInBytesMax = std::int64_t{1} << 36;     // zeros nobody writes
inline constexpr std::int64_t kMemoryBytesDefault = std::int64_t{4} << 30;  // one session

// Files and images.
inline constexpr std::int64_t kFileBytesMax = std::int64_t{4} << 30;
inline constexpr std::int64_t kPackFolderBytesMax = std::int64_t{8}
                                                    << 30;  // packed weights on disk
inline constexpr int kImageSideMax = 1 << 14;
inline constexpr std::int64_t kImagePixelsMax = std::int64_t{1} << 26;
inline constexpr std::size_t kNpyHeaderBytesMax = 1 << 16;

// Canonical encoding and Merkle trees.
inline constexpr std::size_t kNounBytesMax = 1 << 20;
inline constexpr std::size_t kListItemsMax = 1 << 16;
inline constexpr std::size_t kTextBytesMax = 1 << 12;
inline constexpr int kMerkleDepthMax = 40;

// Tickets and beacons.
inline constexpr std::size_t kSignaturesKnownMax = 1 << 12;  // batches that need no second check
inline constexpr int kHashChainDepthMax = 26;            // a reverse hash chain has 2^depth rounds
inline constexpr std::uint64_t kRevealGapMax = 1 << 20;  // hashes to check one reveal
inline constexpr std::size_t kTicketsMax = 1 << 18;      // kept by one book
inline constexpr std::size_t kEndorsementsMax = 64;      // of one claim

// Keystores: a file from elsewhere chooses how much work it takes to open it.
inline constexpr std::size_t kKeyFileBytesMax = 1 << 16;
inline constexpr std::uint64_t kScryptWorkMax = 1 << 23;  // n r p: 1 GiB, or some ten seconds
inline constexpr std::uint64_t kPbkdf2RoundsMax = 1 << 23;

// Disputes.
inline constexpr std::size_t kDisputeLeafBytesMax = 1 << 16;  // of one leaf that is shown
inline constexpr std::size_t kDisputeMoveBytesMax = 1 << 18;  // of one move
inline constexpr std::size_t kDisputeBytesMax = 1 << 20;      // of all moves of one side
inline constexpr std::uint64_t kDisputeStepsMax = 1 << 24;    // of one element's program

// Serving.
inline constexpr std::int64_t kHttpBodyBytesMax = std::int64_t{1} << 30;
inline constexpr std::int64_t kHttpHeaderBytesMax = 1 << 16;
inline constexpr std::size_t kHttpTargetBytesMax = 1 << 13;
inline constexpr std::int64_t kHttpBodiesBytesMax = std::int64_t{4} << 30;  // being received
inline constexpr std::int64_t kHttpSmallBodyBytesMax = 1 << 16;  // where no tensors are sent
inline constexpr std::size_t kHttpPieceBytes = 1 << 18;
inline constexpr std::int64_t kHttpHeaderWaitMs = 15'000;
inline constexpr std::int64_t kHttpPieceWaitMs = 30'000;  // for the next piece of a body
inline constexpr std::int64_t kHttpIdleWaitMs = 60'000;   // between requests of one connection
inline constexpr std::size_t kInferTensorsMax = 1 << 10;
inline constexpr std::size_t kReceiptsMax = 1 << 18;     // kept by one gateway
inline constexpr std::size_t kReceiptsListedMax = 1000;  // in one answer
inline constexpr std::uint64_t kOpeningsBytesMax = std::uint64_t{16} << 30;
inline constexpr std::int64_t kJsonDepthMax = 32;
inline constexpr std::int64_t kRpcMessageBytesMax = std::int64_t{256} << 20;
inline constexpr int kConnectionsMax = 1024;
inline constexpr int kProvidersMax = 1024;
inline constexpr int kProviderQueueMax = 256;
inline constexpr std::size_t kEnginesMax = 4;  // models held in memory by one provider or auditor
inline constexpr int kNameBytesMax = 64;
inline constexpr int kThreadsMax = 256;

// Store.
inline constexpr std::size_t kStoreKeyBytesMax = 1024;
inline constexpr std::size_t kStoreValueBytesMax = std::size_t{256} << 20;

// Money.
inline constexpr std::size_t kLedgerRowsMax = std::size_t{1} << 26;  // of one table of the state
inline constexpr std::size_t kLedgerSignaturesMax = 4;               // of one transaction
inline constexpr std::size_t kLedgerAnnouncementsMax = 64;           // of one owner, at a time

// Risk desk and panels.
inline constexpr std::size_t kRiskReceiptsMax = 1 << 14;   // that one look at a provider reads
inline constexpr std::size_t kRiskEventsMax = 1 << 16;     // that a gateway may answer with
inline constexpr std::size_t kPanelAuditorsMax = 1 << 12;  // that members can be drawn from
inline constexpr std::uint64_t kPanelAppealsMax = 5;       // 1, 3, 7, 15, 31, 63 members
inline constexpr std::uint64_t kPanelStageMsMax = std::uint64_t{1} << 36;  // two years
inline constexpr std::uint64_t kPanelTimeMsMax = std::uint64_t{1} << 62;   // and rounds

}  // namespace commensal::limits
