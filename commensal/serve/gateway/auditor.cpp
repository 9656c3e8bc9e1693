// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/trade/pay/ledger/draws.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

using Stop = std::stop_callback<std::function<void()>>;

}  // namespace

Auditor::Auditor(const Dependencies& deps)
    : deps_(deps), replayer_(std::make_shared<rollout::Replayer>(deps.engines)) {}

std::int64_t Auditor::now_ms() const { return deps_.clock.monotonic_ns() / kNsPerMs; }

void Auditor::request(const core::Digest& receipt) {
  Case& item = open_[receipt];
  if (item.is_waiting || item.lease != 0) return;
  item.is_waiting = true;
  item.since_ms = now_ms();
  waiting_.push_back(receipt);
  pump();
}

void Auditor::request_here(const core::Digest& receipt) {
  open_[receipt].lease = 0;  // nobody else ends it
  open_[receipt].is_waiting = true;
  own_.push_front(provider_of(receipt), receipt);  // late ones would be paid unaudited
  pump();
}

Result<Auditor::Shown> Auditor::show(const core::Digest& receipt) const {
  COMMENSAL_ASSIGN(ReceiptRecord record, deps_.book.find(receipt));
  if (record.is_in_file) return Shown{std::move(record), {}};
  COMMENSAL_ASSIGN(auto opening, deps_.book.opening(record));
  return Shown{std::move(record), std::move(opening)};
}

core::Digest Auditor::seed_of(const protocol::Receipt& receipt) {
  const auto beacon = deps_.beacon ? deps_.beacon(receipt) : std::nullopt;
  return crypto::tagged_hash("commensal/auditors/audit/v1", protocol::receipt_id(receipt.body()),
                             beacon ? *beacon : deps_.rng.next_digest());
}

/// Of those who are there and were not passed over.
std::optional<crypto::Address> Auditor::draw(const core::Digest& receipt, Case& item) {
  if (!item.seed) {
    const auto record = deps_.book.find(receipt);
    if (!record) return std::nullopt;
    item.seed = seed_of(record->receipt);
  }
  std::vector<ledger::Candidate> candidates;
  for (const auto& [auditor, asked_ms] : there_) {
    if (item.passed_over.contains(auditor)) continue;
    candidates.push_back({auditor, deps_.lots ? deps_.lots(auditor) : 1});
  }
  const auto order = ledger::draw_order(*item.seed, candidates);
  return order.empty() ? std::nullopt : std::optional(order.front());
}

/// Who does not come is passed over where another is there.
bool Auditor::has_turn(const core::Digest& receipt, Case& item, const crypto::Address& auditor) {
  const bool is_drawn = item.turn_ms != 0 && there_.contains(item.auditor);
  if (is_drawn && item.auditor == auditor) return true;
  if (is_drawn && now_ms() < item.turn_ms + kTurnMs) return false;
  if (is_drawn) item.passed_over.insert(item.auditor);
  const auto drawn = draw(receipt, item);
  if (!drawn) return false;
  item.auditor = *drawn;
  item.turn_ms = now_ms();
  return *drawn == auditor;
}

std::optional<receipt::Assignment> Auditor::take(const crypto::Address& auditor) {
  asked_ms_ = there_[auditor] = now_ms();
  std::erase_if(there_, [&](const auto& one) { return one.second + kAbsentMs <= asked_ms_; });
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const core::Digest receipt = *at;
    const auto item = open_.find(receipt);
    if (item != open_.end() && !has_turn(receipt, item->second, auditor)) {
      ++at;
      continue;
    }
    at = waiting_.erase(at);
    if (item == open_.end()) continue;
    auto record = deps_.book.find(receipt);
    const bool is_public =
        record && record->receipt.job.auditors == protocol::AuditorClass::kPublic;
    if (record && (!is_public || !deps_.book.may_be_shown(*record))) {
      own_.push_back(provider_of(receipt), receipt);  // behind what is late
      pump();
      at = waiting_.begin();  // what waited may be with others now
      continue;
    }
    auto opening =
        record.and_then([this](const ReceiptRecord& one) { return deps_.book.opening(one); });
    if (!opening) {
      fail(receipt, opening.error());
      continue;
    }
    const std::uint64_t lease = ++leases_;
    item->second.lease = lease;
    ++item->second.leases;
    item->second.is_waiting = false;
    const bool is_training = record->receipt.job.states == protocol::StateRule::kFinite;
    deps_.loop.after(is_training ? kTrainingLeaseMs : kLeaseMs,
                     [this, receipt, lease] { end_lease(receipt, lease); });
    return receipt::Assignment{std::move(record->receipt),
                               std::move(record->model),
                               record->version,
                               record->model_content,
                               {},
                               {},
                               std::move(opening->task)};
  }
  return std::nullopt;
}

