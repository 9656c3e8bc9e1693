// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/serve/cases/accusation.hpp>
#include <commensal/serve/cases/brief.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <cstdlib>

#include <tests/e2e/disputes.hpp>

namespace commensal::e2e {
namespace {

constexpr auto kPoll = std::chrono::microseconds(200);  // less than a move takes
constexpr int kPatienceS = 600;                         // for a whole dispute about a large network

}  // namespace

Network digits() { return {"digits", kModel, picture}; }

std::string torchvision_file(const std::string& name) {
  const char* const given = std::getenv("COMMENSAL_TORCHVISION");
  const char* const home = std::getenv("HOME");
  const core::Path folder =
      given != nullptr ? core::Path(given)
                       : core::Path(home == nullptr ? "." : home) / ".cache/commensal/torchvision";
  return (folder / (name + ".onnx")).string();
}

// ---- the journal ------------------------------------------------------------------------

Journal::Journal(const std::string& folder)
    : store_(*store::open_sqlite_store(core::Path(folder) / "state.sqlite")) {}

void Journal::read() {
  for (;;) {
    const auto value = store_->get(ledger::kJournalSpace, ledger::key_of(next_));
    if (!value || !*value) return;
    add(*protocol::decode<ledger::Entry>(**value));
    ++next_;
  }
}

void Journal::begin_anew() {
  read();
  accused = accuser = {};
  accusations = contested = conceded = reports = 0;
  is_over = false;
}

void Journal::add(const ledger::Entry& entry) {
  const ledger::Transaction& said = entry.transaction;
  if (const auto* const argued = std::get_if<ledger::Argue>(&said.body)) {
    Side& side = said.sender == argued->accuser ? accuser : accused;
    ++side.moves;
    side.bytes += argued->move.size();
  }
  accusations += std::holds_alternative<ledger::Accuse>(said.body) ? 1 : 0;
  contested += std::holds_alternative<ledger::Contest>(said.body) ? 1 : 0;
  conceded += std::holds_alternative<ledger::Concede>(said.body) ? 1 : 0;
  reports += std::holds_alternative<ledger::Report>(said.body) ? 1 : 0;
  for (const ledger::Posting& posting : entry.postings) {
    is_over = is_over || posting.from.kind == ledger::AccountKind::kBond;
  }
}

// ---- who takes part ---------------------------------------------------------------------

void Disputes::restart_gateway() {
  std::vector<std::string> arguments = {
      "--face-value",       "100000", "--stake-min",   kStake, "--round-ms", "50",
      "--hash-chain-depth", "14",     "--auditor-fee", "1000", "--escrow",   "20000000"};
  arguments.insert(arguments.end(), audits_.begin(), audits_.end());
  start_gateway(arguments);
}

void Disputes::open_court(const Network& network, const std::string& name) {
  if (gateway_ != nullptr) gateway_->kill();
  data_ = name;
  restart_gateway();
  ask({"account", "deposit", "@gateway", "40000000", "--reference", "penalties"});
  ask({"account", "lock", "penalty_escrow", "40000000"});
  ask({"account", "deposit", "@gateway", "100000", "--reference", "bonds"});
  ask({"account", "deposit", "operator", "10000000", "--reference", "transfer"});
  auto client = connect();
  const core::Bytes model = *core::read_file(network.file);
  client::PushRequest request;
  request.model = "operator/" + network.name;
  request.bytes = model;
  const auto pushed = client.push(request);
  ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
  journal_.emplace(folder_.at(data_));
}

std::unique_ptr<Process> Disputes::start_cheat(const std::string& name, const char* stake,
                                               const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "cheat",   "--gateway", "127.0.0.1:" + provider_port_, "--data-dir", folder_.at(name),
      "--stake", stake,       "--hash-chain-depth",          "14",         "--json"};
  words.insert(words.end(), more.begin(), more.end());
  auto cheat = std::make_unique<Process>(words, folder_.at(name + ".log"), COMMENSAL_LAB_PROGRAM);
  const std::string said = cheat->read_line();
  EXPECT_NE(said, "");
  if (!said.empty()) address_ = Json::parse(said).at("address");
  return cheat;
}

void Disputes::fund_stake() {
  ask({"account", "deposit", address_, kStake, "--yes"});
  wait_for([&] { return balance(address_, "stake") == kStake; });
}

client::Answer Disputes::answer(client::Client& client, const Network& network, std::uint64_t i) {
  for (int tries = 0; tries < 200; ++tries) {
    auto given = client.infer("operator/" + network.name, 0, network.inputs(i));
    if (given) return *given;
    last_error_ = given.error().message;
    pause_ms(50);
  }
  ADD_FAILURE() << last_error_;
  return {};
}

