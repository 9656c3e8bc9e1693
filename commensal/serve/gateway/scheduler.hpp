// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/crypto/address.hpp>
#include <span>
#include <string>
#include <vector>

namespace commensal::gateway {

/// One provider as the scheduler sees it.
struct Candidate {
  crypto::Address address;
  std::string name;
  std::string excluded;     // why it must not have this request, or ""
  bool may_come = false;    // ... but it will be free again: it pauses or has enough to do
  bool is_unshown = false;  // ... or may show that it may see the request's inputs
  double load_cost = 0;     // of a model it has not cached, in requests: load_cost()
  std::uint32_t queued = 0;
  std::uint32_t offered = 0;    // of these, single answers
  std::int64_t busy_ms = 0;     // since it began with what it has in hand, or answered
  bool is_held = false;         // ... for long, or it will be: what joins it there waits for that
  std::uint64_t last_turn = 0;  // the number of the job that it got last
  double effort = 1;            // Health::effort(), of this model where that was measured
  double link_ms = 0;           // Link::ms_for() what the request carries
  double usual_ms = 0;          // one such request of this model, anywhere; 0: not known
  double wrong_cost = 0;        // what its answer may cost for being wrong, in answers' pay
  bool is_new = false;          // it has never answered
  std::int64_t avoided_until_ms = 0;  // 0: it is not
};

/// It must not have this request, nor is it waited for, unless `why` is "".
inline void set_aside(Candidate& one, std::string why) {
  if (why.empty()) return;
  one.excluded = std::move(why);
  one.may_come = one.is_unshown = false;
}

/// What fetching a model that is not cached counts for, in requests that wait. It falls with the
/// number of requests that there have been for the model: what many ask for is worth having in
/// many places.
constexpr std::uint32_t load_cost(std::uint64_t demand) {
  return static_cast<std::uint32_t>(8 / (2 + demand));
}

/// The same of a provider that fetches models ahead of requests (Prefetcher), so that none has to
/// be sent there first: what it takes, if it takes long, in requests that take `usual_ms`, but no
/// more than other providers may have in hand. 0 where that is not known.
double fetch_cost(double fetch_ms, double usual_ms);

/// It is known, nobody's fault, and soon free.
bool is_at_hand(const Candidate& item);

/// For a short request: a turn with somebody known who is not held comes sooner than what follows
/// something long, even where it must wait for that turn.
void exclude_held(std::span<Candidate> candidates);

/// How long a request waits for its answer there, by what was measured, in usual requests of its
/// model:
///
///   queued      each one before it, and itself   Roster (jobs in hand)
///   load_cost   fetching a model not cached      Load, and what its bytes take
///   effort      each of these takes so long      Speeds of this model there, or Health of all
///   link_ms     the way there and back           Link: round trip, bandwidth
///   wrong_cost  as much more                     AuditPolicy (what a wrong answer may cost)
///
/// Who is no better in any of them waits no shorter. A pure function.
double wait_of(const Candidate& item);

/// The index of the best candidate. In this order: who is not avoided for its faults; who is known,
/// unless `explores` or all of them are busy; who is not held by something long; the shortest wait
/// (wait_of), in steps of sqrt 2; whose last turn is longest ago, so that equals share evenly and a
/// new key gains nothing; the lowest address. A pure function.
/// Error: kUnavailable, one line with the reason for every provider (the first few of many).
core::Result<std::size_t> choose(std::span<const Candidate> candidates, std::string_view model,
                                 bool explores = false);

}  // namespace commensal::gateway
