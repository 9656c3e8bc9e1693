// SPDX-License-Identifier: Apache-2.0
// What is found by comparing elements: TopK, NonZero.
#include <algorithm>
#include <commensal/compute/kernels/ref/fold_rows.hpp>
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

Scalar int64_scalar(std::int64_t value) { return scalar_of(value); }

// Output 0: values, 1: positions; in the order of extremes, the first of equal ones first.
struct TopKPlan {
  TensorType from, values;
  AxisView view, kept;
  bool largest = true;
  int output_count = 2;

  static core::Result<TopKPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Numbers>(call, 0));
    TopKPlan plan;
    plan.from = call.in(0).type();
    plan.output_count = call.output_count;
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, plan.from.shape.rank()));
    COMMENSAL_ASSIGN(plan.largest, call.attributes->integer("largest", 1));
    COMMENSAL_ASSIGN(std::int64_t k, call.attributes->integer("k", -1));
    if (call.opset >= 10) {
      COMMENSAL_ASSIGN(const auto list, shape_inference::integer_list(call, 1));
      k = list.size() == 1 ? list[0] : -1;
    }
    plan.view = AxisView(plan.from.shape, axis);
    if (k < 0 || k > plan.view.length) {
      return fail(ErrorCode::kInvalidArgument, "k is {} for a dimension of {}", k,
                  plan.view.length);
    }
    COMMENSAL_ASSIGN(const Shape shape, shape_inference::with_dim(plan.from.shape, axis, k));
    plan.values = {plan.from.dtype, shape};
    plan.kept = AxisView(shape, axis);
    return plan;
  }
  std::vector<TensorType> types() const {
    if (output_count < 2) return {values};
    return {values, {DType::kInt64, values.shape}};
  }

  template <class T>
  Positions row(const Call& call, std::int64_t outer, std::int64_t inner) const {
    const auto x = paced<T>(call, 0);
    const auto at = [&](std::int64_t i) {
      return load(x[static_cast<std::size_t>(view.position(outer, i, inner))]);
    };
    Positions order(static_cast<std::size_t>(view.length));
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](std::int64_t a, std::int64_t b) {
      if (largest ? above(at(a), at(b)) : below(at(a), at(b))) return true;
      if (largest ? above(at(b), at(a)) : below(at(b), at(a))) return false;
      return a < b;
    };
    std::partial_sort(order.begin(), order.begin() + kept.length, order.end(), before);
    return order;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    return visit(Numbers{}, from.dtype, [&]<class T>() {
      const std::int64_t outer = kept.outer(index), inner = kept.inner(index);
      const auto order = row<T>(call, outer, inner);
      const std::int64_t found = order[static_cast<std::size_t>(kept.along(index))];
      if (output == 1) return int64_scalar(found);
      const auto at = static_cast<std::size_t>(view.position(outer, found, inner));
      return scalar_of(paced<T>(call, 0)[at]);
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Numbers{}, from.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      const std::int64_t rows = kept.length == 0 ? 0 : values.shape.elements() / kept.length;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t outer = r / kept.inner_size, inner = r % kept.inner_size;
        const auto order = row<T>(call, outer, inner);
        for (std::int64_t i = 0; i < kept.length; ++i) {
          const std::int64_t found = order[static_cast<std::size_t>(i)];
          const auto to = static_cast<std::size_t>(kept.position(outer, i, inner));
          const auto at = static_cast<std::size_t>(view.position(outer, found, inner));
          y[to] = paced<T>(call, 0)[at];
          if (outputs.size() > 1) outputs[1].mutable_data<std::int64_t>()[to] = found;
        }
      }
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const std::int64_t rows = kept.length == 0 ? 0 : values.shape.elements() / kept.length;
    visit(Numbers{}, from.dtype, [&]<class T>() {
      const T* const x = call.in(0).data<T>().data();
      T* const y = outputs[0].mutable_data<T>().data();
      std::int64_t* const where =
          outputs.size() > 1 ? outputs[1].mutable_data<std::int64_t>().data() : nullptr;
      threads.run(rows, [&](std::int64_t r) {
        const std::int64_t outer = r / kept.inner_size, inner = r % kept.inner_size;
        Pulse pulse(&threads);
        const auto order = largest ? sorted<T, true>(pulse, x, outer, inner)
                                   : sorted<T, false>(pulse, x, outer, inner);
        for (std::int64_t i = 0; i < kept.length; ++i) {
          const std::int64_t found = order[static_cast<std::size_t>(i)];
          const std::int64_t to = kept.position(outer, i, inner);
          y[to] = x[view.position(outer, found, inner)];
          if (where != nullptr) where[to] = found;
        }
      });
    });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < view.length; ++i) {
      out.push_back({0, view.position(kept.outer(index), i, kept.inner(index))});
    }
    read_whole(call, 1, out);
  }

 private:
  // Compares whole numbers, each element's looked up once: those of 32 bits together with where it
  // is as one, the least first.
  template <class T, bool kLargest>
  Positions sorted(Pulse& pulse, const T* x, std::int64_t outer, std::int64_t inner) const {
    using Key = ExtremeKey<Compute<T>, kLargest>;
    const auto at = [&](std::int64_t i) {
      pulse();
      return Key::of(load(x[view.position(outer, i, inner)]));
    };
    Positions order;
    order.reserve(static_cast<std::size_t>(kept.length));
    if (sizeof(typename Key::Key) <= 4 && view.length <= UINT32_MAX) {
      using Words = std::vector<std::uint64_t>;
      constexpr std::int64_t kLeast = std::numeric_limits<typename Key::Key>::lowest();
      constexpr std::int64_t kMost = std::numeric_limits<typename Key::Key>::max();
      Words words;
      words.reserve(static_cast<std::size_t>(view.length));
      for (std::int64_t i = 0; i < view.length; ++i) {
        const auto key = static_cast<std::int64_t>(at(i));
        const auto rank = static_cast<std::uint64_t>(kLargest ? kMost - key : key - kLeast);
        words.push_back(rank << 32 | static_cast<std::uint64_t>(i));
      }
      sort_first(words, [&pulse](std::uint64_t a, std::uint64_t b) {
        pulse();
        return a < b;
      });
      for (std::int64_t i = 0; i < kept.length; ++i) {
        order.push_back(static_cast<std::int64_t>(words[static_cast<std::size_t>(i)] & UINT32_MAX));
      }
      return order;
    }
    std::vector<std::pair<typename Key::Key, std::int64_t>> keys;
    keys.reserve(static_cast<std::size_t>(view.length));
    for (std::int64_t i = 0; i < view.length; ++i) keys.emplace_back(at(i), i);
    sort_first(keys, [&pulse](const auto& a, const auto& b) {
      pulse();
      return a.first == b.first ? a.second < b.second : Key::is_better(a.first, b.first);
    });
    for (std::int64_t i = 0; i < kept.length; ++i) {
      order.push_back(keys[static_cast<std::size_t>(i)].second);
    }
    return order;
  }
  // The first that are kept; no two are equal. Few of many are soon found by a heap.
  template <class Items, class Before>
  void sort_first(Items& items, const Before& before) const {
    constexpr std::int64_t kFew = 64, kOneIn = 24;
    const auto end = items.begin() + kept.length;
    if (kept.length <= kFew || kept.length <= view.length / kOneIn) {
      return std::partial_sort(items.begin(), end, items.end(), before);
    }
    if (end != items.end()) std::nth_element(items.begin(), end, items.end(), before);
    std::sort(items.begin(), end, before);
  }
};

