// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/train/segment.hpp>
#include <commensal/lab/sim/stubborn.hpp>
#include <commensal/lab/sim/training_cheats.hpp>
#include <cstring>

namespace commensal::sim {
namespace {

using core::ErrorCode;
using core::Result;
using graph::Graph;
using receipt::Values;
using tensor::DType;
using tensor::Tensor;

constexpr std::string_view kLieNames[] = {"wrong-step", "skipped-step", "other-rate",
                                          "other-data", "nan-loss",     "other-count"};
constexpr std::size_t kStateOutputs = 2;  // the first: losses and count are before it

graph::ValueId value_named(const Graph& graph, const std::string& name) {
  const auto at = std::ranges::find(graph.values, name, &graph::ValueInfo::name);
  return at == graph.values.end() ? graph::kAbsent
                                  : static_cast<graph::ValueId>(at - graph.values.begin());
}

bool is_training(const Graph& graph) {
  return !graph.outputs.empty() && graph.name_of(graph.outputs[0]) == train::kSegmentLosses;
}

Tensor with_bytes(const Tensor& value, const std::function<void(core::Bytes&)>& change) {
  core::Bytes bytes(value.bytes().begin(), value.bytes().end());
  change(bytes);
  return Tensor::copy_of(value.type(), bytes);
}

/// Puts out the state before its last step.
bool skip(Graph& graph, std::int64_t each) {
  bool skips = false;
  for (std::size_t i = kStateOutputs; i < graph.outputs.size(); ++i) {
    const graph::ValueId before =
        value_named(graph, train::segment_state_name(each - 1, i - kStateOutputs));
    if (before == graph::kAbsent) continue;
    const graph::Declared declared =
        graph.values[static_cast<std::size_t>(graph.outputs[i])].declared;
    graph.values[static_cast<std::size_t>(before)].declared = declared;
    graph.outputs[i] = before;
    skips = true;
  }
  return skips;
}

bool double_rate(Graph& graph, double rate) {
  bool is_found = false;
  for (auto& [id, value] : graph.initialisers) {
    if (value.dtype() != DType::kFloat32 || value.shape().rank() != 0) continue;
    const float twice = 2 * value.data<float>()[0];
    if (value.data<float>()[0] != static_cast<float>(rate)) continue;
    value = Tensor::of<float>({}, std::span(&twice, 1));
    is_found = true;
  }
  return is_found;
}

bool shift_data(Graph& graph) {
  const auto found = graph.initialisers.find(value_named(graph, train::segment_data_name(0)));
  if (found == graph.initialisers.end()) return false;
  const Tensor samples = found->second;
  const std::int64_t sample = samples.type().bytes() / samples.shape()[0];
  found->second = with_bytes(samples, [&](core::Bytes& bytes) {
    std::ranges::rotate(bytes, bytes.begin() + static_cast<std::ptrdiff_t>(sample));
  });
  return true;
}

/// What no other model makes, but a changed output.
void change(TrainingLie lie, Values& made) {
  if (made.size() <= kStateOutputs) return;
  if (lie == TrainingLie::kWrongStep) {
    made[kStateOutputs] =
        with_bytes(made[kStateOutputs], [](core::Bytes& bytes) { bytes.front() ^= 1; });
  } else if (lie == TrainingLie::kNanLoss) {
    made[0] = with_bytes(made[0], [](core::Bytes& bytes) { std::ranges::fill(bytes, 0xff); });
  } else if (lie == TrainingLie::kOtherCount) {
    made[1] = with_bytes(made[1], [](core::Bytes& bytes) { bytes.front() ^= 1; });
  }
}

Result<std::shared_ptr<const Graph>> lying(const Graph& exact,
                                           const TrainingCheatRequest& request) {
  auto made = std::make_shared<Graph>(exact);
  const auto each = exact.values[static_cast<std::size_t>(exact.outputs[0])].declared.dims.at(0);
  bool is_lie = true;
  if (request.lie == TrainingLie::kSkippedStep) is_lie = skip(*made, each);
  if (request.lie == TrainingLie::kOtherRate) is_lie = double_rate(*made, request.rate);
  if (request.lie == TrainingLie::kOtherData) is_lie = shift_data(*made);
  if (is_lie) return std::shared_ptr<const Graph>(std::move(made));
  return core::fail(ErrorCode::kUnsupported, "there is nothing to lie about in this training");
}

class TrainingCheat final : public rollout::Engine {
 public:
  TrainingCheat(const TrainingCheatRequest& request, const std::shared_ptr<const Graph>& exact,
                noise::NoisySession honest, noise::NoisySession lie)
      : request_(request),
        honest_(std::move(honest)),
        lie_(std::move(lie)),
        leaves_(std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*exact))),
        roots_(receipt::model_roots(*leaves_)),
        stubborn_(exact, leaves_,
                  [this](const Values& inputs) { return run(argued_, inputs, std::nullopt, {}); }) {
  }

  const receipt::ModelRoots& roots() const override { return roots_; }
  const Graph& graph() const override { return honest_.graph(); }
  Result<Values> run(std::uint64_t step, const Values& inputs,
                     const std::optional<noise::Noise>& noise,
                     const graph::RunOptions& options) override {
    const bool is_wrong_step = request_.lie == TrainingLie::kWrongStep;
    const bool lies = is_wrong_step ? step == request_.from : step >= request_.from;
    COMMENSAL_ASSIGN(Values made, (lies ? lie_ : honest_).run(inputs, noise, options));
    if (lies) change(request_.lie, made);
    return made;
  }
  Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                 const graph::RunOptions& options) override {
    argued_ = argument.setup.receipt.step;
    return stubborn_.argue(argument, options);
  }

 private:
  const TrainingCheatRequest request_;
  noise::NoisySession honest_, lie_;
  std::shared_ptr<const receipt::ModelLeaves> leaves_;
  receipt::ModelRoots roots_;
  Stubborn stubborn_;
  std::uint64_t argued_ = 1;
};

class TrainingCheatFactory final : public rollout::EngineFactory {
 public:
  explicit TrainingCheatFactory(const TrainingCheatRequest& request) : request_(request) {}
  Result<std::unique_ptr<rollout::Engine>> load(const core::Path& model_file,
                                                const std::vector<protocol::Feed>& feeds,
                                                const std::stop_token& cancel) override {
    COMMENSAL_ASSIGN(const auto exact, graph::onnx::import_file(model_file));
    if (!is_training(*exact))
      return rollout::SessionEngineFactory({}).load(model_file, feeds, cancel);
    COMMENSAL_ASSIGN(const auto other, lying(*exact, request_));
    COMMENSAL_ASSIGN(auto honest, noise::NoisySession::create(exact, {}, feeds));
    COMMENSAL_ASSIGN(auto lie, noise::NoisySession::create(other, {}, feeds));
    return std::make_unique<TrainingCheat>(request_, exact, std::move(honest), std::move(lie));
  }

 private:
  const TrainingCheatRequest request_;
};

}  // namespace

std::span<const std::string_view> enum_names(TrainingLie) { return kLieNames; }

std::unique_ptr<rollout::EngineFactory> make_training_cheat(const TrainingCheatRequest& request) {
  return std::make_unique<TrainingCheatFactory>(request);
}

}  // namespace commensal::sim
