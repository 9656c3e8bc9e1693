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
#include <commensal/compute/kernels/shape_inference/groups.hpp>

namespace commensal::kernels::ref {
namespace {

using shape_inference::GroupForm;
using shape_inference::Groups;

struct Facts {
  float mean = 0, scale = 0, last = 0;
};

template <GroupForm kForm>
struct GroupNormPlan {
  Groups groups;

  static core::Result<GroupNormPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats32>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    COMMENSAL_ASSIGN(Groups groups, shape_inference::groups_of(call, kForm));
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

constinit const Judge kGroupNormalization = judge_of<GroupNormPlan<GroupForm::kGroup>>();
constinit const Judge kInstanceNormalization = judge_of<GroupNormPlan<GroupForm::kInstance>>();
constinit const Judge kLayerNormalization = judge_of<GroupNormPlan<GroupForm::kLayer>>();

}  // namespace commensal::kernels::ref
