// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

/// Operators that copy elements and change no bits. One is a type Op:
///   static core::Result<Op> make(const Call&);
///   std::vector<TensorType> types() const;
///   ElementRef source(int output, std::int64_t index) const;
///       where the element comes from; input kFill: it is fill(output)
///   std::uint64_t fill(int output) const;              (where source may say kFill) its bits
///   static constexpr int kFirstParameter = 1;          (optional) inputs from this one on say how
///                                                      to move: reads() names them whole
///   static constexpr bool kInOrder = true;             (optional) output 0 is input 0, in order
///   void run_rows(const Call&, std::span<Tensor> outputs, ThreadPool&) const;
///                                                      (optional) all elements at once
namespace commensal::kernels::ref {

inline constexpr int kFill = -1;

template <class Op>
struct MovementPlan {
  Op op;

  static core::Result<MovementPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Op::make(call));
    return MovementPlan{std::move(op)};
  }
  std::vector<TensorType> types() const { return op.types(); }

  std::uint64_t bits(const Call& call, int output, std::int64_t index, std::size_t size) const {
    const ElementRef from = op.source(output, index);
    std::uint64_t bits = 0;
    if (from.input != kFill) {
      const std::uint8_t* data = call.in(from.input).bytes().data();
      std::memcpy(&bits, data + static_cast<std::size_t>(from.index) * size, size);
    } else if constexpr (requires { op.fill(output); }) {
      bits = op.fill(output);
    }
    return bits;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    const DType dtype = types()[static_cast<std::size_t>(output)].dtype;
    return {dtype, bits(call, output, index, static_cast<std::size_t>(tensor::traits(dtype).size))};
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    const ElementRef from = op.source(output, index);
    if (from.input != kFill) out.push_back(from);
    if constexpr (requires { Op::kFirstParameter; }) {
      for (int i = Op::kFirstParameter; i < static_cast<int>(call.inputs.size()); ++i) {
        read_whole(call, i, out);
      }
    }
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      const auto to = outputs[static_cast<std::size_t>(o)].mutable_bytes();
      if constexpr (requires { Op::kInOrder; }) {
        if (o == 0) {
          copy(call.pulse, to.data(), call.in(0).bytes().data(), to.size());
          continue;
        }
      }
      const auto size = static_cast<std::size_t>(
          tensor::traits(outputs[static_cast<std::size_t>(o)].dtype()).size);
      for (std::size_t at = 0; at < to.size(); at += size) {
        call.pulse();
        const std::uint64_t one = bits(call, o, static_cast<std::int64_t>(at / size), size);
        std::memcpy(to.data() + at, &one, size);
      }
    }
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool&) const requires requires {
    Op::kInOrder;
  }
  { run(call, outputs); }
  void run_rows(const Call& call, std::span<Tensor> outputs,
                ThreadPool& threads) const requires RunsRows<Op> {
    op.run_rows(call, outputs, threads);
  }
};

template <class Op>
constexpr Judge movement() {
  return judge_of<MovementPlan<Op>>();
}

}  // namespace commensal::kernels::ref
