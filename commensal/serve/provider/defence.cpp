// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/provider/defence.hpp>

namespace commensal::provider {

using core::Result;
using ledger::CaseStatus;

namespace {

constexpr std::int64_t kRetryMs = 250, kRetryMsMax = 60'000;

std::optional<CaseStatus> status_named(std::string_view name) {
  const auto names = ledger::enum_names(CaseStatus{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<CaseStatus>(found - names.begin());
}

/// Whether a case has more of what its provider says than before: its status, and how many moves.
std::pair<CaseStatus, std::size_t> own_part(const cases::Case& at) {
  const auto own = std::ranges::count(at.moves, false, &ledger::Arbiter::Said::by_accuser);
  return {at.status, static_cast<std::size_t>(own)};
}

}  // namespace

void Defence::on_connect() {
  ++stream_;
  cases_.clear();
}

void Defence::handle(rpc::Accused message) {
  const auto dispute = protocol::decode_stored<ledger::Dispute>(message.dispute);
  auto task = protocol::decode_stored<receipt::StepTask>(message.task);
  const crypto::Address own = deps_.key.address();
  if (!dispute || !task || dispute->accused != own || dispute->receipt.job.provider != own) return;
  const Key key{protocol::receipt_id(dispute->receipt.body()), dispute->accuser};
  if (cases_.size() >= limits::kCasesMax && !cases_.contains(key)) return;
  auto known = std::make_shared<Known>();
  known->at.key = key;
  known->at.dispute = *dispute;
  known->model = message.model;
  known->task = *std::move(task);
  known->task.inputs = std::move(message.inputs);
  known->task.outputs_before = std::move(message.outputs_before);
  cases_[key] = std::move(known);
}

void Defence::handle(rpc::CaseMoves message) {
  const Key key{message.subject, message.accuser};
  const auto found = cases_.find(key);
  const auto status = status_named(message.status);
  if (found == cases_.end() || !status) return;
  if (!ledger::is_pending(*status)) {
    last_ = fmt::format("receipt {}: {}", core::to_hex(message.subject), message.status);
    cases_.erase(found);
    return;
  }
  Known& known = *found->second;
  if (message.from > known.at.moves.size()) return;
  const bool is_news = !message.items.empty() || known.at.status != *status;
  known.at.status = *status;
  known.at.moves.resize(message.from);
  for (auto& [by_accuser, move] : message.items) {
    known.at.moves.push_back({by_accuser, std::move(move)});
  }
  if (is_news) {
    known.tries = 0;
    if (known.said == own_part(known.at)) return;  // what it has said is under way
    return answer(key);
  }
  known.said.reset();  // no news: it was refused
  retry(key);
}

bool Defence::needs(const core::Digest& model) const {
  return std::ranges::any_of(cases_, [&](const auto& one) { return one.second->model == model; });
}

/// Later and later.
void Defence::retry(const Key& key) {
  Known& known = *cases_.at(key);
  const std::int64_t wait_ms = std::min(kRetryMs << std::min(known.tries++, 10), kRetryMsMax);
  deps_.loop.after(wait_ms, [weak = weak_from_this(), key, stream = stream_] {
    const auto self = weak.lock();
    if (self && self->stream_ == stream && self->cases_.contains(key)) self->answer(key);
  });
}

void Defence::answer(const Key& key) {
  const std::shared_ptr<Known> known = cases_.at(key);
  if (computing_.contains(key)) return;
  if (!cases::has_turn(known->at, arbiter::Side::kProvider, arbiter_)) return;
  computing_.insert(key);
  const auto body = std::make_shared<Result<ledger::Body>>();
  deps_.loop.offload(
      core::Loop::Lane::kComputing,
      [body, at = known->at, known, deps = deps_, token = session_token_,
       path = deps_.cache.path_of(known->model)] {
        std::shared_ptr<rollout::Engine> engine;
        cases::Party party([&](const protocol::Job& job, const core::Path& file,
                               const std::stop_token& cancel) -> Result<rollout::Engine*> {
          COMMENSAL_ASSIGN(engine,
                           deps.executor->engine(known->model, job.feeds, file, token, cancel));
          return engine.get();
        });
        *body = party.next(at, arbiter::Side::kProvider, known->task, path, deps.key,
                           {.cancel = deps.closing, .ops_max = limits::kReplayOpsMax});
      },
      [self = shared_from_this(), body, key, known, stream = stream_,
       moves = known->at.moves.size(), status = known->at.status] {
        self->computing_.erase(key);
        self->deps_.cache.touch(known->model);
        const auto found = self->cases_.find(key);
        const bool is_same_stream = self->stream_ == stream && found != self->cases_.end();
        if (!is_same_stream) {
          if (found != self->cases_.end()) self->answer(key);
          return;
        }
        const cases::Case& now = found->second->at;
        if (now.moves.size() != moves || now.status != status) return self->answer(key);
        if (*body) found->second->said = own_part(now);
        self->say(key, *std::move(body));
      });
}

void Defence::say(const Key& key, Result<ledger::Body> body) {
  if (body) return deps_.purse.transact(*std::move(body));
  last_ = fmt::format("receipt {}: cannot answer an accusation: {}", core::to_hex(key.subject),
                      body.error().message);
  if (body.error().code != core::ErrorCode::kUnsupported) retry(key);
}

}  // namespace commensal::provider
