// SPDX-License-Identifier: Apache-2.0
#include <tests/http/world.hpp>

#include <unistd.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/file.hpp>
#include <future>
#include <thread>

namespace commensal::tests {

namespace {

template <class T>
T must(core::Result<T> result) {
  core::check(result.has_value(), result ? "" : result.error().message);
  return *std::move(result);
}

}  // namespace

World::World(const std::string& name, std::shared_ptr<tls::Identity> identity,
             const gateway::QuotaConfig& quotas, bool open_signup, const std::string& relays,
             const observe::Options& observe, const gateway::PrivacyAuditors::Believed& auditors,
             const core::Path& page)
    : identity_(std::move(identity)),
      folder_(std::filesystem::temp_directory_path() /
              fmt::format("commensal-http-{}-{}", name, ::getpid())),
      key_(crypto::SecretKey::generate(rng_)),
      provider_key_(crypto::SecretKey::generate(rng_)) {
  std::filesystem::remove_all(folder_);
  gateway::GatewayConfig config;
  config.folder = folder_ / "gateway";
  config.audit_probability = 1;
  config.quotas = quotas;
  config.privacy_auditors = auditors;
  if (open_signup) config.open_signup = protocol::Amount();
  gateway_ = must(gateway::Gateway::create({.loop = loop_,
                                            .clock = clock_,
                                            .rng = rng_,
                                            .store = store_,
                                            .key = key_,
                                            .engines = engines_},
                                           config));
  root = must(gateway_->accounts().create("root", gateway::Role::kOperator));
  alice = must(gateway_->accounts().create("alice", gateway::Role::kConsumer));
  bob = must(gateway_->accounts().create("bob", gateway::Role::kConsumer));
  must(gateway_->hub().push({"alice", gateway::Role::kConsumer}, "alice/digits", digits_model(),
                            {}));
  streams_.listen(*gateway_);
  loop_.start();
  core::Listener listening;
  if (!relays.empty()) {
    listening = must(core::listen_on({"127.0.0.1", 0}));
    listening.relays = {.current = relays};
  }
  http_ = must(http::HttpServer::start(
      *gateway_, loop_, clock_, rng_,
      {.identity = identity_,
       .listening = relays.empty() ? nullptr : &listening,
       .metrics = http::MetricsPort{.address = "127.0.0.1", .identity = identity_},
       .serving = {.observe = observe},
       .page = page.empty() ? nullptr : must(http::Page::read(page))}));
}

World::~World() {
  store_.free();
  free_loop();
  http_->stop(0);
  loop_.stop();
  loop_.join();
  provider_.reset();
  provider_client_.reset();
  streams_.stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void World::start_provider() {
  std::promise<void> started;
  loop_.post([&] {
    provider_client_ = std::make_unique<rpc::DirectClient>(streams_);
    provider_ = must(provider::Provider::create({.loop = loop_,
                                                 .clock = clock_,
                                                 .rng = rng_,
                                                 .store = provider_store_,
                                                 .key = provider_key_,
                                                 .gateway = *provider_client_,
                                                 .engines = *engines_,
                                                 .job_ended = job_ended},
                                                {.name = "p1",
                                                 .folder = folder_ / "p1",
                                                 .tasks_at_once = tasks_at_once,
                                                 .purse = {},
                                                 .statements = statements}));
    provider_->start();
    started.set_value();
  });
  started.get_future().get();
  client::Client anyone = client("");
  for (int tries = 0; tries < 1'000 && !anyone.ready(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void World::stop_http(std::int64_t grace_ms) { http_->stop(grace_ms); }

void World::hold_loop() {
  *held_ = true;
  std::promise<void> begun;
  loop_.post([&begun, held = held_] {
    begun.set_value();
    held->wait(true);
  });
  begun.get_future().wait();  // what the loop was at is over
}

void World::free_loop() {
  *held_ = false;
  held_->notify_all();
}

client::Client World::client(const std::string& token) const {
  client::ClientOptions options{.url = url(), .token = token, .wait_ms = 20'000};
  if (identity_) options.trust.pins = {identity_->current()->key_hash};
  return must(client::Client::create(options));
}

core::Bytes digits_model() {
  return must(core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx"));
}

tensor::NamedTensors picture(std::uint64_t i) {
  std::vector<float> pixels;
  for (std::uint64_t k = 0; k < 64; ++k)
    pixels.push_back(8.0f + 8.0f * core::counter_symmetric_f32(99, i, k));
  return {{"image", tensor::Tensor::of<float>({1, 1, 8, 8}, pixels)}};
}

}  // namespace commensal::tests
