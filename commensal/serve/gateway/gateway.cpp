// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/gateway/gateway_state.hpp>
#include <commensal/trade/pay/ledger/draws.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <iterator>

namespace commensal::gateway {

using core::ErrorCode;

namespace {

/// For people: "serving", or why it gets no work.
std::string state_of(const Roster::Peer& peer, const std::string& reservation) {
  if (!peer.banned.empty()) return "banned: " + peer.banned;
  if (peer.stream == nullptr) return "gone";
  if (!peer.paused.empty()) return "paused: " + peer.paused;
  if (!reservation.empty()) return reservation;
  const Roster::Peer::Refusals& refusals = peer.refusals;
  if (refusals.count == 0 || peer.served > refusals.served) return "serving";
  return fmt::format("refused its last {} job(s): {}", refusals.count, refusals.why);
}

/// Settings under which a wrong answer pays are none to begin with.
core::Result<void> check_honesty(const GatewayConfig& config) {
  const MoneyConfig& money = config.money;
  if (money.face_value == protocol::Amount()) return {};
  const Honesty honesty =
      honesty_of(money.stake_min, expected_pay(money), {.floor = config.audit_probability});
  // Winners are audited whatever the desk says.
  const double least =
      money.win_probability + (1 - money.win_probability) * config.audit_probability;
  const double most = config.audit_by_risk ? 1 : least;
  if (honesty.audits <= most) return {};
  return core::fail(ErrorCode::kInvalidArgument,
                    "a stake of {} (--stake-min) deters nobody: a wrong answer saves up to {:.10g} "
                    "and, if it is audited, which {:.0f} % are at most, costs {:.10g}; give "
                    "--stake-min {:.0f} or more",
                    to_text(money.stake_min), honesty.saved, 100 * most, honesty.lost,
                    std::ceil(honesty.stake / most));
}

/// Free credit is test money.
core::Result<void> check_signup(const GatewayConfig& config) {
  const protocol::Amount credit = config.open_signup.value_or(protocol::Amount());
  const bool is_granted =
      config.money.test.is_granted && config.money.face_value != protocol::Amount();
  if (credit == protocol::Amount() || is_granted) return {};
  return core::fail(ErrorCode::kInvalidArgument,
                    "--open-signup {}: no test money is granted here, give 0, or --test-money",
                    to_text(credit));
}

/// Nor may confirming a wrong answer pay: it saves what a step costs, which is at most its pay.
core::Result<void> check_auditors(const GatewayConfig& config) {
  const MoneyConfig& money = config.money;
  if (!config.outside_auditors || money.face_value == protocol::Amount()) return {};
  const double pay = expected_pay(money);
  const double stake = ticket::to_double(money.rules.auditor_stake);
  if (config.recheck_probability * stake > pay) return {};
  return core::fail(ErrorCode::kInvalidArgument,
                    "an auditor's stake of {} deters nobody: what it confirms is looked at with "
                    "probability {:.10g} (--recheck-probability), and not to compute saves up to "
                    "{:.10g}; give more of either (--auditor-stake is a new ledger's)",
                    to_text(money.rules.auditor_stake), config.recheck_probability, pay);
}

}  // namespace

void Gateway::State::handle(StreamId stream, const rpc::Hello& message) {
  std::optional<StreamId> replaced;
  auto peer = lottery.check_chain(message.address, message.hash_chain).and_then([&] {
    return roster.welcome(stream, message, replaced);
  });
  if (!peer) {
    observer.on_error(peer.error());
    roster.refuse(stream, peer.error());
    return;
  }
  if (replaced) close(*replaced);
  const crypto::Address address = (*peer)->address;
  await_statements(stream);
  const bool is_welcome = (*peer)->banned.empty();
  if (is_welcome) events.report(test_money.give_stake(address));
  if (auto met = lottery.meet(address, message.hash_chain); !met) {
    observer.on_error(met.error());
    roster.refuse(stream, met.error());
    return;
  }
  observer.on_provider_connected(address, message.name);
  if (is_welcome) presence.on_connect(address);
  tell_balance(address);
  accusations.on_connected(address);
  recalls.on_connected(address);
  if (!is_welcome) return;
  rollouts.on_available(address);
  audit_policy.on_change(address);
  dispatcher.on_available();
}

void Gateway::State::close(StreamId stream) {
  steps.on_close(stream);
  dispatcher.on_free();
  rollouts.on_close();
}

void Gateway::State::handle(StreamId stream, const rpc::Pause& message) {
  Roster::Peer* peer = roster.at(stream);
  if (peer == nullptr) return;
  const bool is_news = peer->paused.empty();
  peer->paused = message.reason.empty() ? "no reason given" : message.reason;
  if (!is_news) return;
  ++peer->pauses;
  const std::int64_t now_ms = deps.clock.monotonic_ns() / 1'000'000;
  if (peer->pausing.is_too_often(now_ms)) return peer->stream->close();
  dispatcher.on_pause(stream);
}

void Gateway::State::handle(StreamId stream, const rpc::Refuse& message) {
  steps.on_refuse(stream, message);
}

void Gateway::State::handle(StreamId stream, const rpc::Resume&) {
  Roster::Peer* peer = roster.at(stream);
  if (peer == nullptr || peer->paused.empty()) return;
  peer->paused.clear();
  rollouts.on_available(peer->address);
  dispatcher.on_available();
}

Gateway::Gateway(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gateway::~Gateway() = default;

core::Result<std::unique_ptr<Gateway>> Gateway::create(const GatewayDependencies& deps,
                                                       const GatewayConfig& config) {
  core::check(deps.engines != nullptr, "somebody has said what audits compute with");
  std::error_code failed;
  std::filesystem::create_directories(config.folder / "models", failed);
  if (failed) {
    return core::fail(ErrorCode::kDataLoss, "cannot create '{}': {}", config.folder.string(),
                      failed.message());
  }
  COMMENSAL_TRY(check_honesty(config));
  COMMENSAL_TRY(check_signup(config));
  GatewayConfig known = config;
  COMMENSAL_ASSIGN(const auto founded, ledger::founding_rules(deps.store));
  if (founded) known.money.rules = *founded;
  COMMENSAL_TRY(check_auditors(known));
  auto state = std::make_unique<State>(deps, known);
  COMMENSAL_TRY(state->resume());
  state->tick();
  return std::unique_ptr<Gateway>(new Gateway(std::move(state)));
}

void Gateway::infer(InferRequest request, InferDone done) {
  state_->answers.submit(std::move(request), std::move(done));
}

std::optional<core::Error> Gateway::failure() const { return state_->store.broken(); }

void Gateway::when_durable(std::function<void(const core::Result<void>&)> done) {
  state_->store.when_durable(std::move(done));
}

void Gateway::report(core::Error error) { state_->events.push(event::Failed{std::move(error)}); }

std::string Gateway::why_not_ready(const ModelVersion* model) const {
  if (const auto failed = failure()) return "the gateway cannot write any more: " + failed->message;
  std::string privacy_class;
  if (model != nullptr) {
    if (!state_->hub.repository().is_loaded(model->name).value_or(true)) return "unloaded";
    const auto served = state_->hub.repository().config(model->name, model->version);
    if (served) privacy_class = (*served)->privacy_class;
    const std::string why = state_->privacy.why_not_served(privacy_class);
    if (!why.empty()) return why;
  }
  ModelVersion any;
  any.name = "any model";
  return state_->dispatcher.why_not_placed(model != nullptr ? *model : any, privacy_class);
}

Accounts& Gateway::accounts() { return state_->accounts; }
Quotas& Gateway::quotas() { return state_->quotas; }
ModelHub& Gateway::hub() { return state_->hub; }
Uploads& Gateway::uploads() { return state_->uploads; }
Rollouts& Gateway::rollouts() { return state_->rollouts; }

/// The operator's own have no stake, and count once.
std::uint64_t Gateway::State::lots_of(const crypto::Address& auditor) const {
  const ledger::State& now = bank.state();
  const protocol::Amount stake = now.balance(auditor, ledger::AccountKind::kStake);
  return std::max<std::uint64_t>(ledger::lots_of(stake, now.scalars.config), 1);
}

std::optional<core::Digest> Gateway::State::beacon_of(const protocol::Receipt& receipt) const {
  if (receipt.round == protocol::kNoDraw) return std::nullopt;
  const auto pair = ledger::pair_of(bank.state(), receipt);
  if (!pair) return std::nullopt;
  const auto ours = pair->gateway.value_of(receipt.round);
  const auto theirs = pair->provider.value_of(receipt.round);
  if (!ours || !theirs) return std::nullopt;  // it is not drawn yet
  return protocol::beacon_value(receipt.round, *ours, *theirs);
}

core::Result<std::optional<receipt::Assignment>> Gateway::take_audit(const crypto::Address& auditor,
                                                                     bool is_ours) {
  if (!is_ours) COMMENSAL_TRY(state_->check_auditor(auditor));
  auto due = state_->accusations.take(auditor);
  return due ? std::move(due) : state_->auditor.take(auditor);
}

std::optional<cases::Brief> Gateway::next_case(const crypto::Address& party, arbiter::Side side,
                                               const cases::Wanted& wanted) const {
  return state_->accusations.next(party, side, wanted);
}

const ledger::Arbiter& Gateway::arbiter() const { return state_->bank.arbiter(); }
core::Result<std::optional<cases::Place>> Gateway::dispute_place(const ledger::CaseKey& key) {
  return state_->bank.place_of(key);
}

core::Result<void> Gateway::answer_audit(const protocol::AuditReport& report, bool is_ours) {
  COMMENSAL_TRY(protocol::verify_report(report, state_->config.money.rules.chain_id));
  if (!is_ours) COMMENSAL_TRY(state_->check_auditor(report.auditor));
  return state_->auditor.answer(report);
}

void Gateway::stop_computing() {
  state_->auditor.stop();
  state_->accusations.stop();
}
ReceiptBook& Gateway::receipts() { return state_->book; }
crypto::Address Gateway::address() const { return state_->deps.key.address(); }

core::Result<NewAccount> Gateway::create_account(const std::string& name, Role role) {
  COMMENSAL_ASSIGN(std::string token, accounts().create(name, role, state_->test_money.owe(name)));
  const auto credit = state_->test_money.give_credit(name);
  state_->events.report(credit);  // it may have more at the next start
  return NewAccount{std::move(token), credit.value_or(protocol::Amount())};
}

core::Result<NewAccount> Gateway::sign_up(const std::string& name, std::string_view code) {
  Invitations::Use use;
  const bool is_invited = !code.empty();
  if (is_invited) {
    COMMENSAL_ASSIGN(use, state_->invitations.use(code));
  } else if (state_->config.open_signup) {
    use.credit = *state_->config.open_signup;
  } else {
    return core::fail(ErrorCode::kPermissionDenied,
                      "accounts are for who is invited here: send the invitation's code");
  }
  use.writes.push_back(TestMoney::promise(name, use.credit));
  std::ranges::move(state_->test_money.owe(name), std::back_inserter(use.writes));
  const auto create = [&] {
    return is_invited ? accounts().create(name, Role::kConsumer, std::move(use.writes))
                      : accounts().create_uninvited(name, state_->config.open_signups_max,
                                                    std::move(use.writes));
  };
  NewAccount made;
  COMMENSAL_TRY(state_->store.together([&]() -> core::Result<void> {
    COMMENSAL_ASSIGN(made.token, create());
    const auto credit = state_->test_money.give_credit(name);
    state_->events.report(credit);  // as above
    made.credit = credit.value_or(protocol::Amount());
    return {};
  }));
  return made;
}

core::Result<std::string> Gateway::invite(const Invitation& terms) {
  if (terms.credit != protocol::Amount() && !state_->test_money.is_on()) {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "credit: {}, but this gateway grants no test money: expected 0",
                      to_text(terms.credit));
  }
  return state_->invitations.make(terms);
}

const core::Clock& Gateway::clock() const { return state_->deps.clock; }
Invitations& Gateway::invitations() { return state_->invitations; }
ActLog& Gateway::acts() { return state_->acts; }

core::Result<void> Gateway::with_act(Act& act, const std::function<void()>& run) {
  return state_->store.together([&] {
    run();
    return state_->acts.add(act);
  });
}

core::Result<void> Gateway::remove_account(const std::string& name) {
  const auto refuse = [&name](std::string_view why) {
    return core::fail(core::ErrorCode::kFailedPrecondition, "the account '{}' {}", name, why);
  };
  COMMENSAL_ASSIGN(const auto account, accounts().find(name));
  if (account && account->role == Role::kOperator) return refuse("is an operator's");
  const Account gateway_itself{.name = "", .role = Role::kOperator};
  // Those of an owner stand together.
  COMMENSAL_ASSIGN(const auto models, hub().list(&gateway_itself, name + "/"));
  if (!models.empty() && models.front()->owner == name) {
    return refuse(fmt::format("has the model '{}'", models.front()->name));
  }
  for (const auto kind : {ledger::AccountKind::kAvailable, ledger::AccountKind::kCredit}) {
    const protocol::Amount left = ledger().balance(account_address(name), kind);
    const bool is_a_gift = money().test.is_so && kind == ledger::AccountKind::kCredit;
    if (left == protocol::Amount() || is_a_gift) continue;
    return refuse(fmt::format("has {} left, {}", to_text(left), protocol::name_of(kind)));
  }
  COMMENSAL_TRY(uploads().drop_all(name));
  return accounts().remove(name);
}

std::vector<ProviderInfo> Gateway::providers() const {
  std::vector<ProviderInfo> infos;
  for (const auto& [address, peer] : state_->roster.peers()) {
    infos.push_back({.address = address,
                     .name = peer.name,
                     .state = state_of(peer, state_->lottery.reservation(address)),
                     .connected = peer.stream != nullptr,
                     .banned = peer.banned,
                     .paused = peer.paused,
                     .queued = peer.in_flight,
                     .served = peer.served,
                     .stake = ledger().balance(address, ledger::AccountKind::kStake),
                     .cached_models = peer.cached.size(),
                     .audit_probability = state_->audit_policy.probability(address),
                     .privacy = still_held(peer.privacy, state_->deps.clock.wall_ms()),
                     .host = peer.host});
  }
  return infos;
}

Load Gateway::load() const {
  const auto connected = std::ranges::count_if(
      state_->roster.peers(), [](const auto& peer) { return peer.second.stream != nullptr; });
  return {.providers_connected = static_cast<std::size_t>(connected),
          .jobs_waiting = state_->dispatcher.waiting(),
          .jobs_running = state_->dispatcher.running()};
}

ProviderRisk Gateway::risk(const crypto::Address& provider) {
  AuditPolicy& audit_policy = state_->audit_policy;
  RiskFacts facts = audit_policy.facts(provider);
  const double probability = audit_policy.ask(facts);
  return ProviderRisk{std::move(facts), audit_policy.terms(), audit_policy.by_risk(), probability};
}

std::size_t Gateway::audits_pending() const {
  return state_->auditor.pending() + state_->consequences.pending() + state_->deliveries.pending() +
         state_->events.pending();
}

std::size_t Gateway::accusations_pending() const { return state_->accusations.pending(); }

Gateway::StreamId Gateway::on_open(std::shared_ptr<rpc::ProviderStream> stream,
                                   const rpc::Channel& channel, const std::string& from) {
  const StreamId id =
      state_->roster.admit(std::move(stream), channel, from, state_->lottery.position());
  state_->loop.after(limits::kHelloWaitMs,
                     [state = state_.get(), id] { state->roster.end_wait(id); });
  return id;
}

void Gateway::on_message(StreamId stream, rpc::ToGateway message) {
  const bool is_hello = std::holds_alternative<rpc::Hello>(message);
  if (!is_hello && !state_->roster.is_heard(stream)) return;
  std::visit([&](auto& word) { state_->handle(stream, word); }, message);
}

void Gateway::on_close(StreamId stream) {
  const Roster::Peer* peer = state_->roster.at(stream);
  if (peer != nullptr) {
    state_->observer.on_provider_lost(peer->address, "the stream ended");
    state_->presence.on_leave(peer->address);
  }
  state_->roster.leave(stream);
  state_->close(stream);
}

core::Result<std::string> Gateway::model_path(const std::string& session_token,
                                              const core::Digest& model,
                                              const core::Digest& provider_certificate) {
  COMMENSAL_TRY(state_->roster.may_fetch(session_token, model, provider_certificate));
  return state_->hub.path_of(model).string();
}

}  // namespace commensal::gateway
