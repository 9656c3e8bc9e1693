// SPDX-License-Identifier: Apache-2.0
// Between what a client sends and gets, and what the model takes and makes.
#include <algorithm>
#include <charconv>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/oip/model_config.hpp>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Shape;
using tensor::Tensor;
using Dims = std::vector<std::int64_t>;

std::string shown(bool is_batched, const Dims& dims) {
  return fmt::format("[{}{}]", is_batched ? dims.empty() ? "-1" : "-1," : "", fmt::join(dims, ","));
}

bool is_as(std::span<const std::int64_t> dims, const Dims& expected) {
  return std::ranges::equal(dims, expected,
                            [](std::int64_t a, std::int64_t b) { return b < 0 || a == b; });
}

/// What has shape `from` in shape `to`, whose free dimensions are those of `from` in their order.
std::optional<Shape> reshaped(std::span<const std::int64_t> batch,
                              std::span<const std::int64_t> dims, const Dims& from,
                              const Dims& to) {
  Dims made(batch.begin(), batch.end());
  std::size_t next = 0;
  for (const std::int64_t dim : to) {
    if (dim >= 0) {
      made.push_back(dim);
      continue;
    }
    while (next < from.size() && from[next] >= 0) ++next;
    if (next == from.size()) return std::nullopt;
    made.push_back(dims[next++]);
  }
  const auto shape = Shape::of(made);
  return shape ? std::optional(*shape) : std::nullopt;
}

/// The same elements in the shape that `to` says; none: as many do not fit it.
std::optional<Tensor> in_shape(const Tensor& tensor, bool is_batched, const Dims& from,
                               const Dims& to) {
  const std::span<const std::int64_t> dims = tensor.shape().dims();
  const std::size_t batch = is_batched ? 1 : 0;
  if (dims.size() != from.size() + batch || !is_as(dims.subspan(batch), from)) return std::nullopt;
  const auto shape = reshaped(dims.first(batch), dims.subspan(batch), from, to);
  if (!shape || shape->elements() != tensor.elements()) return std::nullopt;
  return tensor.reshaped(*shape);
}

Result<std::uint64_t> number_of(const std::string& id) {
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error == std::errc() && stop == id.data() + id.size()) return number;
  return fail(ErrorCode::kInvalidArgument,
              "the sequence's id '{}' is no number, which this model's "
              "correlation id is",
              id.substr(0, 64));
}

/// `rows` times the same.
Result<Tensor> control_tensor(const Control& control, const Sequence& sequence, bool is_batched,
                              std::int64_t rows) {
  const auto shape = is_batched ? Shape::of(Dims{rows, 1}) : Shape::of(Dims{1});
  if (!shape) return tl::unexpected(shape.error());
  if (control.dtype == tensor::DType::kString) {
    return Tensor::of_strings(
        *shape, std::vector<std::string>(static_cast<std::size_t>(shape->elements()), sequence.id));
  }
  const bool is_on = control.kind == Control::Kind::kStart ? sequence.is_start
                     : control.kind == Control::Kind::kEnd ? sequence.is_end
                                                           : true;
  std::uint64_t id = 0;
  const bool is_id = control.kind == Control::Kind::kCorrelationId;
  if (is_id) {
    COMMENSAL_ASSIGN(id, number_of(sequence.id));
  }
  core::Bytes bytes;
  tensor::with_type(control.dtype, [&]<class T> {
    if constexpr (std::is_arithmetic_v<T>) {
      const T one = is_id ? static_cast<T>(id) : static_cast<T>(is_on ? control.on : control.off);
      const auto* const data = reinterpret_cast<const std::uint8_t*>(&one);
      for (std::int64_t i = 0; i < shape->elements(); ++i)
        bytes.insert(bytes.end(), data, data + sizeof(T));
    }
  });
  const tensor::TensorType type{control.dtype, *shape};
  if (std::cmp_equal(bytes.size(), type.bytes())) return Tensor::copy_of(type, bytes);
  return fail(ErrorCode::kUnsupported, "the control input '{}' has a type that none may have",
              control.input);
}

