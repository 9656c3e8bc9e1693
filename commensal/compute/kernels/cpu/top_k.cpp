// SPDX-License-Identifier: Apache-2.0
// TopK of binary32 and of 16-bit floats along the last dimension: rows are looked through for what
// is ahead of a bound, which follows the best k so far.
#include <algorithm>
#include <array>
#include <bit>
#include <commensal/compute/kernels/cpu/folds.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <type_traits>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;

/// Rank and place of elements, of which no two are equal: the first of a row is the least.
using Words = std::vector<std::uint64_t>;
constexpr std::uint64_t word_of(std::int32_t rank, std::int64_t place) {
  const std::uint32_t high = static_cast<std::uint32_t>(rank) ^ 0x80000000;
  return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(place);
}
constexpr std::int32_t rank_in(std::uint64_t word) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> 32) ^ 0x80000000);
}

/// Leaves the first k of `words`, the last of them at the end.
void cut(Pulse& pulse, Words& words, std::int64_t k) {
  if (std::ssize(words) <= k) return;
  std::nth_element(words.begin(), words.begin() + k - 1, words.end(),
                   [&pulse](std::uint64_t a, std::uint64_t b) {
                     pulse();
                     return a < b;
                   });
  words.resize(static_cast<std::size_t>(k));
}
void sort(Pulse& pulse, Words& words) {
  std::sort(words.begin(), words.end(), [&pulse](std::uint64_t a, std::uint64_t b) {
    pulse();
    return a < b;
  });
}

/// Finds the first k of rows.
class TopRows {
 public:
  /// Checked by who calls: k is at least 1.
  TopRows(bool largest, std::int64_t k, Isa isa)
      : largest_(largest),
        k_(k),
        ahead_(largest ? fold_kernels_for(isa).ahead_of_largest
                       : fold_kernels_for(isa).ahead_of_smallest),
        extreme_(fold_kernels_for(isa).of(largest ? Fold::kMaximum : Fold::kMinimum)) {}

  /// Those of `count` elements, the first of which is `place` of its row, in no order; elements
  /// [at, at + some) are source(at, some), at most kPart.
  template <class Source>
  void find(Pulse& pulse, std::int64_t count, std::int64_t place, const Source& source,
            Words& words) const {
    Ahead ahead;
    ahead.room = std::clamp<std::int64_t>(2 * k_, 64, Ahead::kRoomMax);
    if (k_ <= kFew && count >= 2 * FoldKernel::kLanes) {
      ahead.bound = first_bound(pulse, count, source);
    }
    words.clear();
    words.reserve(static_cast<std::size_t>(
        std::min(count, 2 * k_ + Ahead::kRoomMax + Ahead::kSlack)));  // growing takes no pause
    for (std::int64_t begin = 0; begin < count; begin += kPart) {
      const std::int64_t part = std::min(kPart, count - begin);
      const float* const x = source(begin, part);
      for (std::int64_t at = 0; at < part;) {
        ahead.count = 0;
        at = ahead_(x, at, part, ahead);
        for (std::int64_t i = 0; i < ahead.count; ++i) {
          const auto here = static_cast<std::size_t>(i);
          words.push_back(word_of(ahead.ranks[here], place + begin + ahead.where[here]));
        }
        pulse(ahead.count);
        if (std::ssize(words) < 2 * k_) continue;
        cut(pulse, words, k_);
        ahead.bound = rank_in(words.back());
      }
      pulse(part / 4);
    }
    cut(pulse, words, k_);
  }
  static constexpr std::int64_t kPart = 1 << 14;  // looked through without a pause

 private:
  static constexpr std::int64_t kFew = FoldKernel::kLanes / 2;

  /// So many lanes have a best element that k of these are ahead of it.
  template <class Source>
  std::int32_t first_bound(Pulse& pulse, std::int64_t count, const Source& source) const {
    std::array<float, FoldKernel::kLanes> keys;
    for (std::int64_t at = 0; at < count; at += kPart) {
      const std::int64_t part = std::min(kPart, count - at);
      extreme_.row(source(at, part), part, nullptr, at == 0, keys.data());
      pulse(part / 4);
    }
    std::array<std::int32_t, FoldKernel::kLanes> ranks;
    std::ranges::transform(keys, ranks.begin(), [this](float key) {
      const auto bits = std::bit_cast<std::int32_t>(key);
      return largest_ ? ~bits : bits;
    });
    if (k_ == 1) return *std::ranges::min_element(ranks) + 1;
    const auto last = ranks.begin() + k_ - 1;
    std::ranges::nth_element(ranks, last);
    return *last + 1;
  }

  bool largest_;
  std::int64_t k_;
  FoldKernels::AheadFn ahead_;
  const FoldKernel& extreme_;
};