void Disputes::wait_for_match(client::Client& client, const core::Digest& receipt) {
  std::string audit;
  for (int tries = 0; tries < 2000 && audit != "matched"; ++tries) {
    const auto info = client.receipt(receipt);
    ASSERT_TRUE(info) << info.error().message;
    audit = info->audit;
    if (audit != "matched") pause_ms(10);
  }
  EXPECT_EQ(audit, "matched");
}

// ---- the case ---------------------------------------------------------------------------

std::vector<std::size_t> Disputes::play(std::span<const Victim> victims, std::size_t first,
                                        std::size_t every,
                                        const std::function<void()>& restart_accused) {
  std::vector<std::size_t> kills;
  std::size_t next = first;
  const core::SystemClock clock;
  const std::int64_t end_ns = clock.monotonic_ns() + std::int64_t{kPatienceS} * 1'000'000'000;
  for (journal_->read(); !journal_->is_over && clock.monotonic_ns() < end_ns; journal_->read()) {
    const bool is_time = journal_->accusations > 0 && journal_->moves() >= next;
    if (victims.empty() || !is_time) {
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    const bool is_gateway = victims[kills.size() % victims.size()] == Victim::kGateway;
    if (is_gateway) gateway_->kill();
    is_gateway ? restart_gateway() : restart_accused();
    kills.push_back(journal_->moves());
    next = journal_->moves() + every;
  }
  EXPECT_TRUE(journal_->is_over) << journal_->moves() << " moves";
  return kills;
}

void Disputes::expect_convicted() {
  EXPECT_EQ(balance(address_, "stake"), "0");
  EXPECT_EQ(journal_->accusations, 1);
  EXPECT_EQ(journal_->contested, 1);
  EXPECT_EQ(journal_->conceded, 0);
  EXPECT_EQ(journal_->reports, 0);
  EXPECT_GT(journal_->accused.moves, 0);
  EXPECT_GT(journal_->accuser.moves, 0);
}

void Disputes::verify_ledger() {
  gateway_->kill();
  int status = -1;
  const Json checked = Json::parse(
      run({"ledger", "verify", "--data-dir", folder_.at(data_), "--json"}, status), nullptr, false);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(checked.is_object());
  EXPECT_TRUE(checked.at("has_state").get<bool>());
}

void Disputes::send(client::Client& client, const crypto::SecretKey& key,
                    const ledger::Body& body) {
  for (int tries = 0; tries < 100; ++tries) {
    const Json now = Json::parse(
        *client.get_json("/v1/balances?owner=" + crypto::to_text(key.address())), nullptr, false);
    ledger::Transaction made;
    made.ledger = *crypto::address_from_text(now.at("ledger").get<std::string>());
    made.sender = key.address();
    made.nonce = now.at("nonce");
    made.body = body;
    ledger::sign(key, made);
    const auto sent =
        client.post("/v1/transactions", "application/octet-stream", protocol::encode(made));
    if (sent) return;
    ASSERT_EQ(sent.error().code, core::ErrorCode::kResourceExhausted) << sent.error().message;
    pause_ms(250);
  }
  ADD_FAILURE() << "it is never let in";
}

void Disputes::frame(client::Client& client, const crypto::SecretKey& key, const Network& network,
                     const core::Digest& receipt) {
  const auto info = client.receipt(receipt);
  ASSERT_TRUE(info) << info.error().message;
  const auto opening = protocol::decode<receipt::Opening>(*client.opening(receipt));
  ASSERT_TRUE(opening) << opening.error().message;
  const auto grounds = cases::grounds_of(*opening);
  ASSERT_TRUE(grounds) << grounds.error().message;
  send(client, key, cases::accusation_of(*info->receipt, *opening, *grounds));
  const auto engines = sim::make_bf16_cheat();
  std::unique_ptr<rollout::Engine> engine;
  cases::Party party([&](const protocol::Job& job, const core::Path& file,
                         const std::stop_token& cancel) -> core::Result<rollout::Engine*> {
    if (engine != nullptr) return engine.get();
    COMMENSAL_ASSIGN(engine, engines->load(file, job.feeds, cancel));
    return engine.get();
  });
  const core::SystemClock clock;
  const std::int64_t end_ns = clock.monotonic_ns() + std::int64_t{kPatienceS} * 1'000'000'000;
  for (journal_->read(); !journal_->is_over && clock.monotonic_ns() < end_ns; journal_->read()) {
    const auto given = client.next_case(key.address(), receipt);
    ASSERT_TRUE(given) << given.error().message;
    if (given->empty()) {
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    const auto brief = protocol::decode<cases::Brief>(*given);
    ASSERT_TRUE(brief) << brief.error().message;
    const auto body =
        party.next(brief->at(), arbiter::Side::kChallenger, opening->task, network.file, key);
    ASSERT_TRUE(body) << body.error().message;
    send(client, key, *body);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(journal_->is_over) << journal_->moves() << " moves";
}

}  // namespace commensal::e2e
