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
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <cstring>
#include <type_traits>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;

/// Rank and place of elements, of which no two are equal: the first of a row is the least.
constexpr std::uint64_t word_of(std::int32_t rank, std::int64_t place) {
  const std::uint32_t high = static_cast<std::uint32_t>(rank) ^ 0x80000000;
  return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(place);
}
constexpr std::int32_t rank_in(std::uint64_t word) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> 32) ^ 0x80000000);
}

/// In memory of the arena, enough for all that there may be: where k is large these are many.
struct Words {
  std::uint64_t* data = nullptr;
  std::int64_t count = 0;

  explicit Words(float* memory) : data(reinterpret_cast<std::uint64_t*>(memory)) {}
  static std::int64_t floats(std::int64_t words) { return 2 * words; }
  std::uint64_t* end() const { return data + count; }
  std::uint64_t last() const { return data[count - 1]; }
};

constexpr auto paced_less(Pulse& pulse) {
  return [&pulse](std::uint64_t a, std::uint64_t b) {
    pulse();
    return a < b;
  };
}
/// Leaves the first k of `words`, the last of them at the end.
void cut(Pulse& pulse, Words& words, std::int64_t k) {
  if (words.count <= k) return;
  std::nth_element(words.data, words.data + k - 1, words.end(), paced_less(pulse));
  words.count = k;
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

  /// How many words `find` may have to keep of `count` elements.
  std::int64_t words_of(std::int64_t count) const {
    return std::min(count, 2 * k_ + Ahead::kRoomMax + Ahead::kSlack);
  }
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
    words.count = 0;
    for (std::int64_t begin = 0; begin < count; begin += kPart) {
      const std::int64_t part = std::min(kPart, count - begin);
      const float* const x = source(begin, part);
      for (std::int64_t at = 0; at < part;) {
        ahead.count = 0;
        at = ahead_(x, at, part, ahead);
        std::uint64_t* const to = words.end();
        for (std::int64_t i = 0; i < ahead.count; ++i) {
          const auto here = static_cast<std::size_t>(i);
          to[i] = word_of(ahead.ranks[here], place + begin + ahead.where[here]);
        }
        words.count += ahead.count;
        pulse(ahead.count);
        if (words.count < 2 * k_) continue;
        cut(pulse, words, k_);
        ahead.bound = rank_in(words.last());
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

  /// Error: kResourceExhausted.
  core::Result<void> run(const TopRows& top, Workspace& ws) const {
    // A long row that has threads to itself is cut; then the best of its parts are.
    const std::int64_t of_part = std::max<std::int64_t>(1 << 15, 4 * k);
    const std::int64_t parts =
        std::clamp<std::int64_t>(length / of_part, 1, rows < ws.threads.threads() ? kPartsMax : 1);
    return parts == 1 ? run_rows(top, ws) : run_parts(top, parts, ws);
  }

 private:
  static constexpr std::int64_t kPartsMax = 16;

  core::Result<void> run_parts(const TopRows& top, std::int64_t parts, Workspace& ws) const {
    const std::int64_t part = ceil_div(length, parts);
    const std::int64_t apart = Words::floats(top.words_of(part));
    COMMENSAL_ASSIGN(const auto memory, floats_from(ws.arena, rows * parts * apart));
    std::vector<Words> found;
    for (std::int64_t i = 0; i < rows * parts; ++i) found.emplace_back(memory.get() + i * apart);
    ws.threads.run(rows * parts, [&](std::int64_t i) {
      Pulse pulse(&ws.threads);
      std::vector<float> wide;
      find(pulse, top, i / parts, i % parts * part, part, wide, found[static_cast<std::size_t>(i)]);
    });
    ws.threads.run(rows, [&](std::int64_t row) {
      Pulse pulse(&ws.threads);
      const std::span all = std::span(found).subspan(static_cast<std::size_t>(row * parts),
                                                     static_cast<std::size_t>(parts));
      for (const Words& more : all.subspan(1)) append(pulse, more, all[0]);
      finish(pulse, row, all[0]);
    });
    return {};
  }
  /// What lies behind `words` already, to their end.
  static void append(Pulse& pulse, const Words& more, Words& words) {
    constexpr std::int64_t kPiece = 1 << 12;
    for (std::int64_t at = 0; at < more.count; at += kPiece) {
      const std::int64_t some = std::min(kPiece, more.count - at);
      std::memmove(words.end(), more.data + at, static_cast<std::size_t>(some) * sizeof *more.data);
      words.count += some;
      pulse(some);
    }
  }
  core::Result<void> run_rows(const TopRows& top, Workspace& ws) const {
    const std::int64_t a_task = std::max<std::int64_t>((1 << 14) / length, 1);
    return run_with_scratch(ws, ceil_div(rows, a_task), Words::floats(top.words_of(length)),
                            [&](std::int64_t task, float* scratch) {
                              Pulse pulse(&ws.threads);
                              Words words(scratch);
                              std::vector<float> wide;
                              for (std::int64_t row = task * a_task;
                                   row < std::min(rows, (task + 1) * a_task); ++row) {
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
    std::sort(words.data, words.end(), paced_less(pulse));
    for (std::int64_t i = 0; i < k; ++i) {
      const auto place = static_cast<std::uint32_t>(words.data[i]);
      y[row * k + i] = x[row * length + place];
      if (where != nullptr) where[row * k + i] = place;
      pulse();
    }
  }
};

template <class T>
core::Result<void> run(TopCall<T> top, const TopRows& rows, std::span<Tensor> outputs,
                       Workspace& ws) {
  if (outputs.size() > 1) top.where = outputs[1].mutable_data<std::int64_t>().data();
  return top.run(rows, ws);
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
  return is_half(dtype)
             ? run(TopCall<std::uint16_t>{half_bits(call.in(0)), half_bits(outputs[0]), nullptr,
                                          rows, length, k, half_kernels_for(ws.isa, dtype).widen},
                   top, outputs, ws)
             : run(TopCall<float>{call.in(0).data<float>().data(),
                                  outputs[0].mutable_data<float>().data(), nullptr, rows, length,
                                  k},
                   top, outputs, ws);
}

}  // namespace commensal::kernels::cpu
