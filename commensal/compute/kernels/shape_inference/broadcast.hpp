// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <vector>

namespace commensal::kernels::shape_inference {

/// Where the elements of broadcast inputs lie (numpy's rule): output element `index` reads element
/// source(i, index) of input i.
class Broadcast {
 public:
  /// Of all inputs of the call that are there. Error: kInvalidArgument naming two shapes.
  /// Before opset 7 the inputs after the first have its shape; only where attribute `broadcast` is
  /// set may the second be smaller: `limited`, at attribute `axis` or at the end.
  static core::Result<Broadcast> of(const Call& call);
  /// Input 1 has one element, or its dimensions are those of input 0 from `axis` on, or 1.
  static core::Result<Broadcast> limited(const Call& call, std::int64_t axis);

  const tensor::Shape& shape() const { return shape_; }
  std::int64_t source(int input, std::int64_t index) const;
  /// Strides of an input over shape(), 0 where it is repeated.
  const Dims& strides(int input) const { return inputs_[static_cast<std::size_t>(input)].strides; }

 private:
  enum class How { kSame, kScalar, kStrided };
  struct Input {
    How how = How::kSame;
    Dims strides{};
  };
  tensor::Shape shape_;
  std::vector<Input> inputs_;
};

/// An output as rows of inner() elements, over each of which every input either runs or stands
/// still.
class BroadcastRows {
 public:
  static constexpr std::size_t kInputsMax = 8;
  /// Checked: no more inputs. Both must outlive it.
  BroadcastRows(const Broadcast& broadcast, const Call& call);

  std::int64_t inner() const { return inner_; }
  /// Of input `input` from element to element: 0 or 1.
  int step(int input) const { return steps_[static_cast<std::size_t>(input)]; }
  bool all_run() const { return all_run_; }
  /// Where row `row` begins in it.
  std::int64_t offset(int input, std::int64_t row) const;

  /// Calls f(row, from, to) for all elements of all rows, on the pool's threads.
  template <class F>
  void for_each(ThreadPool& threads, const F& f) const {
    // Elements of a task: enough to be worth a thread's while, few enough to share evenly. It is
    // several short rows, or a part of a long one.
    constexpr std::int64_t kTask = 16384;
    if (inner_ <= 0) return;
    const std::int64_t rows = broadcast_->shape().elements() / inner_;
    const std::int64_t rows_a_task = std::max<std::int64_t>(kTask / inner_, 1);
    const std::int64_t parts = rows_a_task > 1 ? 1 : (inner_ + kTask - 1) / kTask;
    threads.run((rows + rows_a_task - 1) / rows_a_task * parts, [&](std::int64_t task) {
      const std::int64_t first = task / parts * rows_a_task, from = task % parts * kTask;
      const std::int64_t to = parts == 1 ? inner_ : std::min(inner_, from + kTask);
      for (std::int64_t row = first; row < std::min(rows, first + rows_a_task); ++row) {
        f(row, from, to);
      }
    });
  }

 private:
  const Broadcast* broadcast_;
  std::int64_t inner_ = 1;
  int outer_rank_ = 0;  // of the output's dimensions, those that choose the row
  std::array<int, kInputsMax> steps_{};
  bool all_run_ = true;
};

}  // namespace commensal::kernels::shape_inference
