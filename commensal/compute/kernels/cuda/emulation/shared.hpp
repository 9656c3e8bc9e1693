// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/emulation/machine.hpp>
#include <cstdint>

/// Shared memory that knows who touched it when.
namespace commensal::kernels::cuda {

namespace emulation {

/// A thread at a time of its block.
struct Visit {
  std::uint64_t block_run = 0;
  int thread = -1;  // -1: several of one warp; -2: of several warps
  int warp = 0;
  std::uint32_t epoch = 0, warp_epoch = 0;
};

/// The history of one element in the block that runs. Two accesses of different threads, one of
/// which writes, must have a barrier between them.
class Trace {
 public:
  void read();
  void write();

 private:
  Visit writer_, reader_;
};

/// Says so if it is no element of an array of `size`.
bool in_bounds(std::int64_t index, std::int64_t size);

}  // namespace emulation

/// An array in shared memory: `__shared__ Shared<float, 32> lanes;`.
template <class T, int kSize>
class Shared {
 public:
  class Cell {
   public:
    operator T() const {  // NOLINT: reads like the element that it stands for
      trace_.read();
      return value_;
    }
    Cell& operator=(T value) {
      trace_.write();
      value_ = value;
      return *this;
    }
    Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }

   private:
    T value_{};
    mutable emulation::Trace trace_;
  };
  Cell& operator[](std::int64_t index) {
    return cells_[emulation::in_bounds(index, kSize) ? index : 0];
  }

 private:
  Cell cells_[kSize];
};

}  // namespace commensal::kernels::cuda
