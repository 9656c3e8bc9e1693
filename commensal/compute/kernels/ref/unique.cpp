// SPDX-License-Identifier: Apache-2.0
// Unique.
#include <algorithm>
#include <commensal/compute/kernels/few.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/radix.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <numeric>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::AxisView;

using Positions = std::vector<std::int64_t>;

// NaNs are equal and above all numbers, -0 equals +0. Outputs: the first of each group of equal
// slices, its position, the group of each slice, the size of each group.
struct UniquePlan {
  TensorType from, to;
  AxisView view, kept;
  int output_count = 1;
  Positions first, group, count;

  static core::Result<UniquePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Everything>(call, 0));
    UniquePlan plan;
    plan.from = call.in(0).type();
    plan.output_count = call.output_count;
    const bool flat = !call.attributes->has("axis");
    const Shape whole = flat ? Shape{plan.from.shape.elements()} : plan.from.shape;
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 0));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, whole.rank()));
    COMMENSAL_ASSIGN(const std::int64_t sorted, call.attributes->integer("sorted", 1));
    plan.view = AxisView(whole, axis);
    if (plan.from.shape.elements() == 0 && plan.view.length > limits::kLoopStepsMax) {
      return fail(ErrorCode::kResourceExhausted, "{} empty slices, at most {} are accepted",
                  plan.view.length, limits::kLoopStepsMax);
    }
    visit(Everything{}, plan.from.dtype,
          [&]<class T>() { plan.find_groups<T>(call, whole.elements(0, axis), sorted != 0); });
    COMMENSAL_ASSIGN(
        const Shape shape,
        shape_inference::with_dim(whole, axis, static_cast<std::int64_t>(plan.first.size())));
    plan.to = {plan.from.dtype, shape};
    plan.kept = AxisView(shape, axis);
    return plan;
  }
  template <class T>
  void find_groups(const Call& call, std::int64_t outer_size, bool sorted) {
    Few<std::int64_t> order(view.length);
    if (outer_size * view.inner_size == 1) {
      using Key = typename SortKey<Compute<T>>::Key;
      Few<Key> keys(view.length);
      Key* next = keys.data();
      for (const T x : paced<T>(call, 0)) *next++ = SortKey<Compute<T>>::of(load(x));
      const auto all = std::as_const(keys).all();
      sort_by_digits(call.pulse, all, order.all());
      return group_by(call, std::as_const(order).all(), sorted,
                      [&](std::int64_t a, std::int64_t b) {
                        return all[static_cast<std::size_t>(a)] == all[static_cast<std::size_t>(b)];
                      });
    }
    const auto x = paced<T>(call, 0);
    const auto compare = [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t i = 0; i < outer_size * view.inner_size; ++i) {
        const std::int64_t outer = i / view.inner_size, inner = i % view.inner_size;
        const Compute<T> p = load(x[static_cast<std::size_t>(view.position(outer, a, inner))]);
        const Compute<T> q = load(x[static_cast<std::size_t>(view.position(outer, b, inner))]);
        const bool p_nan = p != p, q_nan = q != q;
        if (p_nan != q_nan) return p_nan ? 1 : -1;
        if (p < q) return -1;
        if (q < p) return 1;
      }
      return 0;
    };
    const auto end = order.data() + order.size();
    std::iota(order.data(), end, 0);
    std::stable_sort(order.data(), end,
                     [&](std::int64_t a, std::int64_t b) { return compare(a, b) < 0; });
    group_by(call, std::as_const(order).all(), sorted,
             [&](std::int64_t a, std::int64_t b) { return compare(a, b) == 0; });
  }
  // Equal slices lie side by side in `order`, the first of them first. Nobody reads what is listed
  // for outputs that are not asked for.
  template <class Same>
  void group_by(const Call& call, std::span<const std::int64_t> order, bool sorted,
                const Same& same) {
    struct Group {
      std::size_t begin = 0, end = 0;
    };
    const auto begins = [&](std::size_t i) {
      call.pulse(2);
      return i == 0 || !same(order[i - 1], order[i]);
    };
    std::size_t size = 0;  // few of many, often
    for (std::size_t i = 0; i < order.size(); ++i) size += begins(i) ? 1 : 0;
    Few<Group> room(static_cast<std::int64_t>(size));
    const std::span<Group> groups = room.all();
    for (std::size_t i = 0, g = 0; i < order.size(); ++i) {
      if (begins(i)) groups[g++].begin = i;
      groups[g - 1].end = i + 1;
    }
    if (!sorted) {
      std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
        call.pulse();
        return order[a.begin] < order[b.begin];
      });
    }
    first.resize(size);
    if (output_count > 2) group.resize(order.size());
    if (output_count > 3) count.resize(size);
    for (std::size_t g = 0; g < size; ++g) {
      call.pulse();
      first[g] = order[groups[g].begin];
      if (output_count > 3) count[g] = static_cast<std::int64_t>(groups[g].end - groups[g].begin);
      for (std::size_t i = groups[g].begin; i < groups[g].end && output_count > 2; ++i) {
        call.pulse();
        group[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(g);
      }
    }
  }
  std::vector<TensorType> types() const {
    const auto wanted = static_cast<std::size_t>(std::clamp(output_count, 1, 4));
    std::vector<TensorType> made;
    made.reserve(wanted);
    made.push_back(to);
    for (const Positions* list : {&first, &group, &count}) {
      if (made.size() == wanted) break;
      made.push_back({DType::kInt64, Shape{static_cast<std::int64_t>(list->size())}});
    }
    return made;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    if (output == 1) return scalar_of<std::int64_t>(first[at]);
    if (output == 2) return scalar_of<std::int64_t>(group[at]);
    if (output == 3) return scalar_of<std::int64_t>(count[at]);
    const std::int64_t slice = first[static_cast<std::size_t>(kept.along(index))];
    const std::int64_t source = view.position(kept.outer(index), slice, kept.inner(index));
    return visit(Everything{}, from.dtype, [&]<class T>() {
      return scalar_of(paced<T>(call, 0)[static_cast<std::size_t>(source)]);
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      Tensor& to = outputs[static_cast<std::size_t>(o)];
      const auto bytes = to.mutable_bytes();
      const auto size = static_cast<std::size_t>(tensor::traits(to.dtype()).size);
      for (std::size_t at = 0; at < bytes.size(); at += size) {
        call.pulse();
        const Scalar one = element(call, o, static_cast<std::int64_t>(at / size));
        std::memcpy(bytes.data() + at, &one.bits, size);
      }
    }
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const std::int64_t size = tensor::traits(from.dtype).size;
    const std::int64_t slices = static_cast<std::int64_t>(first.size()) * view.inner_size;
    if (slices > 0) {
      copy_along(threads, view, first, to.shape.elements() / slices, size,
                 call.in(0).bytes().data(), outputs[0].mutable_bytes().data());
    }
    for (std::size_t o = 1; o < outputs.size(); ++o) {
      const Positions& list = o == 1 ? first : o == 2 ? group : count;
      std::ranges::copy(list, outputs[o].mutable_data<std::int64_t>().begin());
    }
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 0, out);
  }
};

}  // namespace

constinit const Judge kUnique = judge_of<UniquePlan>();

}  // namespace commensal::kernels::ref