/// Dimensions of `count` elements, one of which may be free; nothing: there are none such.
std::optional<Dims> deduced(Dims dims, std::int64_t count) {
  const auto free = std::ranges::find_if(dims, [](std::int64_t dim) { return dim < 0; });
  std::int64_t known = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) continue;
    if (__builtin_mul_overflow(known, dim, &known)) return std::nullopt;
  }
  if (free == dims.end()) return known == count ? std::optional(dims) : std::nullopt;
  if (known == 0 || count % known != 0) return std::nullopt;
  *free = count / known;
  return dims;
}

}  // namespace

Result<tensor::NamedTensor> only_input(const ModelConfig& config,
                                       const gateway::ModelVersion& model,
                                       std::shared_ptr<const core::Bytes> raw) {
  if (config.inputs.size() != 1) {
    return fail(ErrorCode::kInvalidArgument,
                "a raw request needs a model of one input, '{}' has {}: send JSON, or binary data "
                "behind a JSON head",
                model.name, config.inputs.size());
  }
  const PortConfig& port = config.inputs[0];
  const auto declared = std::ranges::find(model.inputs, port.name, &gateway::ModelPort::name);
  const tensor::DType dtype = declared->declared.dtype;
  Dims dims = port.dims;
  const bool is_free = std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; });
  if (config.batch_max > 0) dims.insert(dims.begin(), is_free ? 1 : -1);
  const auto size = std::max<std::int64_t>(tensor::traits(dtype).size, 1);
  const std::int64_t count = dtype == tensor::DType::kString ? 1 : std::ssize(*raw) / size;
  const auto found = std::ranges::count_if(dims, [](std::int64_t dim) { return dim < 0; }) > 1
                         ? std::nullopt
                         : deduced(dims, count);
  const auto shape = found ? Shape::of(*found) : Result<Shape>();
  if (!found || !shape) {
    return fail(ErrorCode::kInvalidArgument,
                "input '{}': {} bytes say no shape of {}[{}] with at most one free dimension",
                port.name, raw->size(), tensor::traits(dtype).oip, fmt::join(dims, ","));
  }
  if (dtype == tensor::DType::kString) {
    const std::vector<std::string_view> one = {core::as_text(*raw)};
    return tensor::NamedTensor{port.name, Tensor::of_string_views(*shape, one, {std::move(raw)})};
  }
  auto made = tensor::decoded({dtype, *shape}, *raw, raw);
  if (!made) return core::in_context(fmt::format("input '{}'", port.name), made.error());
  return tensor::NamedTensor{port.name, *std::move(made)};
}

Result<void> fit_inputs(const ModelConfig& config, const std::string& model,
                        const Sequence& sequence, tensor::NamedTensors& inputs) {
  const bool is_batched = config.batch_max > 0;
  std::int64_t rows = 1;
  for (const PortConfig& port : config.inputs) {
    const auto found = std::ranges::find(inputs, port.name, &tensor::NamedTensor::name);
    if (found == inputs.end()) continue;  // whoever orders them says what is expected
    const Shape shape = found->value.shape();
    const auto fitted =
        in_shape(found->value, is_batched, port.dims, port.reshape ? *port.reshape : port.dims);
    if (!fitted && (is_batched || port.reshape)) {
      return fail(ErrorCode::kInvalidArgument,
                  "unexpected shape for input '{}' for model '{}'. Expected {}, got {}", port.name,
                  model, shown(is_batched, port.dims), shape.text());
    }
    if (is_batched) rows = shape[0];
    if (is_batched && rows > config.batch_max) {
      return fail(ErrorCode::kInvalidArgument,
                  "inference request batch-size must be <= {} for '{}'", config.batch_max, model);
    }
    if (port.reshape) found->value = *fitted, found->root.reset();
  }
  if (!config.controls.empty() && sequence.id.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "inference request to model '{}' must specify a non-zero or non-empty correlation "
                "ID",
                model);
  }
  for (const Control& control : config.controls) {
    COMMENSAL_ASSIGN(Tensor made, control_tensor(control, sequence, is_batched, rows));
    inputs.push_back({control.input, std::move(made)});
  }
  return {};
}

void fit_outputs(const ModelConfig& config, tensor::NamedTensors& outputs) {
  for (const PortConfig& port : config.outputs) {
    if (!port.reshape) continue;
    const auto found = std::ranges::find(outputs, port.name, &tensor::NamedTensor::name);
    if (found == outputs.end()) continue;
    auto fitted = in_shape(found->value, config.batch_max > 0, *port.reshape, port.dims);
    if (fitted) found->value = *std::move(fitted);
  }
}

}  // namespace commensal::oip
