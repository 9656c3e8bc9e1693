// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/demo_auditor.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

namespace commensal::lab {

using core::Result;

namespace {

constexpr auto kPause = std::chrono::milliseconds(10);

}  // namespace

DemoAuditor::DemoAuditor(crypto::SecretKey key, client::Client client, core::Path model,
                         std::unique_ptr<rollout::EngineFactory> honest, Friendship friendship)
    : key_(std::move(key)),
      client_(std::move(client)),
      model_(std::move(model)),
      friend_(friendship.provider),
      honest_(std::move(honest)),
      friends_(std::move(friendship.engines)),
      party_([this](const protocol::Job& job, const core::Path& file,
                    const std::stop_token& cancel) { return friends_.engine(job, file, cancel); }) {
}

DemoAuditor::~DemoAuditor() = default;

Result<std::unique_ptr<DemoAuditor>> DemoAuditor::start(
    daemon::GatewayDaemon& gateway, const protocol::Amount& stake, const core::Path& model,
    std::unique_ptr<rollout::EngineFactory> honest, Friendship friendship) {
  core::SystemRng rng;
  COMMENSAL_ASSIGN(client::ClientOptions account, make_account(gateway, "trudy", "auditor"));
  COMMENSAL_ASSIGN(auto client, client::Client::create(account));
  std::unique_ptr<DemoAuditor> made(new DemoAuditor(crypto::SecretKey::generate(rng),
                                                    std::move(client), model, std::move(honest),
                                                    std::move(friendship)));
  COMMENSAL_TRY(made->lock(gateway, stake));
  // Before its first answer, so that the gateway knows that there is one.
  COMMENSAL_TRY(made->client_.take_audit(made->address()));
  made->thread_ = std::jthread([auditor = made.get()](const std::stop_token& stop) {
    while (!stop.stop_requested()) auditor->work();
  });
  return made;
}

Result<void> DemoAuditor::lock(daemon::GatewayDaemon& gateway, const protocol::Amount& stake) {
  Result<void> paid;
  gateway.ask([&](gateway::Gateway& live) {
    ledger_ = live.address();
    paid = live.deposit(address(), stake,
                        crypto::tagged_hash("commensal/demo/deposit", core::as_bytes("auditor")));
  });
  COMMENSAL_TRY(paid);
  COMMENSAL_TRY(book(ledger::Fund{ledger::AccountKind::kStake, stake}));
  return book(ledger::Enlist{});
}

Result<void> DemoAuditor::book(ledger::Body body) {
  ledger::Transaction made;
  made.ledger = ledger_;
  made.sender = address();
  made.nonce = nonce_;
  made.body = std::move(body);
  ledger::sign(key_, made);
  COMMENSAL_TRY(
      client_.post("/v1/transactions", "application/octet-stream", protocol::encode(made)));
  ++nonce_;
  return {};
}

void DemoAuditor::work() {
  // What is refused, as after its stake is gone, is not its loss.
  if (const auto done = defend(); done && *done) return;
  if (const auto done = audit(); done && *done) return;
  std::this_thread::sleep_for(kPause);
}

Result<bool> DemoAuditor::audit() {
  COMMENSAL_ASSIGN(const core::Bytes given, client_.take_audit(address()));
  if (given.empty()) return false;
  COMMENSAL_ASSIGN(const auto assignment, protocol::decode<receipt::Assignment>(given));
  if (assignment.accuser) return false;
  const bool is_friends = assignment.task.job.provider == friend_;
  COMMENSAL_ASSIGN(const core::Digest root,
                   (is_friends ? friends_ : honest_).replay(assignment.task, model_));
  COMMENSAL_TRY(client_.answer_audit(protocol::sign_report(
      key_, {protocol::receipt_id(assignment.receipt.body()), root, {}, {}})));
  return true;
}

Result<bool> DemoAuditor::defend() {
  COMMENSAL_ASSIGN(const core::Bytes given, client_.next_case(address()));
  if (given.empty()) return false;
  COMMENSAL_ASSIGN(const auto brief, protocol::decode<cases::Brief>(given));
  if (!brief.task) return core::fail(core::ErrorCode::kDataLoss, "a case without its step");
  COMMENSAL_ASSIGN(ledger::Body body,
                   party_.next(brief.at(), arbiter::Side::kProvider, *brief.task, model_, key_));
  COMMENSAL_TRY(book(std::move(body)));
  return true;
}

}  // namespace commensal::lab
