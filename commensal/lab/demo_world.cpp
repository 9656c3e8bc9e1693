// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <commensal/lab/demo_auditor.hpp>
#include <commensal/lab/demo_world.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <thread>

namespace commensal::lab {
namespace {

constexpr int kConnectWaits = 200;
constexpr auto kConnectWait = std::chrono::milliseconds(25);

core::Result<std::string> read_token(const core::Path& file) {
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file, 4096));
  std::string token(core::as_text(bytes));
  while (!token.empty() && token.back() == '\n') token.pop_back();
  return token;
}

}  // namespace

core::Result<void> wait_for_providers(daemon::GatewayDaemon& gateway, std::size_t expected) {
  for (int i = 0; i < kConnectWaits; ++i) {
    std::size_t connected = 0;
    gateway.ask([&](gateway::Gateway& live) {
      for (const auto& info : live.providers()) connected += info.connected ? 1 : 0;
    });
    if (connected == expected) return {};
    std::this_thread::sleep_for(kConnectWait);
  }
  return core::fail(core::ErrorCode::kUnavailable, "the providers did not connect to the gateway");
}

core::Result<client::ClientOptions> make_account(const daemon::GatewayDaemon& gateway,
                                                 const std::string& name, const std::string& role) {
  client::ClientOptions options{.url = fmt::format("http://127.0.0.1:{}", gateway.http_port()),
                                .token = ""};
  COMMENSAL_ASSIGN(options.token, read_token(gateway.token_file()));
  COMMENSAL_ASSIGN(auto as_operator, client::Client::create(options));
  COMMENSAL_ASSIGN(const auto account, as_operator.create_account(name, role));
  options.token = account.token;
  return options;
}

core::Result<void> push_model(const client::ClientOptions& consumer, const std::string& name,
                              core::ByteView model) {
  COMMENSAL_ASSIGN(auto client, client::Client::create(consumer));
  COMMENSAL_TRY(client.push({.model = name,
                             .bytes = model,
                             .is_private = false,
                             .allowed_providers = {},
                             .progress = {}}));
  return {};
}

void DemoRecorder::add_provider(const crypto::Address& address, const std::string& name,
                                bool honest) {
  const std::lock_guard lock(mutex_);
  places_[address] = report_.providers.size();
  DemoProvider provider;
  provider.name = name;
  provider.address = crypto::to_text(address);
  provider.honest = honest;
  report_.providers.push_back(std::move(provider));
}

DemoProvider* DemoRecorder::find(const crypto::Address& address) {
  const auto place = places_.find(address);
  return place == places_.end() ? nullptr : &report_.providers[place->second];
}

void DemoRecorder::answered(bool is_correct) {
  const std::lock_guard lock(mutex_);
  ++report_.requests;
  report_.correct += is_correct ? 1 : 0;
}

DemoReport DemoRecorder::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void DemoRecorder::edit(const std::function<void(DemoReport&)>& change) {
  const std::lock_guard lock(mutex_);
  change(report_);
}

void DemoRecorder::on_provider_banned(const crypto::Address& address, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (DemoProvider* provider = find(address)) provider->banned = why;
}

void DemoRecorder::on_receipt(const gateway::ReceiptRecord& record) {
  const std::lock_guard lock(mutex_);
  ++report_.receipts;
  if (DemoProvider* provider = find(record.receipt.job.provider)) ++provider->served;
}

void DemoRecorder::on_verdict(const gateway::ReceiptRecord& record) {
  const std::lock_guard lock(mutex_);
  ++report_.audits;
  DemoProvider* provider = find(record.receipt.job.provider);
  if (provider == nullptr) return;
  ++provider->audited;
  if (record.audit == gateway::AuditState::kMatched) {
    if (provider->honest) report_.sample_receipt = core::to_hex(record.id());
    return;
  }
  ++provider->audits_failed;
  if (provider->honest) {
    ++report_.audits_failed_honest;
  } else if (!report_.cheat_caught) {
    report_.cheat_caught = true;
    report_.cheat_at_receipt = record.number;
    report_.cheat_receipt = core::to_hex(record.id());
  }
}