void Auditor::end_lease(const core::Digest& receipt, std::uint64_t lease) {
  const auto item = open_.find(receipt);
  if (item == open_.end() || item->second.lease != lease) return;
  Case& silent = item->second;
  silent.lease = 0;
  silent.turn_ms = 0;
  silent.passed_over.insert(silent.auditor);
  const bool has_another = silent.leases < kLeasesMax && draw(receipt, silent);
  has_another ? request(receipt) : request_here(receipt);
}

Result<void> Auditor::answer(const protocol::AuditReport& report) {
  const core::Digest& receipt = report.receipt_id;
  const auto item = open_.find(receipt);
  const bool is_its =
      item != open_.end() && item->second.lease != 0 && item->second.auditor == report.auditor;
  if (!is_its) {
    return core::fail(ErrorCode::kNotFound, "no audit of receipt {} is open to {}",
                      core::to_hex(receipt), crypto::to_text(report.auditor));
  }
  COMMENSAL_ASSIGN(Shown shown, show(receipt));
  COMMENSAL_TRY(read_file(deps_.book.folder(), shown));
  item->second.lease = 0;
  shown.record.report = report;
  COMMENSAL_TRY(deps_.book.update(shown.record));
  auto verdict = judge(shown, report.output_root);
  const bool is_match = verdict.outcome == protocol::Outcome::kMatch;
  const bool is_known = confirmed_.contains(shown.record.receipt.job.provider);
  if (!is_match || !is_known || deps_.rng.next_unit() < deps_.recheck_probability) {
    request_here(receipt);  // the auditor may be wrong, or lie
    return {};
  }
  conclude(receipt, std::move(verdict));
  return {};
}

void Auditor::pump() {
  const std::int64_t now = now_ms();
  const std::int64_t left_ms = asked_ms_ + kAbsentMs - now;
  // However busy auditors elsewhere are, nothing waits for them for ever.
  std::int64_t late_in_ms = 0;
  while (!waiting_.empty()) {
    const auto item = open_.find(waiting_.front());
    late_in_ms = item == open_.end() ? 0 : item->second.since_ms + kAbsentMs - now;
    if (left_ms > 0 && late_in_ms > 0) break;
    own_.push_back(provider_of(waiting_.front()), waiting_.front());
    waiting_.pop_front();
  }
  while (!is_replaying_) {
    const auto receipt = own_.pop();
    if (!receipt) break;
    if (open_.contains(*receipt)) replay(*receipt);
  }
  if (waiting_.empty() || std::exchange(looks_later_, true)) return;
  deps_.loop.after(std::min(left_ms, late_in_ms), [this] {
    looks_later_ = false;
    pump();
  });
}

/// On the loop of those that auditors elsewhere were shown, which are small.
Result<void> Auditor::read_file(const OpeningFolder& folder, Shown& shown) {
  if (!shown.record.is_in_file) return {};
  COMMENSAL_ASSIGN(shown.opening, folder.opening(shown.record.id()));
  return {};
}

crypto::Address Auditor::provider_of(const core::Digest& receipt) const {
  const auto record = deps_.book.find(receipt);
  return record ? record->receipt.job.provider : crypto::Address{};
}

