// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/sim/testing/market.hpp>
#include <deque>
#include <limits>

namespace commensal::sim::testing {
namespace {

using store::testing::Fault;
using store::testing::FaultStore;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
const gateway::Account kConsumer{.name = "consumer", .role = gateway::Role::kConsumer};

void hash_space(crypto::Sha256& hash, core::Store& store, std::string_view space) {
  const auto scanned = store.scan(space, {}, [&](core::ByteView key, core::ByteView value) {
    hash.update(key).update(value);
    return true;
  });
  core::check(scanned.has_value(), "a memory store is read");
}

}  // namespace

/// The loop of a provider whose executor stands still while it pauses.
class Market::PausedLoop final : public core::Loop {
 public:
  explicit PausedLoop(core::Loop& loop) : loop_(loop) {}

  void post(Task task) override { loop_.post(std::move(task)); }
  void after(std::int64_t delay_ms, Task task) override { loop_.after(delay_ms, std::move(task)); }
  void offload(Lane, Task work, Task done) override {
    works_.emplace_back(std::move(work), std::move(done));
    loop_.post([this] { turn(); });
  }
  void pause(std::string why) {
    why_ = std::move(why);
    loop_.post([this] { turn(); });
  }
  void stall(std::int64_t ms) {
    ++stalls_;
    loop_.after(ms, [this] {
      --stalls_;
      turn();
    });
  }
  const std::string& why() const { return why_; }
  /// The provider is gone, and its work with it.
  void forget() { works_.clear(); }

 private:
  void turn() {
    while (why_.empty() && stalls_ == 0 && !works_.empty()) {
      const auto [work, done] = std::move(works_.front());
      works_.pop_front();
      work();
      done();
    }
  }

  core::Loop& loop_;
  std::deque<std::pair<Task, Task>> works_;
  std::string why_;
  int stalls_ = 0;
};

/// Listens to what its provider hears.
class Market::Ear final : public rpc::ProviderPort {
 public:
  using Hear = std::function<void(const rpc::ToProvider&)>;
  Ear(std::shared_ptr<rpc::ProviderPort> port, Hear hear)
      : port_(std::move(port)), hear_(std::move(hear)) {}

  void on_message(rpc::ToProvider message) override {
    hear_(message);
    port_->on_message(std::move(message));
  }
  void on_close(core::Error reason) override { port_->on_close(std::move(reason)); }

 private:
  const std::shared_ptr<rpc::ProviderPort> port_;
  const Hear hear_;
};

/// Its provider knows what has won before the gateway does.
class Market::HangUp final : public rpc::GatewayClient {
 public:
  HangUp(rpc::DirectClient& inner, core::Loop& loop, bool is_mute, std::function<bool()> has_won,
         Ear::Hear hear)
      : inner_(inner),
        loop_(loop),
        is_mute_(is_mute),
        has_won_(std::move(has_won)),
        hear_(std::move(hear)) {}

  void attach(std::shared_ptr<rpc::ProviderPort> port) override {
    if (!is_gone_) inner_.attach(std::make_shared<Ear>(std::move(port), hear_));
  }
  void send(rpc::ToGateway message) override {
    if (is_gone_ || (is_mute_ && std::holds_alternative<rpc::Statements>(message))) return;
    is_gone_ = std::holds_alternative<rpc::Reveal>(message) && has_won_();
    if (is_gone_) return loop_.post([this] { inner_.cut(); });
    inner_.send(std::move(message));
  }
  rpc::Channel channel() const override { return inner_.channel(); }
  core::Result<void> fetch_model(const std::string& session_token, const core::Digest& model,
                                 const std::string& path, const rpc::Received& received) override {
    return inner_.fetch_model(session_token, model, path, received);
  }

 private:
  rpc::DirectClient& inner_;
  core::Loop& loop_;
  const bool is_mute_;
  const std::function<bool()> has_won_;
  const Ear::Hear hear_;
  bool is_gone_ = false;
};

struct Market::Member {
  std::string name;
  core::Path folder;
  crypto::SecretKey key;
  std::unique_ptr<rollout::EngineFactory> engines;
  PausedLoop loop;
  store::MemoryStore store;
  std::optional<std::pair<std::uint64_t, Fault>> fault;
  std::unique_ptr<FaultStore> faults;
  std::unique_ptr<rpc::DirectClient> client;
  std::unique_ptr<HangUp> hang_up;
  bool hides_winners = false;
  std::vector<protocol::PrivacyStatement> statements;
  std::shared_ptr<provider::Provider> provider;

