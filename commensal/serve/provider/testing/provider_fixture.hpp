// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <vector>

/// A provider, its gateway and its engines, as a test moves them.
namespace commensal::provider::testing {

/// Offloaded work is done when the test says so.
class SlowLoop final : public core::Loop {
 public:
  explicit SlowLoop(core::ManualClock& clock) : inner_(clock) {}
  void post(Task task) override { inner_.post(std::move(task)); }
  void after(std::int64_t delay_ms, Task task) override { inner_.after(delay_ms, std::move(task)); }
  void offload(Lane, Task work, Task done) override {
    works_.push_back([work = std::move(work), done = std::move(done)] { work(), done(); });
  }
  void settle() { inner_.run_until_idle(); }
  void rest_ms(std::int64_t ms) { inner_.advance_ms(ms); }
  std::size_t left() const { return works_.size(); }
  void work(std::size_t count) {
    for (; count > 0; --count) {
      ASSERT_FALSE(works_.empty());
      const Task next = std::move(works_.front());
      works_.pop_front();
      next();
      settle();
    }
  }

 private:
  core::testing::ManualLoop inner_;
  std::deque<Task> works_;
};

inline constexpr const char* kInput = "x0";  // as GraphMaker names it

/// Answers with what it is asked, and remembers that, and how much it was at once.
class EchoFactory final : public rollout::EngineFactory {
 public:
  std::vector<std::size_t> asked_at_once;
  std::vector<float> asked;
  bool was_cancelled = false;  // before anything was loaded
  bool lies = false;           // answers with more than the model declares
  std::function<void()> in_run;

 private:
  class Echo final : public rollout::Engine {
   public:
    explicit Echo(EchoFactory& made_by) : made_by_(made_by) {
      graph::testing::GraphMaker maker;
      maker.output(maker.input({1}));
      graph_ = maker.finish();
    }
    const receipt::ModelRoots& roots() const override { return roots_; }
    const graph::Graph& graph() const override { return *graph_; }
    core::Result<receipt::Values> run(std::uint64_t, const receipt::Values& inputs,
                                      const std::optional<noise::Noise>&,
                                      const graph::RunOptions&) override {
      made_by_.asked.push_back(inputs[0].data<float>()[0]);
      const std::vector<float> more(5, 1);
      if (made_by_.lies) return receipt::Values{tensor::Tensor::of<float>({5}, std::span(more))};
      return inputs;
    }
    std::vector<core::Result<receipt::Values>> run_all(std::span<const receipt::Values> requests,
                                                       const graph::RunOptions& options) override {
      made_by_.asked_at_once.push_back(requests.size());
      if (made_by_.in_run) made_by_.in_run();
      return Engine::run_all(requests, options);
    }

   private:
    std::shared_ptr<const graph::Graph> graph_;
    receipt::ModelRoots roots_{};
    EchoFactory& made_by_;
  };
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path&,
                                                      const std::vector<protocol::Feed>&,
                                                      const std::stop_token& cancel) override {
    was_cancelled = cancel.stop_requested();
    return std::make_unique<Echo>(*this);
  }
};

/// Remembers how many commitments each batch had.
class Heard final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    const auto* commit = std::get_if<rpc::Commit>(&message);
    if (commit != nullptr) {
      batches.push_back(commit->items.size());
      committed = commit->items.back().job;
      commitment = commit->items.back().commitment;
      std::vector<core::Digest> jobs;
      for (const rpc::Commit::Item& item : commit->items) jobs.push_back(item.job);
      if (answer) answer(std::move(jobs));
    }
    refused += std::holds_alternative<rpc::Refuse>(message) ? 1 : 0;
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string&,
                                 const rpc::Received&) override {
    return {};
  }
  std::vector<std::size_t> batches;
  core::Digest committed{};   // the last job
  core::Digest commitment{};  // to its step
  int refused = 0;
  std::function<void(std::vector<core::Digest> jobs)> answer;  // to a batch; none: silence
};

class ProviderTest : public ::testing::Test {
 protected:
  explicit ProviderTest(AtOnce tasks_at_once = {},
                        std::uint64_t answer_bytes_max = limits::kStoreValueBytesMax) {
    ProviderDependencies deps{loop_, clock_, rng_, store_, key_, listener_, engines_};
    deps.closing = closing_.get_token();
    ProviderConfig config;
    config.folder = folder_;
    config.commit_wait_ms_max = 100;
    config.tasks_at_once = std::move(tasks_at_once);
    config.answer_bytes_max = answer_bytes_max;
    provider_ = *Provider::create(deps, config);
  }
  ~ProviderTest() override { std::filesystem::remove_all(folder_); }

  void ask(std::size_t count, std::uint8_t model = 0, std::uint8_t client = 0) {
    ask_now(count, model, client);
    loop_.settle();
  }
  void ask_now(std::size_t count, std::uint8_t model, std::uint8_t client = 0) {
    for (; count > 0; --count) {
      rpc::Offer offer{};
      offer.model[0] = model;
      offer.job.provider = key_.address();
      offer.job.client.bytes[0] = client;
      offer.job.numerics_version = kernels::kNumericsVersion;
      const float value = static_cast<float>(++asked_);
      offer.inputs = {{kInput, tensor::Tensor::of<float>({1}, std::span(&value, 1))}};
      offer.batching = batching_;
      offer.job.input_commitment =
          protocol::commit_input(receipt::state_root(offer.inputs), offer.input_salt);
      provider_->on_message(std::move(offer));
    }
  }

  /// A gateway that has done with a batch as soon as it comes: none of it is to be signed any more.
  void answer_batches() {
    listener_.answer = [this](const std::vector<core::Digest>& jobs) {
      loop_.post([this, jobs] { provider_->on_message(rpc::Withdraw{jobs}); });
    };
  }

  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("provider-{}", ::getpid());
  core::ManualClock clock_;
  SlowLoop loop_{clock_};
  core::CounterRng rng_{1};
  store::MemoryStore store_;
  crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  Heard listener_;
  EchoFactory engines_;
  std::stop_source closing_;
  std::shared_ptr<Provider> provider_;
  std::uint64_t asked_ = 0;
  std::optional<rpc::Batching> batching_;  // of what is asked
};

using Sizes = std::vector<std::size_t>;

}  // namespace commensal::provider::testing
