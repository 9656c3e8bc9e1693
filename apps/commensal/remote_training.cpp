// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/money_requests.hpp>
#include <apps/commensal/remote_model.hpp>
#include <apps/commensal/rollout_steps.hpp>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;

constexpr std::int64_t kNewsMs = 2'000;       // for news, at a time
constexpr std::int64_t kAwayMsMax = 120'000;  // a gateway, or a provider, is given up
constexpr int kVainMax = 3;                   // rollouts in a row that fail and bring nothing

/// A rollout, and the steps that were done before it.
struct Rollout {
  client::RolloutInfo info;
  std::int64_t began = 0;
  std::optional<tensor::NamedTensors> inputs = {};  // where this run knows them
  bool was_over = false;                            // when this run heard of it first
  std::uint64_t made_before = info.steps_done;      // likewise
};

/// Of a whole training, whatever segments it comes in.
struct Tally {
  std::uint64_t paid = 0;  // segments that were made in this run
  std::string waits_for;   // what was said last
  bool has_begun = false;  // a rollout
};

class Remote {
 public:
  Remote(train::Trainer& trainer, client::Client& client, RemoteModel model, bool audits_all,
         Tally& tally, TrainingReport& report, const std::stop_token& stop)
      : trainer_(trainer),
        client_(client),
        model_(std::move(model)),
        each_(model_.segment().each),
        audits_all_(audits_all),
        tally_(tally),
        report_(report),
        stop_(stop) {}

  /// As far as whole segments lead.
  Result<RemoteEnd> run() {
    const auto made = make_all();
    if (stop_.stop_requested()) cancel();
    COMMENSAL_TRY(made);
    return end_;
  }

 private:
  std::int64_t left() const { return trainer_.plan().steps - trainer_.done(); }

  Result<void> make_all() {
    find_price();
    COMMENSAL_ASSIGN(std::optional<Rollout> next, find_begun());
    int vain = 0;
    for (int attempt = 0; left() >= each_ && !stop_.stop_requested(); ++attempt) {
      const std::int64_t before = trainer_.done();
      if (!next) {
        COMMENSAL_ASSIGN(next, start(attempt));
      }
      const Rollout rollout = *std::exchange(next, std::nullopt);
      COMMENSAL_ASSIGN(const client::RolloutInfo info, follow(rollout));
      if (trainer_.done() != before) attempt = -1;
      // What failed in an earlier run is no failure of this one.
      const bool is_vain = trainer_.done() == before && info.state != "caught";
      vain = is_vain ? vain + (rollout.was_over ? 0 : 1) : 0;
      if (vain >= kVainMax) {
        return core::fail(ErrorCode::kFailedPrecondition, "step {} was not made: {}",
                          trainer_.done() + 1, why_ended(info));
      }
    }
    return {};
  }

  /// Nobody waits for more of it; what was made of it, the same command goes on from.
  void cancel() {
    if (!running_) return;
    const auto cancelled = client_.cancel_rollout(*running_);
    if (cancelled) return;
    report_.end();
    fmt::print(stderr, "rollout {} goes on: {}\n", core::to_hex(*running_),
               cancelled.error().message);
  }

  /// Where all segments are to be audited, those that are not are as good as none.
  client::RolloutInfo believed(client::RolloutInfo info) const {
    if (audits_all_) info.trusted_steps = std::min(info.trusted_steps, info.confirmed_steps);
    return info;
  }

  static std::string why_ended(const client::RolloutInfo& info) {
    if (!info.reason.empty()) return info.reason;
    if (info.state != "finished") return info.state;
    return fmt::format("no audit has confirmed segment {} of its {}", info.trusted_steps + 1,
                       info.steps);
  }

  /// Where there is money.
  void find_price() {
    const auto text = client_.get_json("/v1/ledger");
    const auto ledger = text ? parse_answer(*text) : Result<Json>(Json());
    if (!ledger || !ledger->contains("terms")) return;
    price_ = std::strtod(text_in(ledger->at("terms"), "price").c_str(), nullptr);
  }

