// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/bench/overhead/driver.hpp>
#include <commensal/lab/bench/overhead/overhead.hpp>
#include <commensal/lab/bench/overhead/plain_server.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <commensal/serve/rpc/direct.hpp>
#include <future>

namespace commensal::lab::bench::overhead {
namespace {

using core::Result;

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kInputs = 48;  // 28 MB of pictures: more than the caches keep
constexpr int kHashChainDepth = 16;
constexpr std::size_t kArms = 3;  // plain, with ingest, with everything

struct Slice {
  double cpu_s = 0;      // all threads, without the driver, a request
  double wall_s = 0;     // of the thread for work, a request
  double outside_s = 0;  // of cpu_s: all but the model's runs
  double inside_s = 0;   // ... and these
};
using Round = std::array<Slice, kArms>;

Result<std::vector<Driver::Input>> make_inputs(const graph::Graph& graph) {
  std::vector<Driver::Input> inputs(kInputs);
  for (std::uint64_t k = 0; k < kInputs; ++k) {
    for (const graph::ValueId id : graph.inputs) {
      const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
      std::vector<std::int64_t> dims = declared.dims;
      for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 1);
      COMMENSAL_ASSIGN(const auto shape, tensor::Shape::of(dims));
      if (declared.dtype != tensor::DType::kFloat32) {
        return core::fail(core::ErrorCode::kUnsupported, "input '{}' is {}, expected float32",
                          graph.name_of(id), declared.text());
      }
      std::vector<float> values(static_cast<std::size_t>(shape.elements()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = core::counter_symmetric_f32(kSeed, k, i);
      }
      inputs[k].tensors.push_back({graph.name_of(id), tensor::Tensor::of<float>(shape, values)});
    }
    inputs[k].root = receipt::state_root(inputs[k].tensors);
  }
  return inputs;
}

/// The three servers, each behind a stream and a driver of its own, on one loop.
class World {
 public:
  World(const OverheadOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock) {}
  ~World() {
    loop_.stop();
    loop_.join();
  }

  Result<void> start();
  Result<Slice> slice(std::size_t arm);
  const Driver& full() const { return *arms_[2].driver; }

 private:
  struct Arm {
    std::unique_ptr<Driver> driver;
    std::unique_ptr<rpc::DirectServer> server;
    std::unique_ptr<rpc::DirectClient> client;
    std::shared_ptr<rpc::ProviderPort> port;
  };
  Result<void> start_provider(Arm& arm);
  /// Runs `task` on the loop and waits for it.
  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    loop_.post([&] { task(), done.set_value(); });
    done.get_future().wait();
  }

  const OverheadOptions& options_;
  const core::Clock& clock_;
  core::CounterRng rng_{kSeed};
  std::vector<Driver::Input> inputs_;
  std::unique_ptr<SharedEngine> engine_;
  std::unique_ptr<SharedEngineFactory> engines_;
  std::unique_ptr<core::Store> store_;
  crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  std::array<Arm, kArms> arms_;
  core::ThreadLoop loop_;
};

Result<void> World::start_provider(Arm& arm) {
  COMMENSAL_ASSIGN(store_, store::open_sqlite_store(options_.folder / "provider.sqlite"));
  engines_ = std::make_unique<SharedEngineFactory>(*engine_);
  const provider::ProviderDependencies world{.loop = loop_,
                                             .clock = clock_,
                                             .rng = rng_,
                                             .store = *store_,
                                             .key = key_,
                                             .gateway = *arm.client,
                                             .engines = *engines_};
  provider::ProviderConfig config;
  config.folder = options_.folder;
  config.purse.hash_chain_depth = kHashChainDepth;
  COMMENSAL_ASSIGN(const auto provider, provider::Provider::create(world, config));
  arm.port = provider;
  on_loop([&] { provider->start(); });
  return {};
}

Result<void> World::start() {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(options_.model));
  COMMENSAL_ASSIGN(inputs_, make_inputs(*graph));
  rollout::SessionEngineFactory real({.threads = 1});
  COMMENSAL_ASSIGN(auto engine, real.load(options_.model, {}));
  engine_ = std::make_unique<SharedEngine>(std::move(engine), clock_);
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(options_.model, limits::kModelBytesMax));
  const core::Digest model = crypto::sha256(file->bytes());
  loop_.start();
  for (std::size_t i = 0; i < kArms; ++i) {
    Arm& arm = arms_[i];
    on_loop([&] {
      arm.driver =
          std::make_unique<Driver>(Driver::Dependencies{.loop = loop_,
                                                        .clock = clock_,
                                                        .rng = rng_,
                                                        .inputs = inputs_,
                                                        .roots = engine_->roots(),
                                                        .model = model,
                                                        .model_path = options_.model.string()});
      arm.server = std::make_unique<rpc::DirectServer>(loop_);
      arm.server->listen(*arm.driver);
      arm.client = std::make_unique<rpc::DirectClient>(*arm.server);
    });
    if (i + 1 == kArms) {
      COMMENSAL_TRY(start_provider(arm));
    } else {
      arm.port = std::make_shared<PlainServer>(loop_, *engine_, *arm.client, i == 1);
      on_loop([&] { arm.client->attach(arm.port); });
    }
  }
  return {};
}

