// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/sim/stubborn.hpp>
#include <commensal/lab/sim/testing/liars.hpp>

namespace commensal::sim::testing {
namespace {

using core::Result;
using receipt::Values;
using tensor::Tensor;
using Loaded = Result<std::unique_ptr<rollout::Engine>>;
using Feeds = std::vector<protocol::Feed>;

/// Learns the outputs' types from one honest run, and never runs again for that shape.
class LazyEngine final : public rollout::Engine {
 public:
  explicit LazyEngine(std::unique_ptr<rollout::Engine> honest)
      : honest_(std::move(honest)),
        stubborn_(
            {std::shared_ptr<void>(), &honest_->graph()},
            std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(honest_->graph())),
            [this](const Values& inputs) { return run(1, inputs, std::nullopt, {}); }) {}

  const receipt::ModelRoots& roots() const override { return honest_->roots(); }
  const graph::Graph& graph() const override { return honest_->graph(); }

  Result<Values> run(std::uint64_t step, const Values& inputs,
                     const std::optional<noise::Noise>& noise,
                     const graph::RunOptions& options) override {
    if (inputs.empty() || !(inputs[0].type() == seen_)) {
      COMMENSAL_ASSIGN(zeros_, honest_->run(step, inputs, noise, options));
      seen_ = inputs[0].type();
      for (Tensor& value : zeros_) {
        const core::Bytes nothing(value.bytes().size(), 0);
        value = Tensor::copy_of(value.type(), nothing);
      }
    }
    return zeros_;
  }
  Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                 const graph::RunOptions& options) override {
    return stubborn_.argue(argument, options);
  }

 private:
  std::unique_ptr<rollout::Engine> honest_;
  Stubborn stubborn_;
  tensor::TensorType seen_;
  Values zeros_;
};

class LazyFactory final : public rollout::EngineFactory {
 public:
  Loaded load(const core::Path& model_file, const Feeds& feeds,
              const std::stop_token& cancel) override {
    if (!feeds.empty()) {
      return core::fail(core::ErrorCode::kUnsupported, "this provider computes no rollouts");
    }
    COMMENSAL_ASSIGN(auto engine,
                     rollout::SessionEngineFactory({}).load(model_file, feeds, cancel));
    return std::make_unique<LazyEngine>(std::move(engine));
  }
};

/// Stands by what it computed with another weight.
class RolloutCheat final : public rollout::Engine {
 public:
  RolloutCheat(std::unique_ptr<serial::CheatEngine> cheat,
               const std::shared_ptr<const graph::Graph>& exact)
      : cheat_(std::move(cheat)),
        stubborn_(exact,
                  std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*exact)),
                  [this](const Values& inputs) { return run(argued_, inputs, std::nullopt, {}); }) {
  }

  const receipt::ModelRoots& roots() const override { return cheat_->roots(); }
  const graph::Graph& graph() const override { return cheat_->graph(); }
  Result<Values> run(std::uint64_t step, const Values& inputs,
                     const std::optional<noise::Noise>& noise,
                     const graph::RunOptions& options) override {
    return cheat_->run(step, inputs, noise, options);
  }
  Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                 const graph::RunOptions& options) override {
    argued_ = argument.setup.receipt.step;
    return stubborn_.argue(argument, options);
  }

 private:
  std::unique_ptr<serial::CheatEngine> cheat_;
  Stubborn stubborn_;
  std::uint64_t argued_ = 1;
};

class RolloutCheatFactory final : public rollout::EngineFactory {
 public:
  explicit RolloutCheatFactory(serial::Lies lies) : lies_(std::move(lies)) {}
  Loaded load(const core::Path& model_file, const Feeds& feeds,
              const std::stop_token& cancel) override {
    if (feeds.empty()) return rollout::SessionEngineFactory({}).load(model_file, feeds, cancel);
    COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model_file));
    COMMENSAL_ASSIGN(auto engine, serial::CheatEngine::create(graph, {}, feeds, lies_));
    return std::make_unique<RolloutCheat>(std::move(engine), graph);
  }

 private:
  serial::Lies lies_;
};

class Refuser final : public rollout::EngineFactory {
 public:
  explicit Refuser(int* asked) : asked_(asked) {}
  Loaded load(const core::Path&, const Feeds&, const std::stop_token&) override {
    if (asked_ != nullptr) ++*asked_;
    return core::fail(core::ErrorCode::kInvalidArgument, "this request is wrong");
  }

 private:
  int* const asked_;
};

class Refusing final : public rollout::EngineFactory {
 public:
  explicit Refusing(std::shared_ptr<int> left) : left_(std::move(left)) {}
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path& file,
                                                      const std::vector<protocol::Feed>& feeds,
                                                      const std::stop_token& cancel) override {
    if ((*left_)-- > 0) return core::fail(core::ErrorCode::kUnsupported, "not this one");
    return honest_.load(file, feeds, cancel);
  }

 private:
  const std::shared_ptr<int> left_;
  rollout::SessionEngineFactory honest_{graph::SessionOptions{}};
};

}  // namespace

std::unique_ptr<rollout::EngineFactory> make_rollout_cheat(serial::Lies lies) {
  return std::make_unique<RolloutCheatFactory>(std::move(lies));
}

std::unique_ptr<rollout::EngineFactory> make_refuser(int* asked) {
  return std::make_unique<Refuser>(asked);
}

std::unique_ptr<rollout::EngineFactory> make_lazy_cheat() {
  return std::make_unique<LazyFactory>();
}

std::unique_ptr<rollout::EngineFactory> make_refusing(std::shared_ptr<int> left) {
  return std::make_unique<Refusing>(std::move(left));
}

}  // namespace commensal::sim::testing
