// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/ref/wide.hpp>
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

/// Elementwise operators: output element i is a function of element i of each broadcast input.
///
/// An operator is a type Op:
///   using In = Types<...>;                      what input kTyped may be
///   static constexpr int kTyped = 0;            (optional) which input decides the type
///   static core::Result<Op> make(const Call&);  (optional) reads attributes, checks the rest
///   static core::Result<shape_inference::Broadcast> broadcast(const Call&);
///                                               (optional) where it is not numpy's
///   template <class T, class P> auto value(const Operands<T, P>&) const;
///       returns Compute<T>, stored as T, or bool, stored as bool
///   static constexpr bool kCopies = true;       (optional) value returns T, its bits unchanged
///   static constexpr bool kByFunctions = true;  (optional) value calls elementary functions, of
///                                               which compilers make no vectors: over rows it
///                                               takes as long as in plain loops
namespace commensal::kernels::ref {

using Lane = math::ScalarLanes;

/// Where the operands of any output element are.
class Anywhere {
 public:
  Anywhere(const Call& call, const shape_inference::Broadcast& broadcast)
      : call_(&call), broadcast_(&broadcast) {}
  void move_to(std::int64_t index) { index_ = index; }
  template <class U>
  U stored(int input) const {
    const auto at = static_cast<std::size_t>(broadcast_->source(input, index_));
    return reinterpret_cast<const U*>(call_->in(input).bytes().data())[at];
  }

 private:
  const Call* call_;
  const shape_inference::Broadcast* broadcast_;
  std::int64_t index_ = 0;
};

/// Where those of a row are: of the inputs of all elements of it, one beside the other or all in
/// one place. kRunning: none of the inputs stands still.
template <bool kRunning>
class InRow {
 public:
  InRow(const Call& call, const shape_inference::BroadcastRows& rows, std::int64_t row) {
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
      if (!call.has(i)) continue;
      const auto k = static_cast<std::size_t>(i);
      steps_[k] = rows.step(i);
      first_[k] =
          call.in(i).bytes().data() + rows.offset(i, row) * tensor::traits(call.in(i).dtype()).size;
    }
  }
  void move_to(std::int64_t index) { index_ = index; }
  template <class U>
  U stored(int input) const {
    const auto k = static_cast<std::size_t>(input);
    const auto* first = reinterpret_cast<const U*>(first_[k]);
    return first[kRunning ? index_ : index_ * steps_[k]];
  }

 private:
  std::array<const std::uint8_t*, shape_inference::BroadcastRows::kInputsMax> first_{};
  std::array<std::int64_t, shape_inference::BroadcastRows::kInputsMax> steps_{};
  std::int64_t index_ = 0;
};

/// Where those of neighbours of a row are, kBlock of them at a time: what stands still is laid out
/// as often, so that loops over a block go through all inputs alike and compilers make vectors of
/// them.
class InBlock {
 public:
  static constexpr std::int64_t kBlock = 64;
  /// Where what stands still is laid out. Not in here: of what no pointer leads to, compilers know
  /// that bytes written elsewhere leave it alone.
  struct Laid {
    static constexpr std::size_t kWidest = 8;
    std::array<std::array<std::uint8_t, kBlock * kWidest>,
               shape_inference::BroadcastRows::kInputsMax>
        inputs;
  };

  InBlock(const Call& call, const shape_inference::BroadcastRows& rows, std::int64_t row,
          Laid* laid)
      : count_(call.inputs.size()) {
    for (int i = 0; i < static_cast<int>(count_); ++i) {
      if (!call.has(i)) continue;
      const auto k = static_cast<std::size_t>(i);
      const auto size = static_cast<std::size_t>(tensor::traits(call.in(i).dtype()).size);
      first_[k] = call.in(i).bytes().data() + rows.offset(i, row) * static_cast<std::int64_t>(size);
      steps_[k] = rows.step(i) * static_cast<std::int64_t>(size);
      if (steps_[k] != 0) continue;
      for (std::size_t at = 0; at < kBlock * size; at += size) {
        std::memcpy(laid->inputs[k].data() + at, first_[k], size);
      }
      first_[k] = laid->inputs[k].data();
    }
  }
  /// To the block from element `from` of the row on.
  void begin(std::int64_t from) {
    for (std::size_t k = 0; k < count_; ++k) {
      base_[k] = first_[k] + from * steps_[k];
    }
  }
  void move_to(std::int64_t index) { index_ = index; }
  template <class U>
  U stored(int input) const {
    return reinterpret_cast<const U*>(base_[static_cast<std::size_t>(input)])[index_];
  }

 private:
  static constexpr std::size_t kInputs = shape_inference::BroadcastRows::kInputsMax;
  std::size_t count_;
  std::array<const std::uint8_t*, kInputs> first_{}, base_{};
  std::array<std::int64_t, kInputs> steps_{};
  std::int64_t index_ = 0;
};

/// The inputs of one output element.
template <class T, class Place = Anywhere>
class Operands {
 public:
  template <class... From>
  explicit Operands(const Call& call, const From&... from) : call_(call), place_(call, from...) {}

