// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <memory>
#include <vector>

namespace commensal::kernels::cpu {

/// A picture as a direct convolution reads it: where it lies, or a copy with its padding, or with
/// its few channels side by side. A row of a product is an output pixel, its depth (tap, channel).
class DirectRows {
 public:
  DirectRows() = default;
  /// What `call` points to and `room`, where a copy is, must live as long. Error:
  /// kResourceExhausted.
  static core::Result<DirectRows> of(const BlockedConv& call, Workspace& ws, Room& room);
  /// Of any picture of the call's type.
  static std::shared_ptr<const std::vector<DepthRun>> runs_of(const BlockedConv& call);

  /// Where output pixel (y, x) of an image begins, and how far the next is to the right and below.
  const float* at(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return data_ + image * image_ + y * down_ + x * right_;
  }
  std::int64_t right() const { return right_; }
  std::int64_t down() const { return down_; }
  const std::vector<DepthRun>& runs() const { return *runs_; }

 private:
  explicit DirectRows(const BlockedConv& call);
  void pad(const BlockedConv& call, ThreadPool& threads, float* to) const;
  void interleave(const BlockedConv& call, Workspace& ws, float* to) const;

  const float* data_ = nullptr;
  // Floats between images, rows and pixels of the input, between blocks of channels; and how many
  // channels lie side by side.
  std::int64_t image_ = 0, row_ = 0, pixel_ = 0, block_ = 0, channels_ = 0;
  std::int64_t right_ = 0, down_ = 0;
  std::shared_ptr<const std::vector<DepthRun>> runs_;
};

}  // namespace commensal::kernels::cpu
