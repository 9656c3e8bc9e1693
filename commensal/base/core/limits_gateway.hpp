// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what one account or one provider may have of a gateway: see limits.hpp.
namespace commensal::limits {

inline constexpr std::uint32_t kProviderJobsMax =
    64;  // of one gateway at a time: others can follow
// Of one account at one provider, once others have asked within so long.
inline constexpr std::uint32_t kAccountJobsMax = 2;
inline constexpr std::int64_t kOthersMs = 10'000;
// Of an account whose request's model has levels of priority: behind more, the first would be last.
inline constexpr std::uint32_t kPriorityJobsMax = 16;
// A provider that says again and again that it is at work may take so long for a step.
inline constexpr std::int64_t kAtWorkMsMax = 1'200'000;
inline constexpr std::size_t kRequestsWaitingMax = 4096;  // for a provider
inline constexpr std::size_t kAccountRequestsWaitingMax = 1024;
// What the router remembers: of one provider the speed of so many models, which counts less after
// so long; of so many models how often they are asked for.
inline constexpr std::size_t kSpeedsMax = 32, kDemandModelsMax = 4096;
inline constexpr double kSpeedFadesMs = 120'000;
// Models that are asked for often are looked at so often, so many of them; so many providers at
// once fetch one ahead, each within so long, and not the same one twice within so long.
inline constexpr std::int64_t kPrefetchLookMs = 250, kPrefetchVainMs = 5'000;
inline constexpr std::size_t kPrefetchModelsMax = 64, kPrefetchesMax = 8;
inline constexpr std::int64_t kPrefetchMsMax = 60'000, kPrefetchBytesPerMsMin = 1'024;
inline constexpr std::int64_t kPrefetchAgainMs = 300'000;
// After a start requests wait so long for providers that were connected before: these dial again at
// most ProviderConfig::reconnect_ms_max apart. Which they are is written so long after a change,
// and who has left is one of them for so long.
inline constexpr std::int64_t kReturnMsMax = 15'000;
inline constexpr std::int64_t kPresenceWriteMs = 1'000, kPresenceKeptMs = 60'000;
// Whoever is welcome shows its statements of privacy at once: so long after that nobody waits for
// them, and no request waits longer for those of whoever comes.
inline constexpr std::int64_t kStatementsWaitMs = 5'000;

// Of the ledger, by others: of one sender on average and at once, of all until they are written.
inline constexpr double kTransactionsPerS = 5, kTransactionsBurstS = 4;
inline constexpr double kMovesPerS = 32;  // of a dispute that is under way
inline constexpr std::size_t kTransactionsWaitingMax = 256;

inline constexpr std::size_t kModelsListedMax = 1000;   // in one answer
inline constexpr std::size_t kClaimsListedMax = 100;    // likewise, each priced by the desk
inline constexpr int kModelPagesMax = 1000;             // that a client reads
inline constexpr std::size_t kModelVersionsMax = 1000;  // of one model
inline constexpr std::size_t kTokensMax = 64;           // of one account
inline constexpr std::size_t kAccountsListedMax = 256;  // in one answer
inline constexpr int kAccountPagesMax = 10'000;         // that a client reads
// Accounts that were made uninvited, and are there: where anybody may make one.
inline constexpr std::size_t kOpenSignUpsMax = 10'000;
inline constexpr std::size_t kInvitationsMax = 1024;
inline constexpr std::size_t kModelGrantsMax = 256;          // accounts that may use one model
inline constexpr std::size_t kOperatorActsMax = 1 << 16;     // rows that are kept about operators
inline constexpr std::size_t kOperatorActsListedMax = 100;   // in one answer
inline constexpr std::size_t kAliasesMax = 4096;             // of all models
inline constexpr int kConfigFieldsMax = 2048;  // of how a version of a model is served
inline constexpr std::size_t kConfigsInMemoryMax = 1024;     // of versions of models
inline constexpr std::size_t kPortNamesBytesMax = 64 << 10;  // of one model's inputs and outputs
// What a gateway on loopback gives away, so that whoever dials it cannot grow its ledger without
// end: keys that ever get a stake, and accounts whose credit the ledger's cap has room for.
inline constexpr std::size_t kTestStakesMax = 1024, kTestCreditsMax = 1024;
// A rollout whose provider is away that long ends: what was set aside for it is the account's
// again.
inline constexpr std::int64_t kRolloutAwayMsMax = 3'600'000;
// Rounds beyond the last that the ledger knows of, in a Reveal over HTTP: as many hashes.
inline constexpr std::uint64_t kAskedRevealGapMax = 1 << 12;

}  // namespace commensal::limits