Result<Slice> World::slice(std::size_t which) {
  Driver& driver = *arms_[which].driver;
  std::promise<Result<void>> done;
  engine_->forget();
  const std::int64_t own_ns = driver.own_cpu_ns();
  const std::int64_t cpu_ns = core::process_cpu_ns();
  loop_.post([&] {
    driver.run(options_.requests, options_.in_flight,
               [&](Result<void> outcome) { done.set_value(std::move(outcome)); });
  });
  COMMENSAL_TRY(done.get_future().get());
  on_loop([] {});
  const auto requests = static_cast<double>(options_.requests);
  const std::int64_t spent_ns = core::process_cpu_ns() - cpu_ns - (driver.own_cpu_ns() - own_ns);
  return Slice{static_cast<double>(spent_ns) * 1e-9 / requests,
               static_cast<double>(engine_->span_ns()) * 1e-9 / requests,
               static_cast<double>(spent_ns - engine_->cpu_ns()) * 1e-9 / requests,
               static_cast<double>(engine_->cpu_ns()) * 1e-9 / requests};
}

/// Over rounds: (a - b) / plain.
Share share_of(const std::vector<Round>& rounds, std::size_t a, std::size_t b,
               double Slice::*figure) {
  std::vector<double> shares;
  for (const Round& round : rounds) {
    const double plain = figure == &Slice::wall_s ? round[0].wall_s : round[0].cpu_s;
    shares.push_back((round[a].*figure - round[b].*figure) / plain);
  }
  return {bench::median(shares), bench::quantile(shares, 0.25), bench::quantile(shares, 0.75)};
}

}  // namespace

Result<Overhead> measure_overhead(const OverheadOptions& options, const core::Clock& clock) {
  World world(options, clock);
  COMMENSAL_TRY(world.start());
  core::CounterRng rng(kSeed);
  std::vector<Round> rounds;
  std::array<std::size_t, kArms> order = {0, 1, 2};
  for (const std::size_t arm : order) COMMENSAL_TRY(world.slice(arm));
  const std::uint64_t batches = world.full().batches();
  for (int i = 0; i < options.rounds; ++i) {
    for (std::size_t k = kArms - 1; k > 0; --k)
      std::swap(order[k], order[rng.next_u32() % (k + 1)]);
    Round& round = rounds.emplace_back();
    for (const std::size_t arm : order) {
      COMMENSAL_ASSIGN(round[arm], world.slice(arm));
    }
  }
  std::vector<double> plain;
  for (const Round& round : rounds) plain.push_back(round[0].cpu_s);
  const double served = static_cast<double>(options.requests) * options.rounds;
  return Overhead{.plain_s = bench::median(plain),
                  .batch = served / static_cast<double>(world.full().batches() - batches),
                  .winners = world.full().winners(),
                  .ingest = share_of(rounds, 1, 0, &Slice::cpu_s),
                  .beyond_ingest = share_of(rounds, 2, 1, &Slice::cpu_s),
                  .beyond_ingest_outside = share_of(rounds, 2, 1, &Slice::outside_s),
                  .beyond_ingest_inside = share_of(rounds, 2, 1, &Slice::inside_s),
                  .beyond_ingest_wall = share_of(rounds, 2, 1, &Slice::wall_s),
                  .all = share_of(rounds, 2, 0, &Slice::cpu_s)};
}

}  // namespace commensal::lab::bench::overhead
