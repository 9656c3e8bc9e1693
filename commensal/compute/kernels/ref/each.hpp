// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <utility>

/// Operators whose elements are computed one after another, each on its own. One is a type Op:
///   using In = Types<...>;  DType dtype;          what value<T> is called with
///   static core::Result<Op> make(const Call&);
///   std::vector<TensorType> types() const;
///   template <class T> Scalar value(const Call&, int output, std::int64_t index) const;
///   void reads(const Call&, int output, std::int64_t index, std::vector<ElementRef>&) const;
///   and, where there is a reduction,
///   std::int64_t steps(int output, std::int64_t index) const;
///   template <class T> Scalar partial(const Call&, int output, std::int64_t index,
///                                     std::int64_t steps) const;
///   void run_rows(const Call&, std::span<Tensor> outputs, ThreadPool&) const;
///                                                      (optional) all elements at once
namespace commensal::kernels::ref {

/// Puts the bits of a value into an output of its type.
inline void put(std::span<std::uint8_t> bytes, std::int64_t index, Scalar value) {
  const auto size = static_cast<std::size_t>(tensor::traits(value.dtype).size);
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * size, &value.bits, size);
}

template <class Op>
struct EachPlan {
  static constexpr bool kPlainRows = !RunsRows<Op>;
  Op op;

  static core::Result<EachPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Op::make(call));
    return EachPlan{std::move(op)};
  }
  std::vector<TensorType> types() const { return op.types(); }
  std::int64_t bytes() const requires requires(const Op& one) { one.bytes(); }
  { return op.bytes(); }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    return visit(typename Op::In{}, op.dtype,
                 [&]<class T>() { return op.template value<T>(call, output, index); });
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    op.reads(call, output, index, out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      fill(call, outputs[static_cast<std::size_t>(o)], o, 0,
           outputs[static_cast<std::size_t>(o)].elements());
    }
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if constexpr (RunsRows<Op>) return op.run_rows(call, outputs, threads);
    constexpr std::int64_t kPiece = 1024;
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      Tensor& output = outputs[static_cast<std::size_t>(o)];
      in_pieces(call, threads, output.elements(), kPiece,
                [&](const Call& own, std::int64_t from, std::int64_t to) {
                  fill(own, output, o, from, to);
                });
    }
  }
  std::int64_t steps(const Call&, int output, std::int64_t index) const requires
      requires(const Op& one) {
    one.steps(0, 0);
  }
  { return op.steps(output, index); }
  Scalar partial(const Call& call, int output, std::int64_t index,
                 std::int64_t steps) const requires requires(const Op& one) {
    one.steps(0, 0);
  }
  {
    return visit(typename Op::In{}, op.dtype,
                 [&]<class T>() { return op.template partial<T>(call, output, index, steps); });
  }

 private:
  void fill(const Call& call, Tensor& output, int o, std::int64_t from, std::int64_t to) const {
    visit(typename Op::In{}, op.dtype, [&]<class T>() {
      const auto bytes = output.mutable_bytes();
      for (std::int64_t i = from; i < to; ++i) {
        call.pulse();
        put(bytes, i, op.template value<T>(call, o, i));
      }
    });
  }
};

template <class Op>
constexpr Judge each() {
  return judge_of<EachPlan<Op>>();
}

}  // namespace commensal::kernels::ref
