// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/train/data.hpp>
#include <commensal/compute/train/loss.hpp>
#include <commensal/compute/train/weights.hpp>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using grad::attributes_of;
using grad::Maker;
using grad::Value;
using graph::Graph;
using graph::ValueId;
using tensor::DType;
using tensor::TensorType;

namespace {

constexpr const char* kLossName = "commensal.loss";

/// The mean over the classes, and over the places that count.
Value smoothed(Maker& maker, Value scores, Value target, const Loss& loss) {
  const Value log = maker.add("LogSoftmax", {scores}, attributes_of({{"axis", std::int64_t{1}}}));
  const Value each = -mean(log, {1}, false);
  const grad::Dims all = grad::range(0, each.rank());
  if (!loss.ignored) return mean(each, all, false);
  const Value ignored = maker.list({*loss.ignored});
  const Value counts =
      cast(maker.add("Not", {maker.add("Equal", {target, ignored})}), each.type().dtype);
  return sum(each * counts, all, false) / sum(counts, all, false);
}

Value cross_entropy(Maker& maker, Value scores, Value target, const Loss& loss) {
  kernels::Attributes how;
  if (loss.ignored) how.set("ignore_index", *loss.ignored);
  const Value made = maker.add("SoftmaxCrossEntropyLoss", {scores, target}, std::move(how));
  if (loss.smoothing == 0) return made;
  return made * (1 - loss.smoothing) + smoothed(maker, scores, target, loss) * loss.smoothing;
}

Result<Value> add_loss(Maker& maker, Value output, const TensorType& wanted, const Loss& loss) {
  const TensorType& type = output.type();
  Value target = maker.input("commensal.target", wanted);
  // As NumPy's users have it, [N,1] where [N] is wanted, or the other way round.
  const auto as = [&](const grad::Dims& dims) {
    if (target.dims() != dims && without_ones(target.dims()) == without_ones(dims))
      target = reshape(target, dims);
  };
  if (loss.kind == LossKind::kMeanSquare) {
    as(output.dims());
    if (target.type() != type) {
      return fail(ErrorCode::kInvalidArgument, "the target is {}, expected {} as output '{}'",
                  target.type().text(), type.text(), loss.output);
    }
    const Value off = output - target;
    return mean(off * off, grad::range(0, off.rank()), false);
  }
  grad::Dims places = output.dims();
  if (places.size() >= 2) places.erase(places.begin() + 1);
  as(places);
  if (type.shape.rank() < 2 || target.dims() != places || target.type().dtype != DType::kInt64) {
    return fail(ErrorCode::kInvalidArgument,
                "the target is {}, expected classes int64 for the scores {} of output '{}'",
                target.type().text(), type.text(), loss.output);
  }
  return cross_entropy(maker, output, target, loss);
}

}  // namespace

Result<ValueId> output_named(const Graph& model, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueId id : model.outputs) {
    if (names.emplace_back(model.name_of(id)) == name) return id;
  }
  return fail(ErrorCode::kInvalidArgument, "'loss.output': the model has no output '{}', it has {}",
              name, some_of(names));
}

Result<WithLoss> with_loss(const Graph& model, const std::vector<TensorType>& inputs,
                           const TensorType& target, const Loss& loss) {
  COMMENSAL_ASSIGN(const ValueId output, output_named(model, loss.output));
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(model, inputs));
  if (!known.types[static_cast<std::size_t>(output)]) {
    return fail(ErrorCode::kUnsupported, "the type of output '{}' is not known before it runs",
                loss.output);
  }
  if (loss.kind == LossKind::kValue) return WithLoss{model, loss.output, inputs, output, 0};
  Maker maker(model, std::move(known));
  const Value scores = maker.value(output);
  COMMENSAL_ASSIGN(const Value added, add_loss(maker, scores, target, loss));
  COMMENSAL_TRY(maker.state());
  const std::int64_t classes = loss.kind == LossKind::kCrossEntropy ? scores.dims()[1] : 0;
  WithLoss made{std::move(maker.graph()), kLossName, inputs, output, classes};
  made.graph.values[static_cast<std::size_t>(added.id)].name = kLossName;
  made.graph.outputs = {added.id};
  made.inputs.push_back(target);
  return made;
}

}  // namespace commensal::train