  /// Of a training that goes on from a checkpoint: what began before it and is further, or may be.
  /// Error: kFailedPrecondition (its provider was caught since, and nobody vouches for it).
  Result<std::optional<Rollout>> find_begun() {
    std::optional<Rollout> found;
    if (trainer_.done() == 0) return found;
    const std::string beginning = model_.key() + "-";
    COMMENSAL_ASSIGN(std::vector<client::RolloutInfo> list, client_.rollouts(beginning));
    std::int64_t furthest = trainer_.done() - 1;
    bool is_vouched_for = false;
    std::optional<crypto::Address> caught;
    for (client::RolloutInfo& one : list) {
      const std::int64_t began = std::strtoll(one.key.c_str() + beginning.size(), nullptr, 10);
      if (began >= trainer_.done() || (trainer_.done() - began) % each_ != 0) continue;
      client::RolloutInfo info = believed(std::move(one));
      const std::int64_t end = began + static_cast<std::int64_t>(info.trusted_steps) * each_;
      is_vouched_for |= end >= trainer_.done();
      const std::int64_t made = began + static_cast<std::int64_t>(info.steps_done) * each_;
      if (info.state == "caught" && end < trainer_.done() && made >= trainer_.done())
        caught = info.provider;
      if (end <= furthest || (info.is_over() && end <= trainer_.done())) continue;
      furthest = end;
      found = Rollout{std::move(info), began};
    }
    if (caught && !is_vouched_for) return rests_on(*caught);
    return found;
  }

