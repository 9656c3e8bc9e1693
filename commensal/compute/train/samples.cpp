// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/train/data.hpp>
#include <commensal/compute/train/samples.hpp>
#include <commensal/compute/train/weights.hpp>
#include <numeric>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

constexpr const char* kTarget = "target";

/// What no rate and no clipping would mend.
Result<void> check_samples(const Source& source, const Tensor& samples) {
  if (is_finite(samples)) return {};
  std::int64_t at = 0;
  while (is_finite(gathered(samples, {at}))) ++at;
  return fail(ErrorCode::kInvalidArgument, "{}: sample {} (from 0) is not finite",
              source.file.string(), at);
}

/// The first dimension is the batch, whether the model says so or leaves it free.
Result<std::vector<std::int64_t>> sample_of(const graph::ValueInfo& input, std::int64_t batch) {
  const auto& dims = input.declared.dims;
  const bool fits = input.declared.ranked && !dims.empty() && (dims[0] < 0 || dims[0] == batch);
  bool is_known = fits;
  for (std::size_t i = 1; i < dims.size(); ++i) is_known = is_known && dims[i] >= 0;
  if (is_known) return std::vector<std::int64_t>(dims.begin() + 1, dims.end());
  return fail(ErrorCode::kInvalidArgument,
              "input '{}' is {}, expected a batch of {} in front and nothing else free", input.name,
              input.declared.text(), batch);
}

Result<Tensor> input_samples(const Sources& sources, const graph::ValueInfo& input,
                             std::int64_t batch) {
  const auto source = sources.find(input.name);
  if (source == sources.end())
    return fail(ErrorCode::kInvalidArgument, "'data' has nothing for the model's input '{}'",
                input.name);
  COMMENSAL_ASSIGN(const auto sample, sample_of(input, batch));
  COMMENSAL_ASSIGN(const Tensor raw, read_source(source->second));
  auto made = prepared(raw, source->second.scale, input.declared.dtype, sample);
  if (!made) return core::in_context(fmt::format("input '{}'", input.name), made.error());
  COMMENSAL_TRY(check_samples(source->second, *made));
  return made;
}

/// As the file has it: classes become int64, numbers float32.
Result<Tensor> target_samples(const Sources& sources, LossKind loss) {
  const auto source = sources.find(kTarget);
  if (source == sources.end())
    return fail(ErrorCode::kInvalidArgument, "'data' has nothing for the loss's '{}'", kTarget);
  COMMENSAL_ASSIGN(const Tensor raw, read_source(source->second));
  const auto dims = raw.shape().dims().subspan(1);
  const DType dtype = loss == LossKind::kCrossEntropy ? DType::kInt64 : DType::kFloat32;
  auto made = prepared(raw, source->second.scale, dtype, {dims.begin(), dims.end()});
  if (!made) return core::in_context(kTarget, made.error());
  COMMENSAL_TRY(check_samples(source->second, *made));
  return made;
}

}  // namespace

Result<std::vector<Tensor>> take_last(std::vector<Tensor>& data, std::int64_t count,
                                      std::int64_t least) {
  const std::int64_t all = data[0].shape()[0];
  if (count > all - least) {
    return fail(ErrorCode::kInvalidArgument,
                "'evaluate.last' is {} of {} samples, expected a batch of {} to be left", count,
                all, least);
  }
  std::vector<std::int64_t> which(static_cast<std::size_t>(all));
  std::iota(which.begin(), which.end(), 0);
  const auto middle = which.begin() + (all - count);
  std::vector<Tensor> made;
  for (Tensor& each : data) {
    made.push_back(gathered(each, {middle, which.end()}));
    each = gathered(each, {which.begin(), middle});
  }
  return made;
}

Result<void> check_classes(const Sources& sources, const Tensor& target, std::int64_t classes,
                           const Loss& loss) {
  if (classes == 0) return {};
  const auto all = target.data<std::int64_t>();
  const auto wrong = std::ranges::find_if(
      all, [&](std::int64_t one) { return (one < 0 || one >= classes) && one != loss.ignored; });
  if (wrong == all.end()) return {};
  const std::int64_t each = target.elements() / target.shape()[0];
  const auto source = sources.find(kTarget);
  return fail(ErrorCode::kInvalidArgument,
              "{}: row {} (from 0) has the class {}, expected 0 to {}{}: output '{}' has {} scores",
              source == sources.end() ? kTarget : source->second.file.string(),
              (wrong - all.begin()) / each, *wrong, classes - 1,
              loss.ignored ? fmt::format(", or {}, which is ignored", *loss.ignored) : "",
              loss.output, classes);
}

TensorType batch_of(const Tensor& samples, std::int64_t batch) {
  std::vector<std::int64_t> dims(samples.shape().dims().begin(), samples.shape().dims().end());
  dims[0] = batch;
  return {samples.dtype(), *tensor::Shape::of(dims)};
}

Result<std::vector<Tensor>> read_samples(const Sources& sources, const graph::Graph& model,
                                         LossKind loss, std::int64_t batch, std::int64_t least) {
  std::vector<Tensor> made;
  for (const graph::ValueId id : model.inputs) {
    COMMENSAL_ASSIGN(made.emplace_back(),
                     input_samples(sources, model.values[static_cast<std::size_t>(id)], batch));
  }
  if (loss != LossKind::kValue) {
    COMMENSAL_ASSIGN(made.emplace_back(), target_samples(sources, loss));
  }
  std::vector<std::string> inputs;
  for (const graph::ValueId id : model.inputs) inputs.push_back(model.name_of(id));
  for (const auto& [name, source] : sources) {
    if (name != kTarget && std::ranges::find(inputs, name) == inputs.end())
      return fail(ErrorCode::kInvalidArgument, "'data.{}': the model has no such input, it has {}",
                  name, some_of(inputs));
  }
  for (const Tensor& each : made) {
    if (each.shape()[0] != made[0].shape()[0])
      return fail(ErrorCode::kInvalidArgument, "the data has {} and {} samples, expected as many",
                  made[0].shape()[0], each.shape()[0]);
  }
  if (made.empty() || made[0].shape()[0] < least) {
    return fail(ErrorCode::kInvalidArgument, "{} samples, expected at least a batch of {}",
                made.empty() ? 0 : made[0].shape()[0], least);
  }
  return made;
}

}  // namespace commensal::train
