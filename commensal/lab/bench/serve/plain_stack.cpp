// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/lab/bench/serve/stack.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/gateway/ports.hpp>
#include <commensal/serve/http/server.hpp>
#include <commensal/serve/oip_grpc/server.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <cstring>
#include <map>

namespace commensal::lab::bench::serve {
namespace {

using core::Digest;
using core::Result;

/// Hands orders to the one provider that has come. Thread-safety: the loop's thread.
class PlainGateway final : public rpc::GatewayPort {
 public:
  explicit PlainGateway(gateway::ModelHub& hub) : hub_(hub) {}

  void infer(gateway::InferRequest request, gateway::InferDone done) {
    auto offer = offer_of(request);
    if (!offer) return done(tl::unexpected(offer.error()));
    waiting_.emplace(offer->input_salt, Waiting{std::move(model_), std::move(done)});
    stream_->send(*std::move(offer));
  }

  StreamId on_open(std::shared_ptr<rpc::ProviderStream> stream, const rpc::Channel&,
                   const std::string&) override {
    stream_ = std::move(stream);
    stream_->send(rpc::Challenge{});
    return 1;
  }
  void on_message(StreamId, rpc::ToGateway message) override {
    if (std::holds_alternative<rpc::Hello>(message)) return stream_->send(rpc::Welcome{});
    auto* const deliver = std::get_if<rpc::Deliver>(&message);
    auto* const refuse = std::get_if<rpc::Refuse>(&message);
    if (deliver == nullptr && refuse == nullptr) return;
    auto found = waiting_.extract(deliver != nullptr ? deliver->job : refuse->job);
    if (found.empty()) return;
    Waiting& waiting = found.mapped();
    if (deliver == nullptr) return waiting.done(tl::unexpected(refuse->reason));
    waiting.done(gateway::InferResponse{.model = std::move(waiting.model),
                                        .outputs = std::move(deliver->outputs),
                                        .receipt = {},
                                        .provider = {}});
  }
  void on_close(StreamId) override { stream_ = nullptr; }
  Result<std::string> model_path(const std::string&, const Digest&, const Digest&) override {
    return core::fail(core::ErrorCode::kNotFound, "it has the model");
  }

 private:
  struct Waiting {
    gateway::ModelVersion model;
    gateway::InferDone done;
  };
  Result<rpc::Offer> offer_of(gateway::InferRequest& request) {
    if (stream_ == nullptr)
      return core::fail(core::ErrorCode::kUnavailable, "the provider has not come");
    rpc::Offer offer;
    COMMENSAL_ASSIGN(model_, hub_.find(&request.account, request.model, request.version));
    offer.model = model_.content;
    COMMENSAL_ASSIGN(offer.inputs, gateway::order_inputs(model_, std::move(request.inputs)));
    ++last_;
    std::memcpy(offer.input_salt.data(), &last_, sizeof last_);  // its number
    return offer;
  }

  gateway::ModelHub& hub_;
  std::shared_ptr<rpc::ProviderStream> stream_;
  gateway::ModelVersion model_;
  std::map<Digest, Waiting> waiting_;
  std::uint64_t last_ = 0;
};

/// Computes whatever comes, joined as a provider joins it. Thread-safety: the loop's thread.
class PlainProvider final : public rpc::ProviderPort,
                            public std::enable_shared_from_this<PlainProvider> {
 public:
  PlainProvider(core::Loop& loop, rollout::Engine& engine, rpc::GatewayClient& gateway,
                std::size_t at_once)
      : loop_(loop), engine_(engine), gateway_(gateway), at_once_(at_once) {}

  void on_message(rpc::ToProvider message) override {
    if (std::holds_alternative<rpc::Challenge>(message)) return gateway_.send(rpc::Hello{});
    if (auto* const offer = std::get_if<rpc::Offer>(&message)) {
      waiting_.push_back(std::move(*offer));
      if (!is_computing_) compute();
    }
  }
  void on_close(core::Error) override {}

 private:
  struct Work {
    std::vector<rpc::Offer> offers;
    std::vector<Result<tensor::NamedTensors>> answers = {};
  };

  void compute() {
    const std::size_t count = std::min(at_once_, waiting_.size());
    is_computing_ = count > 0;
    if (count == 0) return;
    const auto work = std::make_shared<Work>();
    work->offers.assign(std::make_move_iterator(waiting_.begin()),
                        std::make_move_iterator(waiting_.begin() + static_cast<long>(count)));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(count));
    loop_.offload(
        core::Loop::Lane::kComputing, [self = shared_from_this(), work] { self->run(*work); },
        [self = shared_from_this(), work] {
          self->deliver(*work);
          self->compute();
        });
  }
  void run(Work& work) {
    const graph::Graph& graph = engine_.graph();
    std::vector<receipt::Values> requests;
    for (const rpc::Offer& offer : work.offers) {
      auto inputs = receipt::order_inputs(graph, offer.inputs);
      core::check(inputs.has_value(), "the gateway orders inputs");
      requests.push_back(*std::move(inputs));
    }
    for (auto& outputs : engine_.run_all(requests, {})) {
      work.answers.push_back(outputs.and_then([&](receipt::Values& values) {
        return Result<tensor::NamedTensors>(
            receipt::name_tensors(graph, graph.outputs, std::move(values)));
      }));
    }
  }
  void deliver(Work& work) {
    for (std::size_t i = 0; i < work.offers.size(); ++i) {
      const Digest& number = work.offers[i].input_salt;
      auto& answer = work.answers[i];
      answer ? gateway_.send(rpc::Deliver{number, 1, {}, *std::move(answer)})
             : gateway_.send(rpc::Refuse{number, answer.error()});
    }
  }

