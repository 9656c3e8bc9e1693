// SPDX-License-Identifier: Apache-2.0
// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare,
// ReduceLogSum, ArgMax, ArgMin. The elements of one output are visited row-major over the reduced
// axes; their positions in that order choose the lanes of a sum.
#include <algorithm>
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/fold_rows.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

// A fold: `using In`, `Acc<C>` with add(position, value) and result(), the same for a Row and for
// Columns (fold_rows.hpp), `finish(result, count)`.
template <class Op>
struct ReducePlan {
  Folding folding;
  DType dtype = DType::kUndefined;

  static core::Result<ReducePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<typename Op::In>(call, 0));
    COMMENSAL_ASSIGN(const auto axes,
                     shape_inference::list_from(call, "axes", 1, Op::kAxesInputSince));
    COMMENSAL_ASSIGN(const std::int64_t keep, call.attributes->integer("keepdims", 1));
    COMMENSAL_ASSIGN(const std::int64_t noop, call.attributes->integer("noop_with_empty_axes", 0));
    COMMENSAL_ASSIGN(const Folding folding, Folding::of(call, axes, keep != 0, noop != 0));
    return ReducePlan{folding, call.in(0).dtype()};
  }
  std::vector<TensorType> types() const { return {{dtype, folding.to}}; }

  template <class T>
  auto fold(Paced<T> x, std::int64_t index, std::int64_t steps) const {
    typename Op::template Acc<Compute<T>> acc(steps);
    folding.for_each(index, [&](std::int64_t i, std::int64_t at) {
      acc.add(i, Op::term(load(x[static_cast<std::size_t>(at)])));
    });
    return acc;
  }
  template <class T>
  T value(Paced<T> x, std::int64_t index) const {
    if (folding.identity) return x[static_cast<std::size_t>(index)];
    auto acc = fold(x, index, kAllSteps);
    return finished<T>(acc.result());
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(typename Op::In{}, dtype,
                 [&]<class T>() { return scalar_of(value<T>(paced<T>(call, 0), index)); });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    folding.for_each(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
    read_whole(call, 1, out);
  }
  std::int64_t steps(const Call&, int, std::int64_t) const {
    return folding.identity ? 0 : folding.count() + Op::kTreeSteps;
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(typename Op::In{}, dtype, [&]<class T>() {
      auto acc = fold(paced<T>(call, 0), index, steps);
      return scalar_of(store<Compute<T>>(Op::last(acc)));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(typename Op::In{}, dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value<T>(x, static_cast<std::int64_t>(i));
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const bool serves =
        !folding.identity && call.in(0).elements() > 0 && FoldLayout::suits(folding);
    if (!serves) return run_judged(*this, call, outputs);
    const auto layout = *call.memo.of([&] { return core::Result<FoldLayout>(folding); });
    visit(typename Op::In{}, dtype, [&]<class T>() {
      layout->make(threads, *this, call.in(0).data<T>().data(), outputs[0].mutable_data<T>());
    });
  }
  template <class T>
  T finished(Compute<T> result) const {
    return store<T>(Op::finish(result, static_cast<Compute<T>>(folding.count())));
  }
  template <class T>
  T row(Pulse& pulse, const FoldLayout& layout, const T* x, std::int64_t base) const {
    typename Op::template Row<Compute<T>> acc;
    layout.for_row(pulse, base, [&](std::int64_t position, std::int64_t at, std::int64_t count) {
      acc.add(position, count, [from = x + at](std::int64_t i) { return Op::term(load(from[i])); });
    });
    return finished<T>(acc.result());
  }
  template <class T>
  void columns(Pulse& pulse, const FoldLayout& layout, const T* x, T* y, std::int64_t count) const {
    typename Op::template Columns<Compute<T>> acc;
    std::array<Compute<T>, kColumns> terms{};
    std::int64_t position = 0;
    for (const std::int64_t begin : layout.runs()) {
      const T* const from = x + begin;
      pulse(kColumns);
      if (count == kColumns) {
        each_column([&, to = terms.data()](int i) { to[i] = Op::term(load(from[i])); });
      } else {
        for (std::int64_t i = 0; i < count; ++i)
          terms[static_cast<std::size_t>(i)] = Op::term(load(from[i]));
      }
      acc.add(position++, terms.data());
    }
    acc.result(terms.data());
    for (std::int64_t i = 0; i < count; ++i) y[i] = finished<T>(terms[static_cast<std::size_t>(i)]);
  }
};

template <class TypeSet, int kSince>
struct Summing {
  using In = TypeSet;
  static constexpr int kAxesInputSince = kSince, kTreeSteps = Sum<float>::kTreeSteps;
  template <class C>
  using Acc = Sum<C>;
  static auto term(auto x) { return x; }
  template <class C>
  using Row = SumRow<C>;
  template <class C>
  using Columns = SumColumns<C>;
  template <class C>
  static C finish(C sum, C) {
    return sum;
  }
  template <class C>
  static C last(Sum<C>& sum) {
    sum.total();
    return sum.last();
  }
};

struct ReduceSum : Summing<Products, 13> {};
struct ReduceL1 : Summing<Products, 18> {
  template <class C>
  static C term(C x) {
    if constexpr (std::is_floating_point_v<C>) {
      return std::abs(x);
    } else {
      return x < 0 ? minus(C{0}, x) : x;
    }
  }
};
struct ReduceSumSquare : Summing<Products, 18> {
  static auto term(auto x) { return times(x, x); }
};
struct ReduceMean : Summing<Floats, 18> {
  template <class C>
  static C finish(C sum, C count) {
    return sum / count;
  }
};
struct ReduceL2 : Summing<Floats, 18> {
  static auto term(auto x) { return x * x; }
  template <class C>
  static C finish(C sum, C) {
    return std::sqrt(sum);
  }
};
struct ReduceLogSum : Summing<Floats, 18> {
  template <class C>
  static C finish(C sum, C) {
    return math::by_type::log(sum);
  }
};

template <bool kMaximum>
struct ReduceExtreme {
  using In = Everything;
  static constexpr int kAxesInputSince = 18, kTreeSteps = 0;
  template <class C>
  using Acc = Extreme<C, kMaximum>;
  static auto term(auto x) { return x; }
  template <class C>
  using Row = ExtremeRow<C, kMaximum>;
  template <class C>
  using Columns = ExtremeColumns<C, kMaximum>;
  template <class C>
  static C finish(C best, C) {
    return best;
  }
  template <class C>
  static C last(Extreme<C, kMaximum>& best) {
    return best.value();
  }
};

// ((1 * x0) * x1) * ...
template <class C>
class Product {
 public:
  explicit Product(std::int64_t steps) : left_(steps) {}
  void add(std::int64_t, C x) {
    if (left_-- > 0) value_ = times(value_, x);
  }
  C result() const { return value_; }

 private:
  std::int64_t left_;
  C value_{1};
};

struct ReduceProd {
  using In = Products;
  static constexpr int kAxesInputSince = 18, kTreeSteps = 0;
  template <class C>
  using Acc = Product<C>;
  static auto term(auto x) { return x; }
  template <class C>
  using Row = ProductRow<C>;
  template <class C>
  using Columns = ProductColumns<C>;
  template <class C>
  static C finish(C product, C) {
    return product;
  }
  template <class C>
  static C last(Product<C>& product) {
    return product.result();
  }
};

// The position of the largest (smallest) element along an axis: the first, or the last of those
// with equal bits where select_last_index is set.
template <bool kMaximum>
struct ArgPlan {
  Folding folding;
  DType dtype = DType::kUndefined;
  bool last = false;

  static core::Result<ArgPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Numbers>(call, 0));
    COMMENSAL_ASSIGN(const std::int64_t axis, call.attributes->integer("axis", 0));
    COMMENSAL_ASSIGN(const std::int64_t keep, call.attributes->integer("keepdims", 1));
    COMMENSAL_ASSIGN(const std::int64_t last, call.attributes->integer("select_last_index", 0));
    COMMENSAL_ASSIGN(const Folding folding, Folding::of(call, {axis}, keep != 0, false));
    if (folding.count() == 0) {
      return core::fail(core::ErrorCode::kInvalidArgument, "axis {} of {} is empty", axis,
                        call.in(0).shape().text());
    }
    return ArgPlan{folding, call.in(0).dtype(), last != 0};
  }
  std::vector<TensorType> types() const { return {{DType::kInt64, folding.to}}; }

  template <class T>
  std::int64_t value(Paced<T> x, std::int64_t index) const {
    Extreme<Compute<T>, kMaximum> best;
    std::int64_t position = 0;
    folding.for_each(index, [&](std::int64_t i, std::int64_t at) {
      const Compute<T> one = load(x[static_cast<std::size_t>(at)]);
      const bool ties = !above(one, best.value()) && !below(one, best.value());
      best.add(i, one);
      position = last && ties ? i : std::max(position, best.position());
    });
    return position;
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Numbers{}, dtype,
                 [&]<class T>() { return scalar_of(value<T>(paced<T>(call, 0), index)); });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    folding.for_each(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Numbers{}, dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<std::int64_t>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value<T>(x, static_cast<std::int64_t>(i));
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (call.in(0).elements() == 0 || !FoldLayout::suits(folding)) {
      return run_judged(*this, call, outputs);
    }
    const FoldLayout layout(folding);
    visit(Numbers{}, dtype, [&]<class T>() {
      layout.make(threads, *this, call.in(0).data<T>().data(),
                  outputs[0].mutable_data<std::int64_t>());
    });
  }

  template <class T>
  using Best = ExtremeKey<Compute<T>, kMaximum>;
  // The best value first, then where it is: both are loops without a branch.
  template <class T>
  std::int64_t row(Pulse& pulse, const FoldLayout& layout, const T* x, std::int64_t base) const {
    ExtremeRow<Compute<T>, kMaximum> all;
    layout.for_row(pulse, base, [&](std::int64_t position, std::int64_t at, std::int64_t count) {
      all.add(position, count, [from = x + at](std::int64_t i) { return load(from[i]); });
    });
    const auto best = Best<T>::of(all.result());
    std::int64_t at = last ? layout.run() - 1 : 0;
    if (last && Best<T>::is_nan(best)) return at;  // with it everything ties
    for (; Best<T>::of(load(x[base + at])) != best; at += last ? -1 : 1) pulse();
    return at;
  }
  template <class T>
  void columns(Pulse& pulse, const FoldLayout& layout, const T* x, std::int64_t* y,
               std::int64_t count) const {
    std::array<typename Best<T>::Key, kColumns> best{};
    std::array<std::int64_t, kColumns> where{};
    for (std::size_t run = 0; run < layout.runs().size(); ++run) {
      const T* const from = x + layout.runs()[run];
      pulse(kColumns);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const auto key = Best<T>::of(load(from[i]));
        const bool moves = run == 0 || Best<T>::is_better(key, best[i]) ||
                           (last && (key == best[i] || Best<T>::is_nan(best[i])));
        where[i] = moves ? static_cast<std::int64_t>(run) : where[i];
        best[i] = run == 0 ? key : Best<T>::better(best[i], key);
      }
    }
    std::copy_n(where.begin(), count, y);
  }
};

}  // namespace

constinit const Judge kArgMax = judge_of<ArgPlan<true>>();
constinit const Judge kArgMin = judge_of<ArgPlan<false>>();
constinit const Judge kReduceL1 = judge_of<ReducePlan<ReduceL1>>();
constinit const Judge kReduceL2 = judge_of<ReducePlan<ReduceL2>>();
constinit const Judge kReduceLogSum = judge_of<ReducePlan<ReduceLogSum>>();
constinit const Judge kReduceMax = judge_of<ReducePlan<ReduceExtreme<true>>>();
constinit const Judge kReduceMean = judge_of<ReducePlan<ReduceMean>>();
constinit const Judge kReduceMin = judge_of<ReducePlan<ReduceExtreme<false>>>();
constinit const Judge kReduceProd = judge_of<ReducePlan<ReduceProd>>();
constinit const Judge kReduceSum = judge_of<ReducePlan<ReduceSum>>();
constinit const Judge kReduceSumSquare = judge_of<ReducePlan<ReduceSumSquare>>();

}  // namespace commensal::kernels::ref
