// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/noise/targets.hpp>
#include <unordered_map>

namespace commensal::noise {

using core::Result;
using graph::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace {

/// The element types of what a graph's own nodes make; not of what graphs inside it make.
class TypeWatch final : public graph::Tracer {
 public:
  explicit TypeWatch(const graph::Graph& graph) : graph_(graph) {}

  void after_node(const graph::Node& node, const kernels::Call&,
                  std::span<const Tensor> outputs) override {
    if (&node < graph_.nodes.data() || &node >= graph_.nodes.data() + graph_.nodes.size()) return;
    for (std::size_t i = 0; i < std::min(outputs.size(), node.outputs.size()); ++i) {
      dtypes_[node.outputs[i]] = outputs[i].dtype();
    }
  }
  DType of(ValueId id) const {
    const auto found = dtypes_.find(id);
    return found == dtypes_.end() ? DType::kUndefined : found->second;
  }

 private:
  const graph::Graph& graph_;
  std::unordered_map<ValueId, DType> dtypes_;
};

}  // namespace

Result<NoisySession> NoisySession::create(std::shared_ptr<const graph::Graph> graph,
                                          const graph::SessionOptions& options,
                                          std::vector<protocol::Feed> feeds) {
  COMMENSAL_TRY(check_feeds(*graph, feeds));
  auto places = noise::noisy_inputs(*graph, feeds);
  COMMENSAL_ASSIGN(auto session, graph::Session::create(std::move(graph), options));
  return NoisySession(std::move(session), options, std::move(feeds), std::move(places));
}

Result<std::vector<Tensor>> NoisySession::disturbed(std::span<const Tensor> inputs,
                                                    const Noise& noise) const {
  std::vector<Tensor> sums(inputs.begin(), inputs.end());
  for (const std::uint32_t place : noisy_inputs_) {
    if (place >= sums.size()) break;  // for the session to refuse
    COMMENSAL_ASSIGN(sums[place], add(sums[place], noise.seed, place, noise.exponent));
  }
  return sums;
}

Result<void> NoisySession::find_inner(std::span<const Tensor> inputs, graph::RunOptions options) {
  if (inner_) return {};
  TypeWatch types(graph());
  options.tracer = &types;
  COMMENSAL_TRY(session_.run(inputs, options));
  const ValueId target = inner_target(graph(), [&](ValueId id) { return types.of(id); });
  if (target == graph::kAbsent) {
    return core::fail(core::ErrorCode::kUnsupported,
                      "the model has no floating-point tensor that depends on its inputs and that "
                      "noise could go onto");
  }
  Cut cut = cut_at(graph(), target, types.of(target));
  COMMENSAL_ASSIGN(auto before, graph::Session::create(std::move(cut.before), options_));
  COMMENSAL_ASSIGN(auto after, graph::Session::create(std::move(cut.after), options_));
  inner_.emplace(Inner{std::move(before), std::move(after)});
  return {};
}

Result<std::vector<Tensor>> NoisySession::run(std::span<const Tensor> inputs,
                                              const std::optional<Noise>& noise,
                                              const graph::RunOptions& options) {
  if (!noise) return session_.run(inputs, options);
  if (!noisy_inputs_.empty()) {
    COMMENSAL_ASSIGN(const auto sums, disturbed(inputs, *noise));
    return session_.run(sums, options);
  }
  COMMENSAL_TRY(find_inner(inputs, options));
  COMMENSAL_ASSIGN(const auto value, inner_->before.run(inputs, options));
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  all.push_back({});
  COMMENSAL_ASSIGN(all.back(), add(value[0], noise->seed, kInnerTensor, noise->exponent));
  return inner_->after.run(all, options);
}

}  // namespace commensal::noise
