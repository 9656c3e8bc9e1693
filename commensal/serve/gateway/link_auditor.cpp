// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/link_auditor.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

}  // namespace

bool LinkAuditor::is_open(const Place& place) const {
  return world_.book.audits(place.first).open.contains(place.second);
}

void LinkAuditor::request(const core::Digest& chain, std::uint64_t step) {
  waiting_.emplace_back(chain, step);
  pump();
}

Result<std::optional<chain::Assignment>> LinkAuditor::take() {
  asked_ms_ = world_.clock.monotonic_ns() / kNsPerMs;
  while (!waiting_.empty()) {
    const Place place = waiting_.front();
    waiting_.pop_front();
    const ChainEntry* const entry = world_.book.find(place.first);
    if (entry == nullptr || !is_open(place)) continue;
    COMMENSAL_ASSIGN(Audit shown, world_.show(place.first, place.second));
    const std::uint64_t lease = ++leases_;
    leased_.insert_or_assign(place, lease);
    world_.loop.after(kLeaseMs, [this, place, lease, alive = std::weak_ptr(alive_)] {
      if (alive.expired()) return;
      const auto found = leased_.find(place);
      if (found == leased_.end() || found->second != lease) return;
      leased_.erase(found);
      if (!is_open(place)) return;
      if (++lost_[place] < kLeasesMax) return request(place.first, place.second);
      do_here(place.first, place.second);
    });
    return chain::Assignment{entry->model, entry->version, entry->content, std::move(shown.task)};
  }
  return std::nullopt;
}

Result<void> LinkAuditor::answer(const core::Digest& chain, std::uint64_t step,
                                 const core::Digest& root) {
  const Place place{chain, step};
  if (!is_open(place)) {
    return core::fail(ErrorCode::kNotFound, "no audit of link {} of chain {} is open", step,
                      core::to_hex(chain));
  }
  COMMENSAL_ASSIGN(const Audit shown, world_.show(chain, step));
  leased_.erase(place);
  lost_.erase(place);
  const auto verdict = receipt::judge(shown.body, root, shown.output_salt, world_.key);
  if (verdict.outcome == protocol::Outcome::kMatch) {
    world_.done(chain, step, verdict);
    return {};
  }
  do_here(chain, step);  // the auditor may be wrong
  return {};
}

void LinkAuditor::do_here(const core::Digest& chain, std::uint64_t step) {
  own_.emplace_back(chain, step);
  pump();
}

void LinkAuditor::pump() {
  const std::int64_t now_ms = world_.clock.monotonic_ns() / kNsPerMs;
  const std::int64_t left_ms = asked_ms_ + kAbsentMs - now_ms;
  if (left_ms <= 0) {
    own_.insert(own_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
  }
  while (!is_replaying_ && !own_.empty()) {
    const Place place = own_.front();
    own_.pop_front();
    if (is_open(place)) replay(place);
  }
  if (waiting_.empty() || std::exchange(looks_later_, true)) return;
  world_.loop.after(left_ms, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    looks_later_ = false;
    pump();
  });
}

void LinkAuditor::replay(const Place& place) {
  auto shown = world_.show(place.first, place.second);
  const ChainEntry* const entry = world_.book.find(place.first);
  if (!shown) return world_.report(shown.error());
  is_replaying_ = true;
  struct Work {
    Audit shown;
    Result<core::Digest> root;
  };
  const auto work = std::make_shared<Work>(Work{*std::move(shown), core::Digest{}});
  world_.loop.offload(
      [work, replayer = replayer_, path = world_.hub.path_of(entry->content)] {
        work->root = replayer->replay(work->shown.task, path);
      },
      [this, work, place, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        is_replaying_ = false;
        if (work->root) conclude(place, work->shown, *work->root);
        if (!work->root) world_.report(work->root.error());  // ours: it accuses nobody
        pump();
      });
}

void LinkAuditor::conclude(const Place& place, const Audit& shown, const core::Digest& root) {
  if (!is_open(place)) return;
  world_.done(place.first, place.second,
              receipt::judge(shown.body, root, shown.output_salt, world_.key));
}

}  // namespace commensal::gateway
