// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/panel/case.hpp>

namespace commensal::panel {
namespace {

using core::ErrorCode;
using core::fail;

/// Precondition: the terms bound every sum (Terms::validity).
Amount sum(const Amount& a, const Amount& b) {
  const auto made = a.plus(b);
  core::check(made.has_value(), "stakes beyond what the terms allow");
  return *made;
}

/// How long each stage lasts.
constexpr std::uint64_t Terms::*kDurations[] = {&Terms::objection_ms, &Terms::draw_ms,
                                                &Terms::commit_ms,    &Terms::reveal_ms,
                                                &Terms::appeal_ms,    &Terms::arbiter_ms};

}  // namespace

std::span<const std::string_view> enum_names(Stage) {
  static constexpr std::string_view kNames[] = {"client", "draw",    "commit", "reveal",
                                                "appeal", "arbiter", "closed"};
  return kNames;
}

Case::Case(const Terms& terms, std::uint64_t at_ms, std::uint64_t round)
    : terms_(terms), id_(case_id(terms)), at_ms_(at_ms), round_(round), holder_stakes_(terms.bond) {
  enter(Stage::kClient, at_ms);
}

Result<Case> Case::open(const Terms& terms, std::uint64_t at_ms, std::uint64_t round) {
  COMMENSAL_TRY(terms.validity());
  Event opening;
  opening.at_ms = at_ms;
  opening.round = round;
  COMMENSAL_TRY(opening.validity());
  return Case(terms, at_ms, round);
}

Result<void> Case::expect_next(const Event& event) const {
  COMMENSAL_TRY(event.validity());
  if (event.number < events_) {
    return fail(ErrorCode::kAlreadyExists, "event: number {} again, expected {}", event.number,
                events_);
  }
  if (event.number > events_) {
    return fail(ErrorCode::kFailedPrecondition, "event: number {}, expected {}", event.number,
                events_);
  }
  if (event.at_ms < at_ms_ || event.round < round_) {
    return fail(ErrorCode::kFailedPrecondition,
                "event: at {} ms, round {}; expected at least {} ms, round {}", event.at_ms,
                event.round, at_ms_, round_);
  }
  if (stage_ == Stage::kClosed)
    return fail(ErrorCode::kFailedPrecondition, "the case is closed, expected an open one");
  const bool in_time = event.kind != EventKind::kMove && event.kind != EventKind::kDraw;
  if (!in_time && event.at_ms >= deadline_ms_) {
    return fail(ErrorCode::kDeadlineExceeded, "too late: at {} ms, expected before {} ms",
                event.at_ms, deadline_ms_);
  }
  return {};
}

Result<void> Case::apply(const Event& event) {
  COMMENSAL_TRY(expect_next(event));
  COMMENSAL_ASSIGN(const Deed deed, deed_of(event));
  COMMENSAL_TRY(std::visit([&](const auto& one) { return run(one, event); }, deed));
  at_ms_ = event.at_ms;
  round_ = event.round;
  ++events_;
  return {};
}

std::optional<Ruling> Case::ruling() const {
  for (auto one = instances_.rbegin(); one != instances_.rend(); ++one) {
    if (one->ruling) return one->ruling;
  }
  return {};
}

const Address* Case::turn() const {
  if (stage_ == Stage::kClient) return &terms_.client;
  if (stage_ != Stage::kAppeal) return nullptr;
  return ruling() == Ruling::kForClient ? &terms_.holder : &terms_.client;
}

Amount Case::staked() const { return sum(client_stakes_, holder_stakes_); }

std::vector<Address> Case::pool() const {
  std::vector<Address> left = terms_.auditors;
  std::erase_if(left, [&](const Address& one) {
    return std::ranges::any_of(instances_, [&](const Instance& instance) {
      return std::ranges::find(instance.ballots, one, &Ballot::member) != instance.ballots.end();
    });
  });
  return left;
}

std::optional<Instance> Case::next_instance() const {
  Instance next;
  for (const Instance& asked : instances_) {
    if (asked.arbiter) return {};
    next.size = 2 * asked.size + 1;
  }
  if (instances_.size() <= terms_.appeals_max && pool().size() >= next.size) return next;
  if (terms_.arbiter == Address{}) return {};
  next.size = 1;
  next.arbiter = true;
  return next;
}

std::optional<Amount> Case::stake_asked() const {
  const auto next = next_instance();
  if (turn() == nullptr || !next) return {};
  if (next->arbiter) return sum(terms_.arbiter_fee, terms_.deposit);
  const auto fees = terms_.fee.times(Amount(next->size));
  core::check(fees.has_value(), "fees beyond what the terms allow");
  return sum(*fees, terms_.deposit);
}

void Case::enter(Stage stage, std::uint64_t at_ms) {
  stage_ = stage;
  deadline_ms_ = at_ms + terms_.*kDurations[static_cast<std::size_t>(stage)];
}

void Case::enter_instance(Instance instance, const Amount& stake, const Event& event) {
  Amount& stakes = instance.asker == terms_.client ? client_stakes_ : holder_stakes_;
  stakes = sum(stakes, stake);
  // Nobody may know the beacon when a party chooses to ask.
  instance.draw_round = event.round + 1;
  if (instance.arbiter) instance.ballots = {{terms_.arbiter, {}, {}}};
  const Stage stage = instance.arbiter ? Stage::kArbiter : Stage::kDraw;
  instances_.push_back(std::move(instance));
  enter(stage, event.at_ms);
}

void Case::count_votes(const Event& event) {
  Instance& instance = instances_.back();
  std::size_t votes[2] = {};
  for (const Ballot& ballot : instance.ballots) {
    if (ballot.ruling) ++votes[static_cast<std::size_t>(*ballot.ruling)];
  }
  if (votes[0] == votes[1]) return go_without_ruling(event);
  instance.ruling = votes[0] > votes[1] ? Ruling::kForClient : Ruling::kForHolder;
  if (!next_instance()) return close(Ending::kLastRuling);
  enter(Stage::kAppeal, event.at_ms);
}

void Case::go_without_ruling(const Event& event) {
  const Address asker = instances_.back().asker;
  if (instances_.back().arbiter || terms_.arbiter == Address{}) return close(Ending::kLastRuling);
  Instance last;
  last.arbiter = true;
  last.asker = asker;
  // Its fee is in the deposit of who asked for the vote that failed.
  enter_instance(std::move(last), Amount(), event);
}

void Case::close(Ending ending) {
  const bool stands = ruling().value_or(Ruling::kForHolder) == Ruling::kForHolder;
  pay(stands ? terms_.face : Amount(), Amount(), ending);
}

void Case::pay(const Amount& to_holder, const Amount& to_client, Ending ending) {
  const bool settled = ending == Ending::kSettled;
  Outcome made{ending, to_holder, to_client, {}};
  Amount client = client_stakes_;
  Amount holder = holder_stakes_;
  for (const Instance& instance : instances_) {
    Amount& pays = instance.asker == terms_.client ? client : holder;
    const Amount& fee = instance.arbiter ? terms_.arbiter_fee : terms_.fee;
    for (const Ballot& ballot : instance.ballots) {
      const bool cut_short = settled && &instance == &instances_.back() && !instance.ruling;
      const bool voted = ballot.ruling || (cut_short && ballot.commitment);
      if (!voted || (instance.ruling && ballot.ruling != instance.ruling)) continue;
      const auto rest = pays.minus(fee);
      core::check(rest.has_value(), "a stake that does not cover its fees");
      pays = *rest;
      if (fee != Amount()) made.payouts.push_back({ballot.member, fee});
    }
  }
  const bool stands = ruling().value_or(Ruling::kForHolder) == Ruling::kForHolder;
  if (!settled) {
    const Amount all = sum(client, holder);
    client = stands ? Amount() : all;
    holder = stands ? all : Amount();
  }
  if (client != Amount()) made.payouts.push_back({terms_.client, client});
  if (holder != Amount()) made.payouts.push_back({terms_.holder, holder});
  outcome_ = std::move(made);
  stage_ = Stage::kClosed;
  deadline_ms_ = 0;
}

}  // namespace commensal::panel