/// Rows of T: float, or the bits of 16-bit floats, which `widen` makes binary32.
template <class T>
struct TopCall {
  using WidenFn = void (*)(const T* x, float* y, std::int64_t count);
  const T* x = nullptr;
  T* y = nullptr;
  std::int64_t* where = nullptr;  // null: nobody asks
  std::int64_t rows = 0, length = 0, k = 0;
  WidenFn widen = nullptr;

  void run(const TopRows& top, ThreadPool& threads) const {
    // A long row that has threads to itself is cut; then the best of its parts are.
    const std::int64_t of_part = std::max<std::int64_t>(1 << 15, 4 * k);
    const std::int64_t parts =
        std::clamp<std::int64_t>(length / of_part, 1, rows < threads.threads() ? kPartsMax : 1);
    if (parts == 1) return run_rows(top, threads);
    const std::int64_t part = ceil_div(length, parts);
    std::vector<Words> found(static_cast<std::size_t>(rows * parts));
    threads.run(rows * parts, [&](std::int64_t i) {
      Pulse pulse(&threads);
      std::vector<float> wide;
      find(pulse, top, i / parts, i % parts * part, part, wide, found[static_cast<std::size_t>(i)]);
    });
    threads.run(rows, [&](std::int64_t row) {
      Pulse pulse(&threads);
      Words words;
      words.reserve(static_cast<std::size_t>(parts * k));
      for (std::int64_t i = row * parts; i < (row + 1) * parts; ++i) {
        const Words& more = found[static_cast<std::size_t>(i)];
        words.insert(words.end(), more.begin(), more.end());
        pulse(more.size());
      }
      finish(pulse, row, words);
    });
  }

 private:
  static constexpr std::int64_t kPartsMax = 16;

  void run_rows(const TopRows& top, ThreadPool& threads) const {
    const std::int64_t a_task = std::max<std::int64_t>((1 << 14) / length, 1);
    threads.run(ceil_div(rows, a_task), [&](std::int64_t task) {
      Pulse pulse(&threads);
      Words words;
      std::vector<float> wide;
      for (std::int64_t row = task * a_task; row < std::min(rows, (task + 1) * a_task); ++row) {
        find(pulse, top, row, 0, length, wide, words);
        finish(pulse, row, words);
      }
    });
  }
  void find(Pulse& pulse, const TopRows& top, std::int64_t row, std::int64_t begin,
            std::int64_t most, std::vector<float>& wide, Words& words) const {
    const std::int64_t count = std::min(most, length - begin);
    const T* const from = x + row * length + begin;
    const auto source = [&](std::int64_t at, std::int64_t some) -> const float* {
      if constexpr (std::is_same_v<T, float>) {
        return from + at;
      } else {
        wide.resize(static_cast<std::size_t>(TopRows::kPart));
        widen(from + at, wide.data(), some);
        return wide.data();
      }
    };
    top.find(pulse, count, begin, source, words);
  }
  void finish(Pulse& pulse, std::int64_t row, Words& words) const {
    cut(pulse, words, k);
    sort(pulse, words);
    for (std::int64_t i = 0; i < k; ++i) {
      const auto place = static_cast<std::uint32_t>(words[static_cast<std::size_t>(i)]);
      y[row * k + i] = x[row * length + place];
      if (where != nullptr) where[row * k + i] = place;
      pulse();
    }
  }
};

template <class T>
void run(TopCall<T> top, const TopRows& rows, std::span<Tensor> outputs, ThreadPool& threads) {
  if (outputs.size() > 1) top.where = outputs[1].mutable_data<std::int64_t>().data();
  top.run(rows, threads);
}

}  // namespace

core::Result<void> top_k(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const tensor::Shape& shape = call.in(0).shape();
  const DType dtype = call.in(0).dtype();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, shape.rank()));
  COMMENSAL_ASSIGN(const std::int64_t largest, call.attributes->integer("largest", 1));
  const std::int64_t length = shape[axis], k = outputs[0].shape()[axis];
  const bool serves = (dtype == DType::kFloat32 || is_half(dtype)) &&
                      shape.elements(axis + 1, shape.rank()) == 1 && length <= INT32_MAX;
  if (!serves) return ref::kTopK.best()(call, outputs, ws);
  if (outputs[0].elements() == 0) return {};
  const TopRows top(largest != 0, k, ws.isa);
  const std::int64_t rows = outputs[0].elements() / k;
  if (is_half(dtype)) {
    run(TopCall<std::uint16_t>{half_bits(call.in(0)), half_bits(outputs[0]), nullptr, rows, length,
                               k, half_kernels_for(ws.isa, dtype).widen},
        top, outputs, ws.threads);
  } else {
    run(TopCall<float>{call.in(0).data<float>().data(), outputs[0].mutable_data<float>().data(),
                       nullptr, rows, length, k},
        top, outputs, ws.threads);
  }
  return {};
}

}  // namespace commensal::kernels::cpu
