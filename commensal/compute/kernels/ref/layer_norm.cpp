// SPDX-License-Identifier: Apache-2.0
// LayerNormalization, InstanceNormalization, GroupNormalization: over each group of n elements,
// sums in lanes,
//   mean = sum(x) / n, var = sum(d * d) / n with d = x - mean, r = 1 / sqrt(var + epsilon),
//   y = fma(d * r, scale, bias), a missing bias counting as +0.
#include <algorithm>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

// Element `index` belongs to group index / size; its scale and bias are entry parameter(index):
// stretches of `stretch` elements share one, and the `parameters` of them come round.
struct Groups {
  TensorType type;
  std::int64_t size = 1;
  std::int64_t stretch = 1, parameters = 1;
  std::vector<TensorType> facts;  // of the optional outputs Mean and InvStdDev
  float epsilon = 1e-5f;

  std::int64_t parameter(std::int64_t index) const { return index / stretch % parameters; }
};

struct Facts {
  float mean = 0, scale = 0, last = 0;
};

core::Result<Groups> layer_groups(const Call& call) {
  const Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
  COMMENSAL_ASSIGN(const std::int64_t stash, call.attributes->integer("stash_type", 1));
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank()));
  if (stash != 1) return fail(ErrorCode::kUnsupported, "attribute 'stash_type' other than 1");
  Groups made;
  made.size = made.parameters = x.elements(axis, x.rank());
  if (made.size == 0)
    return fail(ErrorCode::kInvalidArgument, "{} has nothing to normalise", x.text());
  for (int i = 1; i <= 2; ++i) {
    if (!call.has(i) || call.in(i).elements() == made.size) continue;
    return fail(ErrorCode::kInvalidArgument, "input {} must have {} elements, not {}", i, made.size,
                call.in(i).shape().text());
  }
  std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
  for (int d = axis; d < x.rank(); ++d) dims[static_cast<std::size_t>(d)] = 1;
  const TensorType facts{DType::kFloat32, *Shape::of(dims)};
  made.facts.assign(static_cast<std::size_t>(call.output_count - 1), facts);
  return made;
}

core::Result<void> check_parameters(const Call& call, std::int64_t count) {
  for (int i = 1; i <= 2; ++i) {
    if (call.in(i).shape() == Shape{count}) continue;
    return fail(ErrorCode::kInvalidArgument, "input {} must be [{}], not {}", i, count,
                call.in(i).shape().text());
  }
  return {};
}

core::Result<Groups> instance_groups(const Call& call) {
  const Shape& x = call.in(0).shape();
  if (x.rank() < 2) return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, ...]");
  Groups made;
  made.parameters = x[1];
  made.size = made.stretch = x.elements(2, x.rank());
  COMMENSAL_TRY(check_parameters(call, made.parameters));
  return made;
}

// Before opset 21 a scale and bias for each group, from then on for each channel.
core::Result<Groups> channel_groups(const Call& call) {
  const Shape& x = call.in(0).shape();
  if (x.rank() < 2) return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, ...]");
  COMMENSAL_ASSIGN(const std::int64_t groups, call.attributes->integer("num_groups", 0));
  COMMENSAL_ASSIGN(const std::int64_t stash, call.attributes->integer("stash_type", 1));
  if (stash != 1) return fail(ErrorCode::kUnsupported, "attribute 'stash_type' other than 1");
  if (groups < 1 || x[1] % groups != 0) {
    return fail(ErrorCode::kInvalidArgument, "{} channels cannot be cut into {} groups", x[1],
                groups);
  }
  Groups made;
  const std::int64_t plane = x.elements(2, x.rank());
  made.size = x[1] / groups * plane;
  if (made.size == 0)
    return fail(ErrorCode::kInvalidArgument, "{} has nothing to normalise", x.text());
  made.parameters = call.opset < 21 ? groups : x[1];
  made.stretch = call.opset < 21 ? made.size : plane;
  COMMENSAL_TRY(check_parameters(call, made.parameters));
  return made;
}

enum class Form { kLayer, kInstance, kGroup };

core::Result<Groups> groups_of(const Call& call, Form form) {
  if (form == Form::kLayer) return layer_groups(call);
  return form == Form::kInstance ? instance_groups(call) : channel_groups(call);
}

template <Form kForm>
struct GroupNormPlan {
  Groups groups;