  core::Loop& loop_;
  rollout::Engine& engine_;
  rpc::GatewayClient& gateway_;
  const std::size_t at_once_;
  std::vector<rpc::Offer> waiting_;
  bool is_computing_ = false;
};

}  // namespace

Result<void> plain_gateway(const Part::Side& side, const StackOptions& options,
                           const std::string& model_name, core::ByteView model) {
  core::SystemClock clock;
  core::SystemRng rng;
  store::MemoryStore store;
  const auto key = crypto::SecretKey::generate(rng);
  core::ThreadLoop loop;
  gateway::GatewayConfig config;
  config.folder = options.folder / "plain-gateway";
  COMMENSAL_ASSIGN(
      const auto real,
      gateway::Gateway::create(
          {.loop = loop,
           .clock = clock,
           .rng = rng,
           .store = store,
           .key = key,
           .engines = std::make_shared<worker::ProcessEngineFactory>(worker::ProcessOptions{})},
          config));
  COMMENSAL_ASSIGN(const std::string token,
                   real->accounts().create("operator", gateway::Role::kOperator));
  COMMENSAL_TRY(real->hub().push({"operator", gateway::Role::kOperator}, model_name,
                                 core::Bytes(model.begin(), model.end()), {}));
  PlainGateway plain(real->hub());
  loop.start();
  COMMENSAL_ASSIGN(const auto providers, rpc::GrpcServer::start(plain, loop, "127.0.0.1:0"));
  COMMENSAL_ASSIGN(const auto http, http::HttpServer::start(*real, loop, clock, rng, {}));
  oip::Services services = http->services();
  services.infer = [&plain](gateway::InferRequest request, gateway::InferDone done) {
    plain.infer(std::move(request), std::move(done));
  };
  COMMENSAL_ASSIGN(const auto grpc,
                   oip_grpc::GrpcInferenceServer::start(services, "127.0.0.1:0", nullptr));
  side.say(fmt::format("127.0.0.1:{} http://127.0.0.1:{} 127.0.0.1:{} {}", grpc->port(),
                       http->port(), providers->port(), token));
  side.wait();
  std::_Exit(0);  // nothing is kept
}

Result<void> plain_provider(const Part::Side& side, const StackOptions& options,
                            const GatewayPlace& place, const core::Path& model) {
  core::ThreadLoop loop;
  worker::ProcessOptions workers;
  workers.session.threads = options.threads;
  worker::ProcessEngineFactory factory(workers);
  COMMENSAL_ASSIGN(const auto engine, factory.load(model, {}));
  const auto gateway = rpc::make_grpc_client(loop, place.providers);
  const auto port = std::make_shared<PlainProvider>(loop, *engine, *gateway, options.at_once);
  loop.post([&] { gateway->attach(port); });
  loop.start();
  side.say("provider");
  side.wait();
  std::_Exit(0);
}

}  // namespace commensal::lab::bench::serve