  /// A checkpoint cannot be gone back from.
  tl::unexpected<core::Error> rests_on(const crypto::Address& provider) const {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "{} may rest on steps of {}, who was caught: remove it, what audits have "
                      "confirmed is at the gateway",
                      trainer_.plan().checkpoint.string(), crypto::to_text(provider));
  }

  Result<Rollout> start(int attempt) {
    const client::RolloutOrder order = model_.order(trainer_, attempt);
    const auto ask = [&] {
      auto begun = client_.start_rollout(order);
      if (!begun) tell_waiting(begun.error().message);
      return begun;
    };
    COMMENSAL_ASSIGN(auto info, ask_again(clock_, kAwayMsMax, ask, stop_));
    const bool was_over = info.is_over();
    return Rollout{believed(std::move(info)), trainer_.done(), order.inputs, was_over};
  }

  /// To its end, or to where it cannot be right.
  Result<client::RolloutInfo> follow(const Rollout& rollout) {
    const train::Checkpoint before = trainer_.checkpoint();
    client::RolloutInfo info = rollout.info;
    auto taken = static_cast<std::uint64_t>((trainer_.done() - rollout.began) / each_);
    const auto open = [this, provider = info.provider,
                       inputs = rollout.inputs](const rollout::JobRecord& record) {
      return rollout::SignedSteps::open(record, provider, model_.graph(), model_.roots(), inputs);
    };
    steps_.emplace(client_, clock_, info.id, open, kAwayMsMax, stop_);
    running_ = info.id;
    tally_.has_begun = true;
    tell_begun(info);
    for (;;) {
      while (taken < info.trusted_steps && !stop_.stop_requested()) {
        COMMENSAL_ASSIGN(const bool is_right, take(rollout, info, taken + 1));
        if (!is_right) count(info, taken);
        if (!is_right) return info;
        ++taken;
      }
      if (stop_.stop_requested()) return info;
      if (info.is_over()) break;
      if (info.state == "running") tell_waiting(info.reason);
      const std::uint64_t seen = info.steps_done;
      const auto ask = [&] { return client_.rollout(info.id, seen, kNewsMs); };
      COMMENSAL_ASSIGN(auto news, ask_again(clock_, kAwayMsMax, ask, stop_));
      info = believed(std::move(news));
    }
    running_.reset();
    count(info, info.trusted_steps);
    if (trainer_.done() != before.step) confirm(rollout, info);
    const bool is_whole = info.trusted_steps == taken && taken == info.steps;
    if (info.state == "finished" && info.mismatches.empty() && is_whole) return info;
    COMMENSAL_TRY(go_back(rollout, info, before, taken));
    // Whoever made it could not have come further, if that is so.
    if (info.state == "failed" && info.reason.ends_with("is not finite"))
      COMMENSAL_TRY(make_here(info, info.reason));
    return info;
  }

  void count(const client::RolloutInfo& info, std::uint64_t taken) {
    end_.segments += taken;
    end_.audited += std::min(info.audits_matched, taken);
  }

  /// What is not trusted goes; what it cost is gone.
  Result<void> go_back(const Rollout& rollout, const client::RolloutInfo& info,
                       const train::Checkpoint& before, std::uint64_t taken) {
    if (info.trusted_steps < taken) {
      if (info.trusted_steps > 0) {
        COMMENSAL_ASSIGN(const auto outputs, steps_->outputs(info.trusted_steps));
        COMMENSAL_TRY(train::take_segment(trainer_, outputs, end_of(rollout, info.trusted_steps)));
      } else if (before.step == rollout.began) {
        COMMENSAL_TRY(trainer_.take(before));
      } else {
        return rests_on(info.provider);
      }
      report_.go_back(trainer_);
      COMMENSAL_TRY(trainer_.save());
    }
    const bool is_no_news = rollout.was_over && info.trusted_steps == 0;
    if (is_no_news || info.state == "cancelled") return {};
    const std::string why = why_ended(info);
    const std::string provider = crypto::to_text(info.provider);
    report_.tell(fmt::format("back to step {:>3}  {}: {}", trainer_.done(), provider, why),
                 {{"back_to", trainer_.done()}, {"provider", provider}, {"reason", why}});
    return {};
  }

  /// What audits have confirmed of it is, if all before it is.
  void confirm(const Rollout& rollout, const client::RolloutInfo& info) {
    if (trainer_.checkpoint().confirmed >= rollout.began)
      trainer_.confirm(end_of(rollout, info.confirmed_steps));
  }

  std::int64_t end_of(const Rollout& rollout, std::uint64_t step) const {
    return rollout.began + static_cast<std::int64_t>(step) * each_;
  }

  /// Returns false where it was made here instead.
  Result<bool> take(const Rollout& rollout, const client::RolloutInfo& info, std::uint64_t step) {
    const std::int64_t before = trainer_.done();
    COMMENSAL_ASSIGN(const auto outputs, steps_->outputs(step));
    if (!train::take_segment(trainer_, outputs, end_of(rollout, step))) {
      COMMENSAL_TRY(make_here(info, "what came is not finite, or counts other steps"));
      return false;
    }
    const bool is_new = step > rollout.made_before;
    if (is_new) ++tally_.paid;
    confirm(rollout, info);
    COMMENSAL_TRY(trainer_.keep_up(before));
    COMMENSAL_TRY(
        report_.show(trainer_, cost_of(is_new) + "  by " + crypto::to_text(info.provider)));
    return true;
  }

  /// What is to be said of it beside a step.
  std::string cost_of(bool is_new) const {
    if (price_ <= 0) return "";
    if (!is_new) return "  paid before";
    return fmt::format("  cost {:.0f}", price_ * static_cast<double>(tally_.paid));
  }

  /// A segment of which somebody says, or shows, what is hard to believe: where it is true, it is
  /// the training's own fault, and this fails as it does without a gateway.
  Result<void> make_here(const client::RolloutInfo& info, const std::string& why) {
    const std::string provider = crypto::to_text(info.provider);
    const std::int64_t first = trainer_.done() + 1;
    const train::Checkpoint before = trainer_.checkpoint();
    while (trainer_.done() < first - 1 + each_ && !stop_.stop_requested()) {
      COMMENSAL_TRY(trainer_.step());
      COMMENSAL_TRY(report_.show(trainer_, "  made here"));
    }
    if (trainer_.done() < first - 1 + each_) {  // the rest would be no whole segments
      COMMENSAL_TRY(trainer_.take(before));
      report_.go_back(trainer_);
      return trainer_.save();
    }
    COMMENSAL_TRY(trainer_.save());
    ++end_.segments;
    ++end_.audited;
    report_.tell(fmt::format("made here  steps {} to {}, not as by {}: {}", first, trainer_.done(),
                             provider, why),
                 {{"made_here", trainer_.done()}, {"provider", provider}, {"reason", why}});
    return {};
  }

  void tell_begun(const client::RolloutInfo& info) {
    const std::string id = core::to_hex(info.id), provider = crypto::to_text(info.provider);
    report_.tell(fmt::format("rollout {}  by {}", id, provider),
                 {{"rollout", id}, {"provider", provider}});
  }

  /// A wait that ends and comes again is no news.
  void tell_waiting(const std::string& why) {
    if (why.empty() || why == tally_.waits_for) return;
    report_.end();
    fmt::print(stderr, "waiting: {}\n", why);
    tally_.waits_for = why;
  }

  train::Trainer& trainer_;
  client::Client& client_;
  const RemoteModel model_;
  const std::int64_t each_;
  const bool audits_all_;
  Tally& tally_;
  TrainingReport& report_;
  const std::stop_token stop_;
  const core::SystemClock clock_;
  std::optional<RolloutSteps> steps_;    // of the present rollout
  double price_ = 0;                     // of a segment
  std::optional<core::Digest> running_;  // the present rollout
  RemoteEnd end_;
};

}  // namespace

