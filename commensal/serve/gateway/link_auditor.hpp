// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/chain_book.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/verify/chain/client.hpp>
#include <commensal/verify/chain/replayer.hpp>
#include <deque>
#include <functional>
#include <memory>

namespace commensal::gateway {

/// The audits of links that were drawn: given to auditors elsewhere who ask for them, done here
/// where none does, or where one that was given a link is silent.
/// An auditor is not believed: a root that opens the commitment was computed, for neither the
/// outputs nor their salt were shown; any other is computed again here before anybody is accused.
/// Thread-safety: the loop's thread.
class LinkAuditor {
 public:
  using Audit = chain::ChainClient::Audit;
  struct World {
    core::Loop& loop;
    const core::Clock& clock;
    const crypto::SecretKey& key;  // signs verdicts
    const ModelHub& hub;
    const ChainBook& book;
    /// What is shown of a link.
    std::function<core::Result<Audit>(const core::Digest& chain, std::uint64_t step)> show;
    /// Once per audit that came to an end.
    std::function<void(const core::Digest& chain, std::uint64_t step, protocol::Verdict)> done;
    std::function<void(const core::Error&)> report;
  };
  explicit LinkAuditor(World world)
      : world_(std::move(world)), replayer_(std::make_shared<chain::Replayer>()) {}

  /// An audit that the book has open.
  void request(const core::Digest& chain, std::uint64_t step);
  /// The same, by this gateway and at once.
  void do_here(const core::Digest& chain, std::uint64_t step);
  /// For an auditor elsewhere: the next link, its own for kLeaseMs; nothing where none is open.
  core::Result<std::optional<chain::Assignment>> take();
  /// Its answer. Errors: kNotFound (no such audit is open), show()'s.
  core::Result<void> answer(const core::Digest& chain, std::uint64_t step,
                            const core::Digest& root);

 private:
  static constexpr std::int64_t kLeaseMs = 5'000;
  static constexpr int kLeasesMax = 2;               // of one link; then it is done here
  static constexpr std::int64_t kAbsentMs = 10'000;  // an auditor that has not asked for so long
  using Place = std::pair<core::Digest, std::uint64_t>;

  bool is_open(const Place& place) const;
  /// Who is to do what waits: an auditor, soon, or this gateway.
  void pump();
  void replay(const Place& place);
  void conclude(const Place& place, const Audit& shown, const core::Digest& root);

  World world_;
  std::deque<Place> waiting_;
  std::map<Place, std::uint64_t> leased_;  // to an auditor, by number of the lease
  std::uint64_t leases_ = 0;
  std::deque<Place> own_;      // to be done here
  std::map<Place, int> lost_;  // leases of it that ran out
  bool is_replaying_ = false;
  std::int64_t asked_ms_ = -kAbsentMs;  // when an auditor did last
  bool looks_later_ = false;
  std::shared_ptr<chain::Replayer> replayer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace commensal::gateway