// The coordinates of what is not zero (NaN is not), row-major; output [rank, found].
struct NonZeroPlan {
  Shape from;
  TensorType to;
  Positions found;

  static core::Result<NonZeroPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Everything>(call, 0));
    NonZeroPlan plan;
    plan.from = call.in(0).shape().rank() == 0 ? Shape{1} : call.in(0).shape();
    visit(Everything{}, call.in(0).dtype(), [&]<class T>() { plan.find<T>(call); });
    const std::int64_t dims[] = {plan.from.rank(), static_cast<std::int64_t>(plan.found.size())};
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    plan.to = {DType::kInt64, shape};
    return plan;
  }
  // In pieces, without a branch for each element.
  template <class T>
  void find(const Call& call) {
    constexpr std::size_t kPiece = 1 << 12;
    const auto x = call.in(0).data<T>();
    std::array<std::int64_t, kPiece> places;
    std::size_t all = 0;
    for (std::size_t i = 0; i < x.size(); i += kPiece) {
      const std::size_t end = std::min(x.size(), i + kPiece);
      for (std::size_t k = i; k < end; ++k) all += load(x[k]) != Compute<T>{0} ? 1 : 0;
      call.pulse(end - i);
    }
    found.reserve(all);  // growing would take longer than counting
    for (std::size_t i = 0; i < x.size(); i += kPiece) {
      const std::size_t end = std::min(x.size(), i + kPiece);
      std::size_t count = 0;
      for (std::size_t k = i; k < end; ++k) {
        places[count] = static_cast<std::int64_t>(k);
        count += load(x[k]) != Compute<T>{0} ? 1 : 0;
      }
      call.pulse(end - i);
      found.insert(found.end(), places.data(), places.data() + count);
    }
  }
  std::vector<TensorType> types() const { return {to}; }
  std::int64_t value(std::int64_t index) const {
    const shape_inference::Dims at =
        shape_inference::split(from, found[static_cast<std::size_t>(index % to.shape[1])]);
    return at[static_cast<std::size_t>(index / to.shape[1])];
  }
  Scalar element(const Call&, int, std::int64_t index) const { return int64_scalar(value(index)); }
  void run(const Call& call, std::span<Tensor> outputs) const {
    std::int64_t index = 0;
    for (std::int64_t& y : outputs[0].mutable_data<std::int64_t>()) {
      call.pulse(2);
      y = value(index++);
    }
  }
  // Along the last dimension only the last coordinate changes.
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const int last = from.rank() - 1;
    const auto count = static_cast<std::int64_t>(found.size());
    std::int64_t* const y = outputs[0].mutable_data<std::int64_t>().data();
    in_pieces(call, threads, count, 1 << 13,
              [&](const Call&, std::int64_t begin, std::int64_t end) {
                shape_inference::Dims at{};
                std::int64_t row = 0, row_end = -1;
                for (std::int64_t i = begin; i < end; ++i) {
                  const std::int64_t position = found[static_cast<std::size_t>(i)];
                  if (position >= row_end) {
                    at = shape_inference::split(from, position);
                    row = position - at[static_cast<std::size_t>(last)];
                    row_end = row + from[last];
                  }
                  for (int d = 0; d < last; ++d) {
                    y[d * count + i] = at[static_cast<std::size_t>(d)];
                  }
                  y[last * count + i] = position - row;
                }
              });
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 0, out);
  }
};

}  // namespace

constinit const Judge kNonZero = judge_of<NonZeroPlan>();
constinit const Judge kTopK = judge_of<TopKPlan>();

}  // namespace commensal::kernels::ref