  Member(std::string n, core::Path f, crypto::SecretKey k,
         std::unique_ptr<rollout::EngineFactory> e, core::Loop& l)
      : name(std::move(n)),
        folder(std::move(f)),
        key(std::move(k)),
        engines(std::move(e)),
        loop(l) {}
};

std::unique_ptr<rollout::EngineFactory> engines_of_this_process() {
  return std::make_unique<rollout::SessionEngineFactory>(graph::SessionOptions{});
}

Market::Market(std::uint64_t seed, core::Path folder, const gateway::GatewayConfig& config,
               const provider::PurseConfig& purse)
    : rng_(seed),
      folder_(std::move(folder)),
      config_(config),
      purse_(purse),
      key_(crypto::SecretKey::generate(rng_)) {
  std::filesystem::remove_all(folder_);
  config_.folder = folder_ / "gateway";
  constexpr std::int64_t kDiskMs[] = {0, 1, 8, 60};
  set_disk_ms(kDiskMs[seed % std::size(kDiskMs)]);
  loop_.watch([this] { inspect(); });
}

Market::~Market() {
  overheard_ = nullptr;
  for (std::size_t i = 0; i < members_.size(); ++i) kill_provider(i);
  kill_gateway();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

core::Result<void> Market::start_gateway() {
  const auto [write, fault] = gateway_fault_.value_or(std::pair{kNever, Fault::kCrashBefore});
  gateway_fault_.reset();
  gateway_fault_at_ = write;
  gateway_faults_ = std::make_unique<FaultStore>(store_, write, fault);
  const gateway::GatewayDependencies world{.loop = loop_,
                                           .clock = clock_,
                                           .rng = rng_,
                                           .store = *gateway_faults_,
                                           .key = key_,
                                           .engines = gateway_engines_()};
  COMMENSAL_ASSIGN(gateway_, gateway::Gateway::create(world, config_));
  server_.listen(*gateway_);
  return {};
}

void Market::kill_gateway() {
  if (!gateway_) return;
  server_.stop();
  gateway_.reset();
  // What was posted for it finds it gone; the providers hear of it.
  loop_.run_until_idle();
}

void Market::break_gateway_at(std::uint64_t write, Fault fault) { gateway_fault_ = {write, fault}; }

std::size_t Market::add_provider(const std::string& name,
                                 std::unique_ptr<rollout::EngineFactory> engines) {
  members_.push_back(std::make_unique<Member>(
      name, folder_ / name, crypto::SecretKey::generate(rng_), std::move(engines), loop_));
  start_provider(members_.size() - 1);
  return members_.size() - 1;
}

void Market::start_provider(std::size_t index) {
  Member& member = *members_[index];
  const auto [write, fault] = member.fault.value_or(std::pair{kNever, Fault::kCrashBefore});
  member.fault.reset();
  member.faults = std::make_unique<FaultStore>(member.store, write, fault);
  member.client = std::make_unique<rpc::DirectClient>(
      server_, rpc::DirectFaults{.delay_ms = delay_ms_, .drops_message = {}});
  member.hang_up = std::make_unique<HangUp>(
      *member.client, loop_, is_mute_,
      [&member] { return member.hides_winners && member.provider->status().tickets.won > 0; },
      [this, index](const rpc::ToProvider& message) {
        if (overheard_) overheard_(index, message);
      });
  const provider::ProviderDependencies world{.loop = member.loop,
                                             .clock = clock_,
                                             .rng = rng_,
                                             .store = *member.faults,
                                             .key = member.key,
                                             .gateway = *member.hang_up,
                                             .engines = *member.engines,
                                             .why_paused = [&member] { return member.loop.why(); }};
  auto made = provider::Provider::create(world, {.name = member.name,
                                                 .folder = member.folder,
                                                 .tasks_at_once = {at_once_},
                                                 .purse = purse_,
                                                 .statements = member.statements});
  core::check(made.has_value(), "a provider starts on what it has written");
  member.provider = *std::move(made);
  member.provider->start();
  loop_.run_until_idle();
}

void Market::kill_provider(std::size_t index) {
  Member& member = *members_[index];
  if (!member.provider) return;
  member.provider->stop();
  member.client->cut();
  loop_.run_until_idle();
  member.loop.forget();
  member.provider.reset();
  member.hang_up.reset();
  member.client.reset();
}

void Market::mend_provider(std::size_t index) {
  members_[index]->engines = engines_of_this_process();
}

void Market::lose_chain(std::size_t index) {
  const auto gateway = key_.address().bytes;
  const auto lost = members_[index]->store.apply(
      {{"hash_chains", core::Bytes(gateway.begin(), gateway.end()), std::nullopt}});
  core::check(lost.has_value(), "a memory store is written");
}

void Market::show(std::size_t index, std::vector<protocol::PrivacyStatement> statements) {
  members_[index]->statements = std::move(statements);
}

void Market::hide_winners(std::size_t index) { members_[index]->hides_winners = true; }

ledger::Reveal Market::reveal_of(std::size_t index) {
  Member& member = *members_[index];
  const auto gateway = key_.address().bytes;
  auto chain = beacon::StoredHashChain::open({&member.store, "hash_chains",
                                              core::Bytes(gateway.begin(), gateway.end()),
                                              &member.key, &rng_, purse_.hash_chain_depth});
  core::check(chain.has_value(), "a provider has a chain for its gateway");
  std::uint64_t round = 0;
  for (const auto& [key, row] : gateway_->ledger().hash_chains.rows()) {
    if (row.head.owner == key_.address()) round = std::max(round, row.round);
  }
  const auto value = chain->reveal(round);
  core::check(value.has_value(), "what a gateway has closed is next in its providers' chains");
  return {ledger::hash_chain_key(chain->head()), round, *value};
}

void Market::break_provider_at(std::size_t index, std::uint64_t write, Fault fault) {
  members_[index]->fault = {write, fault};
}

void Market::pause(std::size_t index, const std::string& why) { members_[index]->loop.pause(why); }

void Market::stall(std::size_t index, std::int64_t ms) { members_[index]->loop.stall(ms); }

void Market::pause_later(std::size_t index, const std::string& why, std::int64_t after_ms) {
  loop_.after(after_ms, [this, index, why] { pause(index, why); });
}

void Market::retire(std::size_t index) { members_[index]->provider->retire(); }
std::size_t Market::left(std::size_t index) const { return members_[index]->provider->left(); }

void Market::cut(std::size_t index) {
  if (members_[index]->client) members_[index]->client->cut();
}

const crypto::SecretKey& Market::key_of(std::size_t index) const { return members_[index]->key; }

provider::ProviderStatus Market::status_of(std::size_t index) const {
  return members_[index]->provider->status();
}

std::uint64_t Market::provider_writes(std::size_t index) const {
  return members_[index]->faults->applies();
}

core::Result<gateway::ModelVersion> Market::push(const std::string& model, core::ByteView bytes,
                                                 const gateway::PushOptions& options) {
  return gateway_->hub().push(kConsumer, "consumer/" + model, bytes, options);
}

void Market::ask(const std::string& model, const tensor::NamedTensors& inputs,
                 gateway::InferDone done) {
  gateway_->infer({.account = kConsumer,
                   .model = "consumer/" + model,
                   .version = 0,
                   .inputs = inputs,
                   .outputs = {}},
                  std::move(done));
}

core::Result<gateway::InferResponse> Market::infer(const std::string& model,
                                                   const tensor::NamedTensors& inputs,
                                                   std::int64_t patience_ms) {
  auto answer = std::make_shared<std::optional<core::Result<gateway::InferResponse>>>();
  ask(model, inputs, [answer](core::Result<gateway::InferResponse> response) {
    answer->emplace(std::move(response));
  });
  constexpr std::int64_t kStepMs = 10;
  loop_.run_until_idle();
  for (std::int64_t waited = 0; !*answer && waited < patience_ms; waited += kStepMs) {
    loop_.advance_ms(kStepMs);
  }
  if (*answer) return **std::move(answer);
  return core::fail(core::ErrorCode::kDeadlineExceeded, "no answer within {} ms", patience_ms);
}

void Market::rest_ms(std::int64_t ms) { loop_.advance_ms(ms); }

void Market::inspect() {
  if (!gateway_ || gateway_crashed()) return;
  // After a write that failed it believes what is not on its disk, and refuses to go on.
  const bool is_broken = gateway_writes() > gateway_fault_at_;
  const bool is_behind = is_broken || loop_.is_writing();
  const auto sound = is_behind ? inspector_.read_on() : inspector_.inspect(gateway_->ledger());
  if (!sound) core::check(false, sound.error().message);
}

core::Result<void> Market::check_money() {
  COMMENSAL_TRY(inspector_.inspect(gateway_->ledger()));
  COMMENSAL_TRY(inspector_.verify(gateway_->ledger()));
  for (const auto& member : members_) {
    const auto agreed =
        expect_agreement(gateway_->ledger(), store_, member->store, member->key.address(), clock_);
    if (!agreed) return core::in_context(member->name, agreed.error());
  }
  return {};
}

std::size_t Market::stored_bytes(std::size_t index) const { return members_[index]->store.bytes(); }

core::Digest Market::state_hash() {
  crypto::Sha256 hash;
  for (const std::string_view space : {"receipts", "bans", "models", "ledger_journal", "tickets"}) {
    hash_space(hash, store_, space);
  }
  for (const auto& member : members_) hash_space(hash, member->store, "tickets");
  return hash.finish();
}

}  // namespace commensal::sim::testing