struct AtGateway {
  client::Client client;
  std::optional<RemoteModel> model;  // of the segments that come next; none: to be pushed
  RemoteTraining remote;
};

Result<std::shared_ptr<AtGateway>> place_at_gateway(const train::Trainer& trainer,
                                                    const RemoteTraining& remote) {
  const train::Checkpoint& kept = trainer.checkpoint();
  if (remote.audits_all() && kept.confirmed < kept.step) {
    return core::fail(
        ErrorCode::kFailedPrecondition,
        "{}: no audit has confirmed its steps {} to {}, and all are to be: remove it, "
        "or ask for less than --audit-probability 1",
        trainer.plan().checkpoint.string(), kept.confirmed + 1, kept.step);
  }
  if (trainer.done() == trainer.plan().steps) return nullptr;
  COMMENSAL_ASSIGN(client::Client client, connect(remote.connection));
  COMMENSAL_ASSIGN(RemoteModel model, RemoteModel::push(trainer, client, remote));
  return std::make_shared<AtGateway>(AtGateway{std::move(client), std::move(model), remote});
}

namespace {

Result<RemoteEnd> go_to_end(train::Trainer& trainer, AtGateway& place, Tally& tally,
                            TrainingReport& report, const std::stop_token& stop) {
  if (trainer.done() == 0) COMMENSAL_TRY(trainer.evaluate());
  COMMENSAL_TRY(report.show(trainer));
  RemoteEnd end;
  while (trainer.done() < trainer.plan().steps && !stop.stop_requested()) {
    if (!place.model) {
      COMMENSAL_ASSIGN(place.model, RemoteModel::push(trainer, place.client, place.remote));
    }
    RemoteModel model = *std::exchange(place.model, std::nullopt);
    COMMENSAL_ASSIGN(const RemoteEnd made, Remote(trainer, place.client, std::move(model),
                                                  place.remote.audits_all(), tally, report, stop)
                                               .run());
    end.segments += made.segments;
    end.audited += made.audited;
  }
  return end;
}

/// Where a signal has ended it before the last step.
tl::unexpected<core::Error> stopped(const train::Trainer& trainer, const Tally& tally) {
  if (!tally.has_begun) {
    return core::fail(ErrorCode::kCancelled,
                      "stopped before step {} of {}: no rollout has begun, nothing was made yet",
                      trainer.done() + 1, trainer.plan().steps);
  }
  return core::fail(ErrorCode::kCancelled,
                    "stopped after step {} of {}: the gateway has its state, the same command goes "
                    "on from there",
                    trainer.done(), trainer.plan().steps);
}

}  // namespace

Result<RemoteEnd> train_at_gateway(train::Trainer& trainer, AtGateway& place,
                                   TrainingReport& report, const std::stop_token& stop) {
  Tally tally;
  auto end = go_to_end(trainer, place, tally, report, stop);
  if (stop.stop_requested() && trainer.done() < trainer.plan().steps)
    return stopped(trainer, tally);
  return end;
}

}  // namespace commensal::apps
