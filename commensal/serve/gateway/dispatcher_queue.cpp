// SPDX-License-Identifier: Apache-2.0
// What waits for a provider that is free: in which order, how much of it, and for how long.
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>

namespace commensal::gateway {

using core::ErrorCode;

namespace {

auto is_of(OrderId id) {
  return [id](const auto& request) { return request->id == id; };
}

}  // namespace

/// Somebody may come. Who need only show its statements is waited for a short while, however many
/// there are: strangers could dial in one after the other and show none.
bool Dispatcher::may_wait(Request& request, std::span<const Candidate> candidates) const {
  if (std::ranges::none_of(candidates, &Candidate::may_come)) return false;
  const bool has_other = std::ranges::any_of(
      candidates, [](const Candidate& one) { return one.may_come && !one.is_unshown; });
  if (has_other) {
    request.unshown_since_ms.reset();
    return true;
  }
  if (!request.unshown_since_ms) request.unshown_since_ms = now_ms();
  return now_ms() - *request.unshown_since_ms < limits::kStatementsWaitMs;
}

void Dispatcher::wait(RequestPtr request) {
  const std::string account = turn_of(*request);
  const bool is_full = waiting_.size() >= limits::kRequestsWaitingMax ||
                       waiting_.size_of(account) >= limits::kAccountRequestsWaitingMax;
  if (request->is_late || is_full) return give_up(*request);
  if (is_queue_full(*request)) {
    return end(*request,
               {ErrorCode::kResourceExhausted,
                fmt::format("Exceeds maximum queue size: {} requests for '{}' wait",
                            request->order.scheduling.queue_max, request->order.model.name)});
  }
  begin_patience(*request);
  begin_queue_time(*request);
  const Standing standing = standing_of(*request);
  waiting_.push(account, std::move(request), standing);
}

/// Even ranks are those of levels, the odd one behind each is of what is delayed in it.
Standing Dispatcher::standing_of(const Request& request) {
  return {.queue = series_of(request.order.model),
          .rank = 2 * request.order.scheduling.level + (request.is_delayed ? 1U : 0U)};
}

/// For who comes anew: who has been at a provider was let in.
bool Dispatcher::is_queue_full(const Request& request) const {
  const std::size_t most = request.order.scheduling.queue_max;
  if (most == 0 || !request.tried.empty() || request.moves > 0) return false;
  const std::string account = turn_of(request);
  Standing level = standing_of(request);
  level.rank &= ~1U;
  const std::size_t first = waiting_.size_at(account, level);
  ++level.rank;
  return first + waiting_.size_at(account, level) >= most;
}

void Dispatcher::begin_queue_time(Request& request) {
  const std::int64_t ms = request.order.scheduling.queue_timeout_ms;
  if (ms == 0 || std::exchange(request.is_timed, true)) return;
  deps_.loop.after(ms, [this, id = request.id] { end_queue_time(id); });
}

/// Whoever has been placed meanwhile does not wait in the queue any more.
void Dispatcher::end_queue_time(OrderId id) {
  auto request = waiting_.take(is_of(id));
  if (!request) return;
  const Scheduling& terms = (*request)->order.scheduling;
  if (!terms.is_delayed_then) {
    return end(**request, {ErrorCode::kDeadlineExceeded,
                           fmt::format("Request timeout expired: no provider was free within {} ms",
                                       terms.queue_timeout_ms)});
  }
  (*request)->is_delayed = true;
  const std::string account = turn_of(**request);
  const Standing standing = standing_of(**request);
  waiting_.push(account, *std::move(request), standing);
}

std::optional<rpc::Batching> Dispatcher::batching_of(const Request& request) const {
  std::optional<rpc::Batching> batching = request.order.scheduling.batching;
  if (!batching || request.order.timeout_ms == 0) return batching;
  const std::int64_t left_ms = request.since_ms + request.order.timeout_ms - now_ms() -
                               static_cast<std::int64_t>(usual_ms_of(request));
  const std::int64_t left_us = std::clamp<std::int64_t>(left_ms, 0, UINT32_MAX / 1000) * 1000;
  batching->wait_us = std::min(batching->wait_us, static_cast<std::uint32_t>(left_us));
  return batching;
}

void Dispatcher::give_up(const Request& request) {
  const std::string& model = request.order.model.name;
  const auto place = choose(candidates(request), model);
  const std::string why =
      place ? fmt::format("the providers for '{}' pause by turns", model) : place.error().message;
  const std::string waited = fmt::format("no answer within {} ms", config_.pause_ms_max);
  const ErrorCode code = request.is_late ? ErrorCode::kUnavailable : ErrorCode::kResourceExhausted;
  end(request, {code, fmt::format("{}; {}, try again later", why,
                                  request.is_late ? waited : "too many requests wait")});
}

void Dispatcher::begin_patience(Request& request) {
  if (std::exchange(request.is_waiting, true)) return;
  deps_.loop.after(config_.pause_ms_max, [this, id = request.id] { end_patience(id); });
}

void Dispatcher::end_patience(OrderId id) {
  if (auto request = waiting_.take(is_of(id))) {
    (*request)->is_late = true;
    return dispatch(*std::move(request));
  }
  const auto job = std::ranges::find_if(running_, is_of(id), &Running::value_type::second);
  if (job == running_.end()) return;
  job->second->is_late = true;
  const auto stream = deps_.steps.end_patience(job->first);
  if (!stream) return;
  leaving_.add_first({*stream, job->first});
  move_soon();
}

void Dispatcher::place_next() {
  turns_left_ = waiting_.accounts();
  if (!is_placing_) place_some();
}

/// The loop goes on between a few in vain and the next.
void Dispatcher::place_some() {
  constexpr int kInVainMax = 4;
  is_placing_ = false;
  for (int in_vain = 0; turns_left_ > 0 && waiting_.accounts() > 0;) {
    if (in_vain == kInVainMax) {
      is_placing_ = true;
      return deps_.loop.post([this] { place_some(); });
    }
    auto request = *waiting_.pop();
    const auto candidates = this->candidates(*request);
    if (place(request, candidates)) continue;
    ++in_vain;
    if (!may_wait(*request, candidates)) {
      dispatch(std::move(request));  // to its end, as what else waits for the same
      continue;
    }
    --turns_left_;
    const std::string account = turn_of(*request);
    const Standing standing = standing_of(*request);
    waiting_.put_back(account, std::move(request), standing);
  }
}

}  // namespace commensal::gateway