void DemoRecorder::on_judged(const gateway::ReceiptRecord& record,
                             const gateway::Judgement& judgement) {
  const std::lock_guard lock(mutex_);
  const DemoProvider* provider = find(record.receipt.job.provider);
  if (provider == nullptr || provider->honest || judgement.event == ticket::Event::kPay) return;
  DemoMoney& money = report_.money;
  money.cheat_slashed = money.cheat_slashed.plus(judgement.taken).value_or(judgement.taken);
  money.cheat_burnt = money.cheat_burnt.plus(judgement.burnt).value_or(judgement.burnt);
}

void DemoRecorder::on_case(const ledger::CaseKey&, const ledger::CaseRow& row,
                           const ledger::Entry& entry) {
  const bool is_auditor = row.dispute.accused != row.dispute.receipt.job.provider;
  if (!is_auditor || row.status != ledger::CaseStatus::kConvicted) return;
  const std::lock_guard lock(mutex_);
  protocol::Amount& lost = report_.money.auditor_slashed;
  for (const ledger::Posting& posting : entry.postings) {
    const bool is_its =
        posting.from == ledger::AccountId{row.dispute.accused, ledger::AccountKind::kStake};
    if (is_its) lost = lost.plus(posting.amount).value_or(lost);
  }
}

void DemoRecorder::on_replaced(const gateway::ReceiptRecord&, const gateway::ReceiptRecord&) {
  const std::lock_guard lock(mutex_);
  ++report_.replaced;
}

DemoWorld::DemoWorld() = default;
DemoWorld::DemoWorld(DemoWorld&&) noexcept = default;
DemoWorld::~DemoWorld() = default;

core::Result<DemoWorld> DemoWorld::start(const DemoOptions& options, DemoRecorder& recorder) {
  DemoWorld world;
  daemon::GatewayDaemonConfig gateway;
  gateway.folder = options.folder / "gateway";
  gateway.http_port = 0;
  gateway.provider_address = "127.0.0.1:0";
  world.terms = sim::play_terms(options.audit_probability, options.requests);
  gateway.gateway.audit_probability = 0;  // beyond the winners, which always are
  gateway.gateway.outside_auditors = true;
  gateway.gateway.money = world.terms.gateway;
  gateway.engines = options.engines();
  COMMENSAL_ASSIGN(world.gateway, daemon::GatewayDaemon::start(gateway, &recorder));

  const auto add = [&](const std::string& name, std::unique_ptr<rollout::EngineFactory> engines,
                       bool is_honest) -> core::Result<void> {
    daemon::ProviderDaemonConfig config;
    config.folder = options.folder / name;
    config.gateway = fmt::format("127.0.0.1:{}", world.gateway->provider_port());
    config.name = name;
    config.purse = world.terms.provider;
    COMMENSAL_ASSIGN(auto daemon, daemon::ProviderDaemon::start(config, std::move(engines)));
    recorder.add_provider(daemon->address(), name, is_honest);
    world.purses.add(name, daemon->address());
    world.providers.push_back(std::move(daemon));
    return {};
  };
  COMMENSAL_TRY(add("ada", options.engines(), true));
  COMMENSAL_TRY(add("bob", options.engines(), true));
  COMMENSAL_TRY(add("mallory", sim::make_bf16_cheat(), false));
  COMMENSAL_TRY(wait_for_providers(*world.gateway, world.providers.size()));
  COMMENSAL_ASSIGN(world.consumer, make_account(*world.gateway, "demo", "consumer"));
  crypto::Address consumer;
  world.gateway->ask([&](gateway::Gateway& live) {
    consumer = live.account_address("demo");
    world.purses.add("gateway", live.address());
    world.purses.add("house auditor", live.auditor_address());
  });
  world.purses.add("consumer", consumer);
  COMMENSAL_TRY(world.purses.fund(*world.gateway, world.terms, consumer, world.providers.size()));
  COMMENSAL_ASSIGN(const core::Bytes model, core::read_file(options.model_folder / "digits.onnx"));
  COMMENSAL_TRY(push_model(world.consumer, kDemoModel, model));
  COMMENSAL_ASSIGN(world.auditor,
                   DemoAuditor::start(*world.gateway, world.terms.gateway.rules.auditor_stake,
                                      options.model_folder / "digits.onnx", options.engines(),
                                      {world.providers.back()->address(), sim::make_bf16_cheat()}));
  world.purses.add("trudy", world.auditor->address());
  return world;
}

}  // namespace commensal::lab