void Auditor::replay(const core::Digest& receipt) {
  auto shown = show(receipt);
  if (!shown) return fail(receipt, shown.error());
  is_replaying_ = true;
  struct Work {
    Shown shown;
    Result<core::Digest> root;
    std::int64_t begin_ms = 0;
    std::stop_source stop;
  };
  const auto work = std::make_shared<Work>(Work{*std::move(shown), core::Digest{}, now_ms(), {}});
  const auto stop =
      std::make_shared<Stop>(closing_.get_token(), [work] { work->stop.request_stop(); });
  replay_ = work->stop;
  replay_ends_ms_ = work->begin_ms + limits::kAtWorkMsMax;
  watch();
  deps_.loop.offload(
      core::Loop::Lane::kComputing,
      [work, replayer = replayer_, path = deps_.hub.path_of(work->shown.record.model_content),
       folder = deps_.book.folder()] {
        work->root = read_file(folder, work->shown).and_then([&] {
          return replayer->replay(
              work->shown.opening.task, path,
              {.cancel = work->stop.get_token(), .ops_max = limits::kReplayOpsMax});
        });
      },
      [this, work, stop, receipt] {
        is_replaying_ = false;
        own_.spend(work->shown.record.receipt.job.provider, now_ms() - work->begin_ms);
        if (const auto item = open_.find(receipt); item != open_.end()) {
          const bool is_late = work->stop.stop_requested() && !closing_.stop_requested();
          if (is_late) item->second.tries = kTriesMax;
          item->second.took_ms += now_ms() - work->begin_ms;
        }
        if (work->root) {
          auto verdict = judge(work->shown, *work->root);
          if (verdict.outcome == protocol::Outcome::kMatch) {
            confirmed_.insert(work->shown.record.receipt.job.provider);
          }
          conclude(receipt, std::move(verdict));
        } else {
          fail(receipt, work->root.error());
        }
        pump();
      });
}

void Auditor::watch() {
  if (!is_replaying_ || std::exchange(is_watched_, true)) return;
  deps_.loop.after(replay_ends_ms_ - now_ms(), [this] {
    is_watched_ = false;
    if (is_replaying_ && now_ms() >= replay_ends_ms_) {
      replay_.request_stop();
    } else {
      watch();
    }
  });
}

std::optional<std::int64_t> Auditor::retry_ms(Case& item, ErrorCode code) const {
  if (code == ErrorCode::kOverBudget) return std::nullopt;  // the next try has as much to do
  // A worker that is lost says nothing about the answer, whatever has brought it down; but others
  // wait for what takes long.
  const bool is_lost = code == ErrorCode::kInternal || code == ErrorCode::kDeadlineExceeded;
  const bool is_wanting = code == ErrorCode::kUnavailable || code == ErrorCode::kResourceExhausted;
  const bool is_ours =
      item.tries < kTriesMax && (is_wanting || (is_lost && item.took_ms < kLostMsMax));
  if (is_ours && item.troubles++ == 0) item.troubled_since_ms = now_ms();
  if (is_ours && now_ms() - item.troubled_since_ms < kTroubleMsMax) {
    return std::min(kRetryMs << std::min(item.troubles - 1, 10), kTroubleRetryMsMax);
  }
  if (++item.tries >= kTriesMax) return std::nullopt;
  return item.tries == 1 ? kRetryMs : 10 * kRetryMs;
}

void Auditor::fail(const core::Digest& receipt, const core::Error& error) {
  const auto item = open_.find(receipt);
  if (item == open_.end()) return;  // answered meanwhile
  deps_.events.push(event::Failed{error});
  const auto wait_ms =
      closing_.stop_requested() ? std::nullopt : retry_ms(item->second, error.code);
  if (!wait_ms) {
    open_.erase(item);
    if (!closing_.stop_requested()) deps_.events.push(event::Unaudited{receipt});
    return;
  }
  item->second.is_waiting = true;
  deps_.loop.after(*wait_ms, [this, receipt] {
    if (!open_.contains(receipt)) return;
    own_.push_back(provider_of(receipt), receipt);
    pump();
  });
}

protocol::Verdict Auditor::judge(const Shown& shown, const core::Digest& root) const {
  return receipt::judge(shown.record.receipt.body(), root, shown.opening.output_salt, deps_.key);
}

void Auditor::conclude(const core::Digest& receipt, protocol::Verdict verdict) {
  if (open_.erase(receipt) == 0) return;  // answered meanwhile
  deps_.events.push(event::Audited{receipt, std::move(verdict)});
}

}  // namespace commensal::gateway
