// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/ref/plan.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <cstring>

/// Copies of many elements at once, on the pool's threads: what the fast loops of operators that
/// move elements share.
namespace commensal::kernels::ref {

/// Bytes of a task: enough to be worth a thread's while.
inline constexpr std::int64_t kRunBytes = 65536;

/// A walk through a shape, row-major, that keeps an offset: `strides` of what is walked through.
class Odometer {
 public:
  Odometer(std::span<const std::int64_t> dims, const shape_inference::Dims& strides,
           std::int64_t position)
      : dims_(dims), strides_(strides) {
    for (std::size_t d = dims.size(); d-- > 0 && position > 0;) {
      at_[d] = position % dims[d];
      position /= dims[d];
      offset_ += at_[d] * strides[d];
    }
  }
  std::int64_t offset() const { return offset_; }
  std::int64_t at(int d) const { return at_[static_cast<std::size_t>(d)]; }
  /// Steps along the last dimension that are left until another one changes, the last of them
  /// included.
  std::int64_t left() const { return dims_.empty() ? 1 : dims_.back() - at_[dims_.size() - 1]; }
  /// As many of them, or fewer.
  void advance(std::int64_t steps) {
    if (dims_.empty()) return;
    at_[dims_.size() - 1] += steps - 1;
    offset_ += (steps - 1) * strides_[dims_.size() - 1];
    step();
  }
  void step() {
    for (std::size_t d = dims_.size(); d-- > 0;) {
      offset_ += strides_[d];
      if (++at_[d] < dims_[d]) return;
      offset_ -= dims_[d] * strides_[d];
      at_[d] = 0;
    }
  }

 private:
  std::span<const std::int64_t> dims_;
  const shape_inference::Dims& strides_;
  shape_inference::Dims at_{};
  std::int64_t offset_ = 0;
};

/// Row-major strides; that of dimension `without` is 0.
inline shape_inference::Dims strides_without(const tensor::Shape& shape, int without = -1) {
  shape_inference::Dims strides{};
  for (int d = shape.rank(); d-- > 0;) {
    strides[static_cast<std::size_t>(d)] = d == without ? 0 : shape.elements(d + 1, shape.rank());
  }
  return strides;
}

template <std::size_t kBytes>
void copy_each(const std::uint8_t* from, const std::int64_t* where, std::int64_t count,
               std::uint8_t* to) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kStep, from + where[i] * kStep, kBytes);
  }
}

/// Runs of `length` elements of `size` bytes, side by side in the output: run i begins at element
/// where[i - first] of the input, which offsets(first, count, where) says for several.
template <class Offsets>
void copy_runs(ThreadPool& threads, std::int64_t runs, std::int64_t length, std::int64_t size,
               const std::uint8_t* from, std::uint8_t* to, const Offsets& offsets) {
  constexpr std::int64_t kAtOnce = 512;
  const std::int64_t bytes = length * size;
  if (bytes == 0 || runs == 0) return;
  const std::int64_t a_task = std::max<std::int64_t>(kRunBytes / bytes, 1);
  threads.run((runs + a_task - 1) / a_task, [&](std::int64_t task) {
    std::int64_t where[kAtOnce];
    Pulse pulse(&threads);
    const std::int64_t end = std::min(runs, (task + 1) * a_task);
    for (std::int64_t first = task * a_task; first < end; first += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, end - first);
      std::uint8_t* const here = to + first * bytes;
      offsets(first, count, where);
      pulse(2 * count);
      if (length == 1 && size == 1) {
        copy_each<1>(from, where, count, here);
      } else if (length == 1 && size == 2) {
        copy_each<2>(from, where, count, here);
      } else if (length == 1 && size == 4) {
        copy_each<4>(from, where, count, here);
      } else if (length == 1) {
        copy_each<8>(from, where, count, here);
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          copy(pulse, here + i * bytes, from + where[i] * size, static_cast<std::size_t>(bytes));
        }
      }
    }
  });
}

/// The entries at `positions` along an axis, for all `outer` before it.
inline void copy_along(ThreadPool& threads, const shape_inference::AxisView& view,
                       std::span<const std::int64_t> positions, std::int64_t outer,
                       std::int64_t size, const std::uint8_t* from, std::uint8_t* to) {
  const auto entries = static_cast<std::int64_t>(positions.size());
  copy_runs(threads, outer * entries, view.inner_size, size, from, to,
            [&](std::int64_t first, std::int64_t count, std::int64_t* where) {
              std::int64_t base = first / entries * view.length, entry = first % entries;
              for (std::int64_t i = 0; i < count; ++i) {
                where[i] = (base + positions[static_cast<std::size_t>(entry)]) * view.inner_size;
                if (++entry == entries) entry = 0, base += view.length;
              }
            });
}

/// All elements of these bits.
inline void fill_elements(ThreadPool& threads, Tensor& to, std::uint64_t bits) {
  constexpr std::size_t kPattern = 1024;
  const auto bytes = to.mutable_bytes();
  const auto size = static_cast<std::size_t>(tensor::traits(to.dtype()).size);
  std::uint8_t pattern[kPattern];
  for (std::size_t i = 0; i < std::min(kPattern, bytes.size()); i += size) {
    std::memcpy(pattern + i, &bits, size);
  }
  const auto all = static_cast<std::int64_t>(bytes.size());
  threads.run((all + kRunBytes - 1) / kRunBytes, [&](std::int64_t task) {
    const std::int64_t end = std::min(all, (task + 1) * kRunBytes);
    for (std::int64_t at = task * kRunBytes; at < end; at += kPattern) {
      std::memcpy(bytes.data() + at, pattern,
                  std::min<std::size_t>(kPattern, static_cast<std::size_t>(end - at)));
    }
  });
}

/// The bytes as they are.
inline void copy_whole(ThreadPool& threads, std::span<const std::uint8_t> from, std::uint8_t* to) {
  const auto all = static_cast<std::int64_t>(from.size());
  threads.run((all + kRunBytes - 1) / kRunBytes, [&](std::int64_t task) {
    const std::int64_t at = task * kRunBytes;
    std::memcpy(to + at, from.data() + at, static_cast<std::size_t>(std::min(kRunBytes, all - at)));
  });
}

}  // namespace commensal::kernels::ref
