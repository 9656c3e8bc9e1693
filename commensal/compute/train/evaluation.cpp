// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/train/evaluation.hpp>
#include <commensal/compute/train/loss.hpp>
#include <commensal/compute/train/samples.hpp>
#include <commensal/compute/train/weights.hpp>
#include <numeric>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using graph::ValueId;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// Weights are given to whoever runs the graph, behind its own inputs.
void give(Graph& graph, const std::vector<std::string>& weights) {
  for (const std::string& name : weights) {
    const auto at = graph.initialisers.find(initialiser_named(graph, name));
    if (at == graph.initialisers.end()) continue;  // make_step() has said so
    const TensorType type = at->second.type();
    graph::Declared& declared = graph.values[static_cast<std::size_t>(at->first)].declared;
    declared = {type.dtype, true, {type.shape.dims().begin(), type.shape.dims().end()}, {}};
    declared.symbols.resize(declared.dims.size());
    graph.inputs.push_back(at->first);
    graph.initialisers.erase(at);
  }
}

bool leaves_batch_free(const Graph& model) {
  return std::ranges::all_of(model.inputs, [&](ValueId id) {
    const auto& dims = model.values[static_cast<std::size_t>(id)].declared.dims;
    return !dims.empty() && dims[0] < 0;
  });
}

template <class T>
Right count_right(std::span<const T> scores, const Tensor& targets, std::int64_t classes,
                  std::optional<std::int64_t> ignored) {
  const std::int64_t samples = targets.shape()[0];
  const std::int64_t inner = samples == 0 ? 0 : targets.elements() / samples;
  const auto wanted = targets.data<std::int64_t>();
  Right made;
  for (std::int64_t n = 0; n < samples; ++n) {
    for (std::int64_t d = 0; d < inner; ++d) {
      const std::int64_t target = wanted[static_cast<std::size_t>(n * inner + d)];
      if (target == ignored) continue;
      const auto score = [&](std::int64_t c) {
        return scores[static_cast<std::size_t>((n * classes + c) * inner + d)];
      };
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c) {
        if (score(c) > score(best)) best = c;
      }
      made.right += best == target ? 1 : 0;
      ++made.all;
    }
  }
  return made;
}

double number_of(const Tensor& loss) {
  return loss.dtype() == DType::kFloat64 ? loss.data<double>()[0]
                                         : static_cast<double>(loss.data<float>()[0]);
}

}  // namespace

Right right_classes(const Tensor& scores, const Tensor& targets,
                    std::optional<std::int64_t> ignored) {
  const std::int64_t classes = scores.shape()[1];
  if (scores.dtype() == DType::kFloat32)
    return count_right(scores.data<float>(), targets, classes, ignored);
  if (scores.dtype() == DType::kFloat64)
    return count_right(scores.data<double>(), targets, classes, ignored);
  return {};
}

Result<Evaluation> Evaluation::create(const Graph& model, const Plan& plan,
                                      std::vector<Tensor> data,
                                      const std::vector<std::string>& weights,
                                      const graph::SessionOptions& options) {
  Evaluation made;
  made.loss_ = plan.loss;
  made.loss_.smoothing = 0;
  const std::int64_t batch = plan.batch / plan.accumulate;
  const bool is_free = leaves_batch_free(model);
  made.data_ = std::move(data);
  const std::int64_t all = made.data_[0].shape()[0];
  if (!is_free && all < batch)
    return fail(ErrorCode::kInvalidArgument, "{} samples, expected at least a batch of {}", all,
                batch);
  const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t size) -> Result<void> {
    if (first == last) return {};
    std::vector<TensorType> inputs;
    for (std::size_t i = 0; i < model.inputs.size(); ++i)
      inputs.push_back(batch_of(made.data_[i], size));
    TensorType target;
    if (plan.loss.kind != LossKind::kValue) target = batch_of(made.data_.back(), size);
    COMMENSAL_ASSIGN(WithLoss with, with_loss(model, inputs, target, made.loss_));
    COMMENSAL_TRY(check_classes(plan.evaluate->data, made.data_.back(), with.classes, plan.loss));
    const auto loss = std::ranges::find_if(
        with.graph.outputs, [&](ValueId id) { return with.graph.name_of(id) == with.name; });
    with.graph.outputs = {*loss};
    if (plan.loss.kind == LossKind::kCrossEntropy) with.graph.outputs.push_back(with.output);
    give(with.graph, weights);
    COMMENSAL_ASSIGN(
        auto session,
        graph::Session::create(std::make_shared<const Graph>(std::move(with.graph)), options));
    made.parts_.push_back({first, last, size, std::move(session)});
    return {};
  };
  const std::int64_t full = all / batch * batch;
  COMMENSAL_TRY(add(0, full, batch));
  if (is_free) COMMENSAL_TRY(add(full, all, all - full));
  return made;
}

Result<Checkpoint::HeldOut> Evaluation::run(std::int64_t step,
                                            std::span<const Checkpoint::Entry> weights) {
  double loss = 0;
  std::int64_t total = 0;  // a part's loss is the mean of what counts in it
  Right found;
  for (Part& part : parts_) {
    for (std::int64_t first = part.first; first < part.last; first += part.batch) {
      std::vector<std::int64_t> which(static_cast<std::size_t>(part.batch));
      std::iota(which.begin(), which.end(), first);
      std::vector<Tensor> inputs;
      for (const Tensor& samples : data_) inputs.push_back(gathered(samples, which));
      const Tensor target = inputs.back();
      for (const Checkpoint::Entry& weight : weights) inputs.push_back(weight.value);
      COMMENSAL_ASSIGN(const auto made, part.session.run(inputs));
      std::int64_t counted = part.batch;
      if (loss_.kind == LossKind::kCrossEntropy) {
        const Right right = right_classes(made[1], target, loss_.ignored);
        counted = right.all;
        found.right += right.right;
        found.all += right.all;
      }
      if (counted == 0) continue;
      loss += number_of(made[0]) * static_cast<double>(counted);
      total += counted;
    }
  }
  if (total == 0) {
    return fail(ErrorCode::kInvalidArgument, "all targets of 'evaluate' are {}, which is ignored",
                loss_.ignored.value_or(0));
  }
  Checkpoint::HeldOut made{step, loss / static_cast<double>(total)};
  if (!std::isfinite(made.loss)) {
    return fail(ErrorCode::kFailedPrecondition, "the held-out loss after step {} is {}", step,
                made.loss);
  }
  if (found.all > 0)
    made.accuracy = static_cast<double>(found.right) / static_cast<double>(found.all);
  return made;
}

}  // namespace commensal::train
