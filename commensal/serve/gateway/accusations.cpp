// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/cases/accusation.hpp>
#include <commensal/serve/gateway/accusations.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <utility>

namespace commensal::gateway {

using core::Result;
using ledger::CaseRow;
using ledger::CaseStatus;

namespace {

constexpr std::uint64_t kLookAgainMs = 60'000;  // at who is silent
constexpr std::int64_t kPlayAgainMs = 1'000,
                       kPlayAgainMsMax = 600'000;  // what could not be computed
constexpr std::int64_t kBringAgainMs = 10'000;     // of what could not be brought

}  // namespace

core::Digest Accusations::receipt_of(const CaseRow& row) {
  return protocol::receipt_id(row.dispute.receipt.body());
}

/// What a receipt's case is made of.
struct Accusations::Material {
  ReceiptRecord record;
  receipt::Opening opening;
  cases::Grounds grounds;
};

Accusations::Accusations(const Dependencies& deps)
    : deps_(deps),
      party_(std::make_shared<cases::Party>(
          [replayer = deps.replayer](const protocol::Job& job, const core::Path& model,
                                     const std::stop_token& cancel) {
            return replayer->engine(job, model, cancel);
          })) {}

void Accusations::open() {
  for (const auto& [key, row] : deps_.bank.state().cases.rows()) {
    if (key.accuser == deps_.bank.address() && is_pending(row.status)) mine_.insert(key);
  }
  for (const Key& key : mine_) play(key);
}

bool Accusations::concerns(const crypto::Address& provider) const {
  if (deps_.bank.state().accused.get(provider) > 0) return true;
  return std::ranges::any_of(due_, [&](const auto& one) { return one.second.accused == provider; });
}

std::set<core::Digest> Accusations::receipts() const {
  std::set<core::Digest> all;
  for (const auto& [subject, due] : due_) all.insert(due.receipt);
  for (const auto& [key, row] : deps_.bank.state().cases.rows()) {
    if (is_pending(row.status)) all.insert(receipt_of(row));
  }
  return all;
}

// ---- accusing ---------------------------------------------------------------------------

void Accusations::bring(const ReceiptRecord& record) {
  if (deps_.bank.state().cases.find({record.id(), deps_.bank.address()}) != nullptr) return;
  due_.emplace(record.id(), Due{record.id(), record.receipt.job.provider, {}});
  pump();
}

void Accusations::bring_report(const ReceiptRecord& record) {
  const ledger::State& state = deps_.bank.state();
  const CaseRow* const of_provider = state.cases.find({record.id(), deps_.bank.address()});
  if (!record.report || of_provider == nullptr) return;
  if (of_provider->status != CaseStatus::kConvicted ||
      record.report->output_root != of_provider->dispute.output_root) {
    return;
  }
  const core::Digest subject = protocol::report_id(*record.report);
  if (state.cases.find({subject, deps_.bank.address()}) != nullptr) return;
  due_.emplace(subject, Due{record.id(), record.report->auditor, record.report});
  pump();
}

bool Accusations::is_open_winner(const core::Digest& ticket) const {
  const ledger::ClaimRow* const claim = deps_.bank.state().claims.find(ticket);
  return claim != nullptr && claim->status == ledger::ClaimStatus::kOpen;
}

/// A conviction takes the whole stake of whoever is new: most other cases need not be brought.
bool Accusations::must_wait(const Due& due) const {
  const bool has_case = std::ranges::any_of(mine_, [&](const Key& key) {
    return deps_.bank.state().cases.find(key)->dispute.accused == due.accused;
  });
  if (!has_case || due.report) return has_case;
  const auto record = deps_.book.find(due.receipt);
  return !record || !is_open_winner(protocol::ticket_id(record->receipt.body()));
}

void Accusations::pump() {
  const std::int64_t now_ms = deps_.clock.monotonic_ns() / 1'000'000;
  for (const auto& [subject, due] : due_) {
    if (due.not_before_ms > now_ms || preparing_.contains(subject) || must_wait(due)) continue;
    preparing_.insert(subject);
    // Not now: it may take what is due away.
    deps_.loop.post([this, subject = subject, receipt = due.receipt] {
      with_material(receipt, [this, subject](const MaterialPtr& material) {
        preparing_.erase(subject);
        const auto found = due_.find(subject);
        if (found == due_.end()) return;
        if (material != nullptr) return accuse(subject, *material);
        put_off(subject);
        const auto record = deps_.book.find(found->second.receipt);
        const bool is_gone = !record && record.error().code == core::ErrorCode::kNotFound;
        if (is_gone) due_.erase(found);  // it is no longer kept
      });
    });
  }
}

void Accusations::accuse(const core::Digest& subject, const Material& material) {
  const Due due = due_.at(subject);
  if (must_wait(due)) return;  // another was brought meanwhile
  const protocol::Receipt& receipt = material.record.receipt;
  const bool has_stake = stake_of(deps_.bank.state(), due.accused) != protocol::Amount();
  if (!has_stake && (due.report || !is_open_winner(protocol::ticket_id(receipt.body())))) {
    due_.erase(subject);  // there is nothing to take, and nothing that would be paid
    return;
  }
  // Nothing of that is paid either.
  const auto& verdict = material.record.verdict;
  if (verdict && cases::is_refused(receipt, material.opening, verdict->recomputed_commitment)) {
    return void(due_.erase(subject));
  }
  // Nor of this one: its accusation would show private tensors to who reads the ledger.
  if (material.record.privacy_class && material.grounds.shows_tensors) {
    return void(due_.erase(subject));
  }
  const auto booked = deps_.bank.durably([&]() -> Result<void> {
    COMMENSAL_TRY(deps_.bank.submit(
        cases::accusation_of(receipt, material.opening, material.grounds, due.report)));
    return {};
  });
  deps_.events.report(booked);
  if (booked) mine_.insert({subject, deps_.bank.address()});
  // What it lacks the money for is tried again.
  const bool lacks = !booked && booked.error().code == core::ErrorCode::kFailedPrecondition;
  lacks ? put_off(subject) : void(due_.erase(subject));
}

void Accusations::put_off(const core::Digest& subject) {
  due_.at(subject).not_before_ms = deps_.clock.monotonic_ns() / 1'000'000 + kBringAgainMs;
}

void Accusations::with_material(const core::Digest& receipt,
                                std::function<void(const MaterialPtr&)> then) {
  if (const auto known = kept_.find(receipt); known != kept_.end()) return then(known->second);
  const auto made = std::make_shared<Material>();
  auto record = deps_.book.find(receipt);
  Result<receipt::Opening> opening;
  if (record && !record->is_in_file) opening = deps_.book.opening(*record);
  if (!record || !opening) {
    deps_.events.report(record ? opening.map([](auto&&) {}) : Result<void>{});
    return then(nullptr);
  }
  made->record = *std::move(record);
  made->opening = *std::move(opening);
  const auto done = std::make_shared<Result<void>>();
  deps_.loop.offload(
      core::Loop::Lane::kFiles,
      [made, done, folder = deps_.book.folder()] {
        *done = [&]() -> Result<void> {
          if (made->record.is_in_file) {
            COMMENSAL_ASSIGN(made->opening, folder.opening(made->record.id()));
          }
          COMMENSAL_ASSIGN(made->grounds, cases::grounds_of(made->opening));
          return {};
        }();
      },
      [this, made, done, receipt, then = std::move(then)] {
        deps_.events.report(*done);
        if (*done && is_kept(receipt)) {
          kept_[receipt] = made;
        }
        then(*done ? made : nullptr);
      });
}

/// Whether a case of it is pending.
bool Accusations::is_kept(const core::Digest& receipt) const {
  return std::ranges::any_of(deps_.bank.state().cases.rows(), [&](const auto& one) {
    return is_pending(one.second.status) && receipt_of(one.second) == receipt;
  });
}

// ---- the dispute ------------------------------------------------------------------------

cases::Case Accusations::case_of(const Key& key, const CaseRow& row) const {
  return {key, row.dispute, row.status, ledger::moves_of(deps_.bank.state(), key)};
}

void Accusations::on_moved(const Key& key) {
  const CaseRow* const row = deps_.bank.state().cases.find(key);
  if (row == nullptr) return;
  tell(key);
  if (is_pending(row->status)) return play(key);
  mine_.erase(key);
  failed_.erase(key);
  told_.erase(key);
  if (const core::Digest receipt = receipt_of(*row); !is_kept(receipt)) kept_.erase(receipt);
  pump();
}

void Accusations::play(const Key& key) {
  if (!mine_.contains(key) || playing_.contains(key) || closing_.stop_requested()) return;
  const CaseRow* const row = deps_.bank.state().cases.find(key);
  if (row->status != CaseStatus::kContested) return;
  if (!cases::has_turn(case_of(key, *row), arbiter::Side::kChallenger, deps_.bank.arbiter()))
    return;
  playing_.insert(key);
  with_material(receipt_of(*row),
                [this, key](const MaterialPtr& material) { compute(key, material); });
}

void Accusations::compute(const Key& key, const MaterialPtr& material) {
  const CaseRow* const row = deps_.bank.state().cases.find(key);
  if (material == nullptr) {
    return say(key, core::fail(core::ErrorCode::kUnavailable, "what the step was computed from"));
  }
  if (row->status != CaseStatus::kContested) return void(playing_.erase(key));
  const auto body = std::make_shared<Result<ledger::Body>>();
  deps_.loop.offload(
      core::Loop::Lane::kComputing,
      [body, material, party = party_, at = case_of(key, *row), secret = &deps_.key,
       path = deps_.hub.path_of(material->record.model_content), stop = closing_.get_token()] {
        *body = party->next(at, arbiter::Side::kChallenger, material->opening.task, path, *secret,
                            {.cancel = stop, .ops_max = limits::kReplayOpsMax});
      },
      [this, body, key] { say(key, *std::move(body)); });
}

void Accusations::say(const Key& key, Result<ledger::Body> body) {
  playing_.erase(key);
  const auto said = body.and_then([&](ledger::Body& next) { return book(std::move(next)); });
  if (said || closing_.stop_requested()) return void(failed_.erase(key));
  deps_.events.report(said);
  const std::int64_t wait_ms =
      std::min(kPlayAgainMs << std::min(failed_[key]++, 10), kPlayAgainMsMax);
  deps_.loop.after(wait_ms, [this, key] { play(key); });
}

Result<void> Accusations::book(ledger::Body body) {
  return deps_.bank.durably([&]() -> Result<void> {
    COMMENSAL_TRY(deps_.bank.submit(std::move(body)));
    return {};
  });
}

/// Also in others' cases: who is acquitted there need not ask for it.
void Accusations::tick() {
  pump();
  const auto now_ms = static_cast<std::uint64_t>(deps_.clock.wall_ms());
  if (now_ms < looks_again_ms_) return;
  looks_again_ms_ = now_ms + kLookAgainMs;
  std::vector<ledger::Body> steps;
  for (const auto& [key, row] : deps_.bank.state().cases.rows()) {
    auto step = ledger::due_step(deps_.bank.state(), key, row, now_ms);
    // Who could not be shown the inputs would pay for its silence.
    const bool is_call = step && std::holds_alternative<ledger::Summon>(*step);
    if (step && (!is_call || show(key, row))) steps.push_back(*std::move(step));
  }
  for (ledger::Body& step : steps) deps_.events.report(book(std::move(step)));
}

// ---- what the accused hears -------------------------------------------------------------

void Accusations::on_connected(const crypto::Address& provider) {
  const ledger::State& state = deps_.bank.state();
  if (state.accused.get(provider) == 0) return;
  for (const auto& [key, row] : state.cases.rows()) {
    if (row.dispute.accused == provider && is_pending(row.status)) tell(key);
  }
}

void Accusations::tell(const Key& key) {
  const CaseRow& row = *deps_.bank.state().cases.find(key);
  if (row.dispute.accused != row.dispute.receipt.job.provider) return;  // an auditor asks
  const Roster::Peer* const peer = deps_.roster.by_address(row.dispute.accused);
  if (peer == nullptr || peer->stream == nullptr) return;
  const auto told = told_.find(key);
  if (told != told_.end() && told->second.stream == peer->stream_id) {
    // Without news it takes what it said last for refused.
    const bool is_news = told->second.status != row.status || told->second.moves != row.moves;
    if (is_news) tell_on(peer->stream_id, key, nullptr);
    return;
  }
  if (!is_pending(row.status)) return;
  with_material(receipt_of(row), [this, key, stream = peer->stream_id](const MaterialPtr& given) {
    const auto known = told_.find(key);
    const bool is_told = known != told_.end() && known->second.stream == stream;  // meanwhile
    if (given == nullptr || is_told || !may_show(given->record, stream)) return;
    tell_on(stream, key, given);
  });
}

/// Who has computed an answer from private inputs may be vouched for no longer, and keeps none of
/// them: it can contest once it shows another statement, as silence convicts nobody.
bool Accusations::may_show(const ReceiptRecord& record, rpc::GatewayPort::StreamId stream) const {
  if (!record.privacy_class) return true;
  const Roster::Peer* const peer = deps_.roster.at(stream);
  if (peer == nullptr || !peer->privacy) return false;  // on_connected() follows what it shows
  const std::string why =
      why_not_shown(*peer->privacy, *record.privacy_class, deps_.clock.wall_ms());
  if (why.empty()) return true;
  deps_.events.report(Result<void>(core::fail(
      core::ErrorCode::kPermissionDenied,
      "'{}' is not told of the accusation of its receipt {}, nor shown the inputs: it {}",
      peer->name, core::to_hex(record.id()), why)));
  return false;
}

void Accusations::on_refused(rpc::GatewayPort::StreamId stream, const Key& key) {
  const auto told = told_.find(key);
  if (told != told_.end() && told->second.stream == stream) tell_on(stream, key, nullptr);
}

/// `material`: it has not heard of the case on this stream.
void Accusations::tell_on(rpc::GatewayPort::StreamId stream, const Key& key,
                          const MaterialPtr& material) {
  const Roster::Peer* const peer = deps_.roster.at(stream);
  const CaseRow& row = *deps_.bank.state().cases.find(key);
  if (peer == nullptr) return;
  Told& told = told_[key];
  if (material != nullptr) {
    told = {stream, 0, row.status};
    deps_.roster.grant(stream, material->record.model_content);
    receipt::StepTask task = material->opening.task;
    auto inputs = std::exchange(task.inputs, {});
    auto before = std::exchange(task.outputs_before, {});
    peer->stream->send(rpc::Accused{protocol::encode_stored(row.dispute).value_or(core::Bytes()),
                                    material->record.model_content,
                                    protocol::encode_stored(task).value_or(core::Bytes()),
                                    std::move(inputs), std::move(before)});
  }
  const auto moves = ledger::moves_of(deps_.bank.state(), key);
  rpc::CaseMoves news{key.subject,
                      key.accuser,
                      std::string(protocol::name_of(row.status)),
                      static_cast<std::uint32_t>(std::min(told.moves, moves.size())),
                      {}};
  for (std::size_t i = news.from; i < moves.size(); ++i) {
    news.items.push_back({moves[i].by_accuser, moves[i].move});
  }
  told.moves = moves.size();
  told.status = row.status;
  peer->stream->send(std::move(news));
}

}  // namespace commensal::gateway
