// SPDX-License-Identifier: Apache-2.0
// BatchNormalization. At inference y = fma(x - mean, scale / sqrt(var + epsilon), B). In training
// mean and variance are those of the batch, in two passes; the running ones are
//   momentum * old + (1 - momentum) * of the batch.
#include <commensal/compute/kernels/ref/grouped.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>
#include <variant>

namespace commensal::kernels::ref {
namespace {

struct BatchNormPlan {
  shape_inference::BatchNorm bn;

  static core::Result<BatchNormPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto bn, shape_inference::batch_norm_of(call));
    return BatchNormPlan{bn};
  }
  std::vector<TensorType> types() const { return {bn.type}; }
  std::int64_t channel(std::int64_t index) const { return index / bn.plane % bn.channels; }

  template <class T>
  T value(const Call& call, std::int64_t index) const {
    using C = Compute<T>;
    const auto parameter = [&](int input) {
      return visit(Floats{}, bn.parameters, [&]<class P>() {
        return static_cast<C>(
            load(paced<P>(call, input)[static_cast<std::size_t>(channel(index))]));
      });
    };
    const C scale = parameter(1) / std::sqrt(parameter(4) + static_cast<C>(bn.epsilon));
    const C x = load(paced<T>(call, 0)[static_cast<std::size_t>(index)]);
    return store<T>(std::fma(x - parameter(3), scale, parameter(2)));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats{}, bn.type.dtype,
                 [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, index});
    for (int i = 1; i <= 4; ++i) out.push_back({i, channel(index)});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, bn.type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse();
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
      }
    });
  }
};

// Outputs: Y, the running mean and variance and, before opset 14, those of the batch.
struct TrainedBatchNorm {
  using In = Floats;
  DType dtype = DType::kUndefined;
  std::int64_t groups = 0, count = 1;
  shape_inference::BatchNorm bn;

  static core::Result<TrainedBatchNorm> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto bn, shape_inference::batch_norm_of(call));
    const std::int64_t elements = bn.type.shape.elements();
    if (elements == 0) {
      return core::fail(core::ErrorCode::kInvalidArgument, "{} has nothing to normalise",
                        bn.type.shape.text());
    }
    return TrainedBatchNorm{bn.type.dtype, bn.channels, elements / bn.channels, bn};
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {bn.type};
    made.resize(static_cast<std::size_t>(bn.outputs), {bn.parameters, bn.parameter_shape});
    return made;
  }
  std::int64_t member(std::int64_t group, std::int64_t i) const {
    return (i / bn.plane * bn.channels + group) * bn.plane + i % bn.plane;
  }
  std::int64_t group_of(int output, std::int64_t index) const {
    return output == 0 ? index / bn.plane % bn.channels : index;
  }

  template <class C, class At>
  Moments<C> facts(At at, std::int64_t steps) const {
    return Moments<C>::of(count, at, steps);
  }
  std::int64_t steps() const { return Moments<float>::steps(count); }
  template <class C>
  C parameter(const Call& call, int input, std::int64_t channel) const {
    return visit(In{}, bn.parameters, [&]<class P>() {
      return static_cast<C>(load(paced<P>(call, input)[static_cast<std::size_t>(channel)]));
    });
  }
  template <class T, class F>
  Scalar value(const Call& call, const F& made, int output, std::int64_t index) const {
    using C = Compute<T>;
    if (output == 0) {
      const std::int64_t c = group_of(0, index);
      const C root = std::sqrt(made.variance + static_cast<C>(bn.epsilon));
      const C scale = parameter<C>(call, 1, c) / root;
      const C x = load(paced<T>(call, 0)[static_cast<std::size_t>(index)]);
      return scalar_of(store<T>(std::fma(x - made.mean, scale, parameter<C>(call, 2, c))));
    }
    C fact = output % 2 == 1 ? made.mean : made.variance;
    if (output <= 2) {
      const auto momentum = static_cast<C>(bn.momentum);
      fact = momentum * parameter<C>(call, output + 2, index) + (C{1} - momentum) * fact;
    }
    return visit(In{}, bn.parameters,
                 [&]<class P>() { return scalar_of(store<P>(static_cast<Compute<P>>(fact))); });
  }
  void more_reads(const Call&, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    if (output == 0) {
      out.push_back({1, group_of(0, index)});
      out.push_back({2, group_of(0, index)});
    } else if (output <= 2) {
      out.push_back({output + 2, index});
    }
  }
};

// Whichever of the two a call asks for; at inference there are no steps.
struct AnyBatchNorm {
  using Trained = GroupedPlan<TrainedBatchNorm>;
  std::variant<BatchNormPlan, Trained> plan;

  static core::Result<AnyBatchNorm> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto bn, shape_inference::batch_norm_of(call));
    if (!bn.trains) return AnyBatchNorm{BatchNormPlan{bn}};
    COMMENSAL_ASSIGN(const auto trained, Trained::make(call));
    return AnyBatchNorm{trained};
  }
  std::vector<TensorType> types() const {
    return std::visit([](const auto& one) { return one.types(); }, plan);
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    return std::visit([&](const auto& one) { return one.element(call, output, index); }, plan);
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    std::visit([&](const auto& one) { one.reads(call, output, index, out); }, plan);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    std::visit([&](const auto& one) { one.run(call, outputs); }, plan);
  }
  std::int64_t steps(const Call& call, int output, std::int64_t index) const {
    const auto* trained = std::get_if<Trained>(&plan);
    return trained == nullptr ? 0 : trained->steps(call, output, index);
  }
  Scalar partial(const Call& call, int output, std::int64_t index, std::int64_t steps) const {
    const auto* trained = std::get_if<Trained>(&plan);
    return trained == nullptr ? scalar_of(0.0f) : trained->partial(call, output, index, steps);
  }
};

}  // namespace

constinit const Judge kBatchNormalization = judge_of<AnyBatchNorm>();

}  // namespace commensal::kernels::ref
