// SPDX-License-Identifier: Apache-2.0
// Who may have a request, by what was measured, and what its answer says of who gave it.
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>

namespace commensal::gateway {

/// One more request. Beyond so many models, what was not asked for for longest is forgotten.
void Dispatcher::demand_for(const ModelVersion& model) {
  if (!demand_.contains(model.content) && demand_.size() >= limits::kDemandModelsMax) {
    demand_.erase(std::ranges::min_element(demand_, {},
                                           [](const auto& item) { return item.second.last_ms; }));
  }
  Demand& demand = demand_[model.content];
  ++demand.requests;
  demand.last_ms = now_ms();
  prefetcher_.on_request(model, demand.computing.ms_for(0));
}

std::vector<Candidate> Dispatcher::candidates(const ModelVersion& model,
                                              const std::string& privacy_class,
                                              const std::set<crypto::Address>& tried) const {
  const auto demand = demand_.find(model.content);
  auto list = deps_.roster.candidates(
      model, privacy_class, demand == demand_.end() ? 0 : demand->second.requests, tried, now_ms());
  for (Candidate& one : list) {
    if (one.excluded.empty() || one.is_unshown)
      set_aside(one, deps_.lottery.reservation(one.address));
    one.offered = deps_.shares.in_hand(one.address);
  }
  deps_.audit_policy.weigh(list);
  return list;
}

std::vector<Candidate> Dispatcher::candidates(const Request& request) const {
  auto list = candidates(request.order.model, request.order.privacy_class, request.tried);
  const double usual_ms = usual_ms_of(request);
  const std::string turn = turn_of(request), series = series_of(request.order.model);
  const Shares::Asker asker{
      .account = turn,
      .waiting = waiting_.size_of(turn),
      .is_long = is_long(usual_ms),
      .providers = static_cast<std::size_t>(std::ranges::count_if(
          list, [](const Candidate& one) { return one.excluded.empty() || one.may_come; })),
      .jobs_max = request.order.scheduling.level > 0 ? limits::kPriorityJobsMax : 0};
  for (Candidate& one : list) {
    expect_of(one, request, series);
    one.is_held = deps_.shares.has_long(one.address) || is_held_ms(one.busy_ms, usual_ms);
  }
  if (!asker.is_long) exclude_held(list);
  for (Candidate& one : list) {
    if (!one.excluded.empty() || !deps_.shares.is_full(asker, one.address, now_ms())) continue;
    one.excluded = "has enough to do for this account";
    one.may_come = true;
  }
  return list;
}

void Dispatcher::expect_of(Candidate& one, const Request& request,
                           const std::string& series) const {
  const auto demand = demand_.find(request.order.model.content);
  const Roster::Peer* const peer = deps_.roster.by_address(one.address);
  if (demand == demand_.end() || peer == nullptr) return;
  one.usual_ms = demand->second.computing.ms_for(request.bytes);
  one.link_ms = peer->link.ms_for(
      request.bytes + static_cast<std::uint64_t>(demand->second.answer_bytes), now_ms());
  const Speeds::Known own = peer->speeds.known(series, request.bytes, now_ms());
  const ModelVersion& model = request.order.model;
  if (peer->room_bytes && !peer->cached.contains(model.content)) {
    const double fetch_ms = peer->link.fetch_ms(static_cast<double>(model.bytes));
    one.load_cost = std::max(one.load_cost, fetch_cost(fetch_ms, one.usual_ms));
  }
  if (one.usual_ms <= 0) return;
  // Who is slow with other models may be fast with this one: now and then nobody holds that against
  // who is not known to be slow with it.
  constexpr std::uint64_t kTryEvery = 16;
  constexpr double kFaded = 0.05;
  const bool is_tried = own.weight < kFaded && demand->second.requests % kTryEvery == 0;
  const double all = is_tried ? std::min(1.0, peer->health.slowness()) : peer->health.slowness();
  one.effort = peer->health.effort(all + own.weight * (own.ms / one.usual_ms - all));
}

double Dispatcher::usual_ms_of(const Request& request) const {
  const auto demand = demand_.find(request.order.model.content);
  return demand == demand_.end() ? 0 : demand->second.usual.ms_for(request.bytes);
}

/// Of private models too: it counts for those who ask for the model, and nobody else.
void Dispatcher::measure(const Request& request, const Trip& trip, Roster::Peer& peer) {
  constexpr double kNewest = 1.0 / 16;
  const double way_ms = peer.link.ms_for(request.bytes, now_ms());
  peer.link.on_delivery(trip.deliver_ms, trip.bytes, now_ms());
  const auto held_ms = static_cast<double>(wait_ms(request.order.scheduling.batching, peer));
  const double took_ms = std::max(0.0, trip.commit_ms - way_ms - held_ms);
  Demand& demand = demand_[request.order.model.content];
  const auto bytes = static_cast<double>(trip.bytes);
  const bool is_first = demand.computing.ms_for(0) == 0;
  demand.answer_bytes += (is_first ? 1 : kNewest) * (bytes - demand.answer_bytes);
  demand.computing.slowness_of(took_ms, trip.ahead, request.bytes);
  peer.speeds.on_answer(series_of(request.order.model), took_ms, trip.ahead, request.bytes,
                        now_ms());
}

/// What an answer says of its provider: its time against what is usual for the model, by job; none
/// of one that had to fetch the model or has paused.
void Dispatcher::count(const Request& request, const Trip& trip, Roster::Peer& peer) {
  const core::Digest& model = request.order.model.content;
  double slowness = 1;
  if (trip.was_warm && !trip.has_paused) {
    const std::int64_t took_ms = trip.took_ms - wait_ms(request.order.scheduling.batching, peer);
    slowness = demand_[model].usual.slowness_of(
        static_cast<double>(std::max<std::int64_t>(took_ms, 0)), trip.ahead, request.bytes);
    measure(request, trip, peer);
  }
  peer.warm.insert(model);
  if (!counts(request)) return;
  if (request.is_trial) trials_.on_success();
  if (!peer.health.is_new()) trials_.on_answer();
  peer.health.on_answer(slowness);
  for (const crypto::Address& refuser : request.refused) {  // it could be answered
    if (Roster::Peer* const other = deps_.roster.by_address(refuser))
      other->health.on_fault(now_ms());
  }
}

}  // namespace commensal::gateway