  static core::Result<GroupNormPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats32>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    COMMENSAL_ASSIGN(Groups groups, groups_of(call, kForm));
    groups.type = call.in(0).type();
    COMMENSAL_ASSIGN(groups.epsilon, call.attributes->real("epsilon", 1e-5f));
    return GroupNormPlan{groups};
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {groups.type};
    made.insert(made.end(), groups.facts.begin(), groups.facts.end());
    return made;
  }

  // Steps: those of the first sum, then those of the second.
  template <class T>
  Facts facts(Paced<T> x, std::int64_t group, std::int64_t steps) const {
    const auto at = [&](std::int64_t i) {
      return load(x[static_cast<std::size_t>(group * groups.size + i)]);
    };
    const std::int64_t half = groups.size + Sum<float>::kTreeSteps;
    const auto count = static_cast<float>(groups.size);
    Facts made;
    Sum<float> sum(steps);
    for (std::int64_t i = 0; i < groups.size; ++i) sum.add(i, at(i));
    made.mean = sum.total() / count;
    made.last = sum.last();
    if (steps <= half) return made;
    Sum<float> squares(steps == kAllSteps ? kAllSteps : steps - half);
    for (std::int64_t i = 0; i < groups.size; ++i) {
      const float d = at(i) - made.mean;
      squares.add(i, d * d);
    }
    made.scale = 1.0f / std::sqrt(squares.total() / count + groups.epsilon);
    made.last = squares.last();
    return made;
  }
  template <class T>
  T value(const Call& call, const Facts& made, std::int64_t index) const {
    const auto p = static_cast<std::size_t>(groups.parameter(index));
    const float d = load(paced<T>(call, 0)[static_cast<std::size_t>(index)]) - made.mean;
    const float bias = call.has(2) ? load(paced<T>(call, 2)[p]) : 0.0f;
    return store<T>(std::fma(d * made.scale, load(paced<T>(call, 1)[p]), bias));
  }

  Scalar element(const Call& call, int output, std::int64_t index) const {
    return visit(Floats32{}, groups.type.dtype, [&]<class T>() {
      const std::int64_t group = output == 0 ? index / groups.size : index;
      const Facts made = facts(paced<T>(call, 0), group, kAllSteps);
      if (output == 0) return scalar_of(value<T>(call, made, index));
      return scalar_of(store<float>(output == 1 ? made.mean : made.scale));
    });
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    const std::int64_t group = output == 0 ? index / groups.size : index;
    for (std::int64_t i = 0; i < groups.size; ++i) out.push_back({0, group * groups.size + i});
    for (int i = 1; i <= 2 && output == 0; ++i) {
      if (call.has(i)) out.push_back({i, groups.parameter(index)});
    }
  }
  std::int64_t steps(const Call&, int, std::int64_t) const {
    return 2 * (groups.size + Sum<float>::kTreeSteps);
  }
  Scalar partial(const Call& call, int output, std::int64_t index, std::int64_t steps) const {
    return visit(Floats32{}, groups.type.dtype, [&]<class T>() {
      const std::int64_t group = output == 0 ? index / groups.size : index;
      return scalar_of(store<float>(facts(paced<T>(call, 0), group, steps).last));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats32{}, groups.type.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      const std::int64_t count =
          groups.type.shape.elements() / std::max<std::int64_t>(groups.size, 1);
      for (std::int64_t group = 0; group < count; ++group) {
        const Facts made = facts(x, group, kAllSteps);
        for (std::int64_t i = group * groups.size; i < (group + 1) * groups.size; ++i) {
          y[static_cast<std::size_t>(i)] = value<T>(call, made, i);
        }
        for (std::size_t o = 1; o < outputs.size(); ++o) {
          outputs[o].mutable_data<float>()[static_cast<std::size_t>(group)] =
              store<float>(o == 1 ? made.mean : made.scale);
        }
      }
    });
  }
};

}  // namespace

constinit const Judge kGroupNormalization = judge_of<GroupNormPlan<Form::kGroup>>();
constinit const Judge kInstanceNormalization = judge_of<GroupNormPlan<Form::kInstance>>();
constinit const Judge kLayerNormalization = judge_of<GroupNormPlan<Form::kLayer>>();

}  // namespace commensal::kernels::ref