  void move_to(std::int64_t index) { place_.move_to(index); }
  Place& place() { return place_; }
  int count() const { return static_cast<int>(call_.inputs.size()); }
  bool has(int input) const { return call_.has(input); }
  Compute<T> operator()(int input) const { return load(stored<T>(input)); }
  /// The element of an input of another type.
  template <class U>
  U stored(int input) const {
    return place_.template stored<U>(input);
  }
  tensor::DType dtype(int input) const { return call_.in(input).dtype(); }

 private:
  const Call& call_;
  Place place_;
};

template <class Op>
constexpr int typed_input() {
  if constexpr (requires { Op::kTyped; }) {
    return Op::kTyped;
  } else {
    return 0;
  }
}

template <class Op, class T>
using Result = decltype(std::declval<const Op&>().value(std::declval<const Operands<T>&>()));
/// What is stored for a result: bool stays bool, everything else becomes T again.
template <class Op, class T>
using Out = std::conditional_t<std::is_same_v<Result<Op, T>, bool>, bool, T>;

template <class Op>
struct ElementwisePlan {
  Op op;
  shape_inference::Broadcast broadcast;
  DType dtype = DType::kUndefined;

  static core::Result<ElementwisePlan> make(const Call& call) {
    ElementwisePlan plan;
    COMMENSAL_TRY(shape_inference::check_dtype<typename Op::In>(call, typed_input<Op>()));
    if constexpr (requires { Op::make(call); }) {
      COMMENSAL_ASSIGN(plan.op, Op::make(call));
    } else {
      for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
        COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
      }
    }
    if constexpr (requires { Op::broadcast(call); }) {
      COMMENSAL_ASSIGN(plan.broadcast, Op::broadcast(call));
    } else {
      COMMENSAL_ASSIGN(plan.broadcast, shape_inference::Broadcast::of(call));
    }
    plan.dtype = call.in(typed_input<Op>()).dtype();
    return plan;
  }

  std::vector<TensorType> types() const {
    return visit(typename Op::In{}, dtype, [&]<class T>() {
      return std::vector<TensorType>{{tensor::kDTypeOf<Out<Op, T>>, broadcast.shape()}};
    });
  }

  template <class T, class P>
  Out<Op, T> at(Operands<T, P>& operands, std::int64_t index) const {
    operands.move_to(index);
    if constexpr (requires { Op::kCopies; }) {
      return op.value(operands);
    } else {
      return store<Out<Op, T>>(op.value(operands));
    }
  }

  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(typename Op::In{}, dtype, [&]<class T>() {
      Operands<T> operands(call, broadcast);
      return scalar_of(at(operands, index));
    });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
      if (call.has(i)) out.push_back({i, broadcast.source(i, index)});
    }
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(typename Op::In{}, dtype, [&]<class T>() {
      Operands<T> operands(call, broadcast);
      const auto y = outputs[0].mutable_data<Out<Op, T>>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse();
        y[i] = at(operands, static_cast<std::int64_t>(i));
      }
    });
  }

  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (call.inputs.size() > shape_inference::BroadcastRows::kInputsMax) {
      return run_judged(*this, call, outputs);
    }
    if constexpr (requires { Op::kByFunctions; }) call.is_judged = Op::kByFunctions;
    const shape_inference::BroadcastRows rows(broadcast, call);
    visit(typename Op::In{}, dtype, [&]<class T>() {
      auto* const y = outputs[0].mutable_data<Out<Op, T>>().data();
      rows.for_each(threads, [&](std::int64_t row, std::int64_t from, std::int64_t to) {
        auto* const of_row = y + row * rows.inner();
        constexpr std::int64_t kLong = 4 * InBlock::kBlock;  // what pays for laying out
        if (to - from >= kLong) {
          from = wide(
              [&, first = from] { return fill_blocks<T>(call, rows, row, of_row, first, to); });
        }
        if (rows.all_run()) {
          fill(Operands<T, InRow<true>>(call, rows, row), of_row, from, to);
        } else {
          fill(Operands<T, InRow<false>>(call, rows, row), of_row, from, to);
        }
      });
    });
  }

 private:
  // Whole blocks of [from, to); where they end. By way of a block of its own, which is nobody's.
  template <class T>
  std::int64_t fill_blocks(const Call& call, const shape_inference::BroadcastRows& rows,
                           std::int64_t row, Out<Op, T>* y, std::int64_t from,
                           std::int64_t to) const {
    constexpr std::int64_t kBlock = InBlock::kBlock;
    InBlock::Laid laid;
    Operands<T, InBlock> operands(call, rows, row, &laid);
    std::array<Out<Op, T>, kBlock> made;
    for (; from + kBlock <= to; from += kBlock) {
      operands.place().begin(from);
      for (std::size_t k = 0; k < kBlock; ++k) {
        made[k] = at(operands, static_cast<std::int64_t>(k));
      }
      std::memcpy(y + from, made.data(), sizeof made);
    }
    return from;
  }
  template <class T, class P>
  void fill(Operands<T, P> operands, Out<Op, T>* y, std::int64_t from, std::int64_t to) const {
    for (std::int64_t i = from; i < to; ++i) y[i] = at(operands, i);
  }
};

template <class Op>
constexpr Judge elementwise() {
  return judge_of<ElementwisePlan<Op>>();
}

}  // namespace commensal::kernels::ref
