// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/layout.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>

namespace commensal::kernels::cpu {

/// From `begin` to before `end`.
struct Range {
  std::int64_t begin = 0, end = 0;

  /// Part `i` of `parts` of [0, length): none is empty if there are no more parts than elements,
  /// and none longer than ceil(length / parts).
  static Range part(std::int64_t i, std::int64_t parts, std::int64_t length) {
    return {i * length / parts, (i + 1) * length / parts};
  }
};

/// How an operator cuts pictures into tasks: image by image, and where those are too few, an image
/// by bands of rows or, if it has more channels than pixels, by groups of channels (whose weights
/// are then what costs) unless these are too few to be shared fairly. Operators that cut alike and
/// hand out tasks in this order let a thread find in its own cache what it wrote in the operator
/// before.
struct Cut {
  std::int64_t images = 1, bands = 1, groups = 1;

  /// `units`: what groups are made of (blocks, panels).
  static Cut of(const BlockedShape& shape, std::int64_t units, const ThreadPool& threads) {
    Cut cut{shape.batch};
    if (threads.threads() == 1) return cut;
    constexpr std::int64_t kTasksAThread = 2;  // who is late gives one away
    const std::int64_t wanted = ceil_div(kTasksAThread * threads.threads(), shape.batch);
    const bool few_units = units < 4 * threads.threads();
    if (few_units || shape.pixels() >= shape.blocks * kBlock) {
      cut.bands = std::min(wanted, shape.height);
    }
    cut.groups = std::clamp<std::int64_t>(ceil_div(wanted, cut.bands), 1, units);
    return cut;
  }
  std::int64_t tasks() const { return images * bands * groups; }

  struct Part {
    std::int64_t image;
    Range rows, units;
  };
  Part part(std::int64_t task, std::int64_t height, std::int64_t all_units) const {
    return {task / groups / bands, Range::part(task / groups % bands, bands, height),
            Range::part(task % groups, groups, all_units)};
  }
};

/// Calls work(plane, rows) once for everything that lies in a picture of `shape`: `rows` of plane
/// `plane` of all images' blocks.
template <class Work>
void for_each_plane(const BlockedShape& shape, ThreadPool& threads, const Work& work) {
  const Cut cut = Cut::of(shape, shape.blocks, threads);
  threads.run(cut.tasks(), [&](std::int64_t task) {
    const Cut::Part part = cut.part(task, shape.height, shape.blocks);
    for (std::int64_t block = part.units.begin; block < part.units.end; ++block) {
      work(part.image * shape.blocks + block, part.rows);
    }
  });
}

inline constexpr std::int64_t kMaxTaskPixels = 256;

/// Calls work(n, block, first pixel, pixels, channels of the block) for all of a blocked tensor, at
/// most kMaxTaskPixels at a time.
template <class Work>
void for_each_part(const BlockedShape& shape, std::int64_t channels, ThreadPool& threads,
                   const Work& work) {
  const std::int64_t parts = ceil_div(shape.pixels(), kMaxTaskPixels);
  threads.run(shape.batch * shape.blocks * parts, [&](std::int64_t task) {
    const std::int64_t part = task % parts, block = task / parts % shape.blocks;
    const std::int64_t pixel = part * kMaxTaskPixels;
    work(task / parts / shape.blocks, block, pixel,
         std::min(kMaxTaskPixels, shape.pixels() - pixel),
         std::min(kBlock, channels - block * kBlock));
  });
}

}  // namespace commensal::kernels::cpu
