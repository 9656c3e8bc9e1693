// SPDX-License-Identifier: Apache-2.0
// Col2Im: each element of an image is the sum, in lanes, of what the blocks that cover it say; its
// position is the place within the block, row-major.
#include <commensal/compute/kernels/ref/covering.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <optional>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

struct Col2Im {
  using In = Numbers;
  DType dtype = DType::kUndefined;
  shape_inference::Window window;  // that would cut the image into the blocks
  Shape to;                        // [N, C, image...]

  static core::Result<Col2Im> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 3));
    Col2Im op;
    op.dtype = call.in(0).dtype();
    const Shape& x = call.in(0).shape();
    COMMENSAL_ASSIGN(const auto image, shape_inference::integer_list(call, 1));
    COMMENSAL_ASSIGN(const auto block, shape_inference::integer_list(call, 2));
    COMMENSAL_ASSIGN(const Shape taps, Shape::of(block));
    if (taps.elements() < 1 || x[1] % taps.elements() != 0) {
      return fail(ErrorCode::kInvalidArgument, "{} rows are no whole number of blocks {}", x[1],
                  taps.text());
    }
    std::vector<std::int64_t> dims = {x[0], x[1] / taps.elements()};
    dims.insert(dims.end(), image.begin(), image.end());
    COMMENSAL_ASSIGN(op.to, Shape::of(dims));
    COMMENSAL_ASSIGN(op.window, shape_inference::window_of(call, op.to, block));
    COMMENSAL_TRY(Shape::of({op.window.out.data(), block.size()}));  // bounds the product
    if (op.window.out_elements() != x[2]) {
      return fail(ErrorCode::kInvalidArgument, "{} columns, but the image holds {} blocks", x[2],
                  op.window.out_elements());
    }
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }

  // Calls f(tap, input index) for every block that covers the element, in the order of the taps.
  template <class F>
  void for_blocks(std::int64_t index, F&& f) const {
    const Dims at = window.split(index % window.in_elements(), window.in);
    const std::int64_t plane = index / window.in_elements();
    Covering(window, window.out, at).for_each([&](std::int64_t tap, std::int64_t block) {
      f(tap, (plane * window.taps() + tap) * window.out_elements() + block);
    });
  }
  template <class T>
  Sum<Compute<T>> sum(const Call& call, std::int64_t index, std::int64_t steps) const {
    Sum<Compute<T>> made(steps);
    const auto x = paced<T>(call, 0);
    call.pulse(8);
    for_blocks(index, [&](std::int64_t tap, std::int64_t at) {
      made.add(tap, load(x[static_cast<std::size_t>(at)]));
    });
    return made;
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(sum<T>(call, index, kAllSteps).total()));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for_blocks(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
    read_whole(call, 1, out);
    read_whole(call, 2, out);
  }
  std::int64_t steps(int, std::int64_t index) const {
    std::int64_t count = Sum<float>::kTreeSteps;
    for_blocks(index, [&](auto, auto) { ++count; });
    return count;
  }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    Sum<Compute<T>> made = sum<T>(call, index, steps);
    made.total();
    return scalar_of(store<Compute<T>>(made.last()));
  }
};

// Rows of the image at once: what a tap gives to the places of a row lies side by side in its lane.
struct Col2ImPlan : EachPlan<Col2Im> {
  static core::Result<Col2ImPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Col2Im::make(call));
    return Col2ImPlan{{std::move(op)}};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (op.to.elements() == 0) return;
    if (op.window.rank == 0) return run(call, outputs);
    visit(Col2Im::In{}, op.dtype, [&]<class T>() {
      const T* const x = call.in(0).data<T>().data();
      T* const y = outputs[0].mutable_data<T>().data();
      const std::int64_t width = op.window.in[last()];
      const std::int64_t rows = op.window.in_elements() / width;  // of a plane
      const std::int64_t a_task = std::max<std::int64_t>(kPlaces / width, 1);
      const std::int64_t tasks = (rows + a_task - 1) / a_task;
      threads.run(op.to[0] * op.to[1] * tasks, [&](std::int64_t task) {
        Pulse pulse(&threads);
        Piece<T> piece;
        const std::int64_t plane = task / tasks;
        piece.row = task % tasks * a_task;
        piece.rows = std::min(a_task, rows - piece.row);
        for (std::int64_t begin = 0; begin < width; begin += kPlaces) {
          piece.begin = begin;
          piece.width = std::min(kPlaces, width - begin);
          add_rows(pulse, x + plane * op.window.taps() * op.window.out_elements(), piece);
          store_sums(piece, y + (plane * rows + piece.row) * width + begin);
        }
      });
    });
  }

 private:
  static constexpr std::int64_t kPlaces = 512;
  static constexpr std::size_t kLanes = Sum<float>::kLanes;

  // Lanes of places [begin, begin + width) of some rows of a plane; those that nothing was added to
  // are not there.
  template <class T>
  struct Piece {
    std::array<std::array<Compute<T>, kPlaces>, kLanes> lanes;
    std::array<bool, kLanes> used{};
    std::int64_t row = 0, rows = 0, begin = 0, width = 0;
    std::int64_t places() const { return rows * width; }
  };

  std::size_t last() const { return static_cast<std::size_t>(op.window.rank - 1); }

  // Along dimension d, tap t over place `at`: which block; none where there is none.
  std::optional<std::int64_t> block(std::size_t d, std::int64_t at, std::int64_t t) const {
    const auto& w = op.window;
    const std::int64_t place = at + w.pad_begin[d] - t * w.dilation[d];
    if (place < 0 || place % w.stride[d] != 0 || place / w.stride[d] >= w.out[d]) return {};
    return place / w.stride[d];
  }
  template <class T>
  void add_rows(Pulse& pulse, const T* x, Piece<T>& piece) const {
    piece.used.fill(false);
    for (std::int64_t r = 0; r < piece.rows; ++r) {
      Dims at{};
      for (auto [d, rest] = std::pair(last(), piece.row + r); d-- > 0;) {
        at[d] = rest % op.window.in[d];
        rest /= op.window.in[d];
      }
      add_taps(pulse, x, at, 0, 0, 0, piece, r * piece.width);
    }
  }
  template <class T>
  static void store_sums(Piece<T>& piece, T* y) {
    fold(piece);
    for (std::int64_t i = 0; i < piece.places(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      y[i] = store<T>(piece.used[0] ? plus(piece.lanes[0][k], Compute<T>{0}) : Compute<T>{0});
    }
  }
  // Of dimension d and those behind it, row-major.
  template <class T>
  void add_taps(Pulse& pulse, const T* x, const Dims& at, std::size_t d, std::int64_t tap,
                std::int64_t blocks, Piece<T>& piece, std::int64_t place) const {
    const auto& w = op.window;
    for (std::int64_t t = 0; t < w.kernel[d]; ++t) {
      pulse();
      const std::int64_t here = tap * w.kernel[d] + t;
      if (d == last()) {
        const T* const from = x + here * w.out_elements() + blocks * w.out[d];
        add_tap(pulse, from, t, static_cast<std::size_t>(here) % kLanes, piece, place);
      } else if (const auto found = block(d, at[d], t)) {
        add_taps(pulse, x, at, d + 1, here, blocks * w.out[d] + *found, piece, place);
      }
    }
  }
  // Blocks lie `stride` places apart.
  template <class T>
  void add_tap(Pulse& pulse, const T* x, std::int64_t t, std::size_t lane, Piece<T>& piece,
               std::int64_t place) const {
    const auto& w = op.window;
    const std::int64_t stride = w.stride[last()];
    const std::int64_t first = t * w.dilation[last()] - w.pad_begin[last()] - piece.begin;
    const std::int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
    const std::int64_t room = piece.width - first;  // before it a block must lie
    const std::int64_t end = room <= 0 ? 0 : std::min(w.out[last()], (room - 1) / stride + 1);
    if (begin >= end) return;
    Compute<T>* const all = piece.lanes[lane].data();
    if (!piece.used[lane]) std::fill_n(all, piece.places(), -Compute<T>{0});
    piece.used[lane] = true;
    pulse(end - begin);
    Compute<T>* to = all + (place + first + begin * stride);
    if (stride == 1) return add_side_by_side(x + begin, end - begin, to);
    for (std::int64_t b = begin; b < end; ++b, to += stride) *to = plus(*to, load(x[b]));
  }
  template <class T>
  static void add_side_by_side(const T* __restrict x, std::int64_t count,
                               Compute<T>* __restrict to) {
    std::int64_t i = 0;
    const auto add = [&]<int kAtOnce>() {
      for (; i + kAtOnce <= count; i += kAtOnce) {
        for (int k = 0; k < kAtOnce; ++k) to[i + k] = plus(to[i + k], load(x[i + k]));
      }
    };
    add.template operator()<16>();
    add.template operator()<4>();
    add.template operator()<1>();
  }
  // The tree of Sum: a lane that is not there is -0, which changes nothing.
  template <class T>
  static void fold(Piece<T>& piece) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) {
        if (!piece.used[l + half]) continue;
        auto* const to = piece.lanes[l].data();
        const auto* const from = piece.lanes[l + half].data();
        if (piece.used[l]) {
          add_side_by_side<Compute<T>>(from, piece.places(), to);
        } else {
          std::copy_n(from, piece.places(), to);
          piece.used[l] = true;
        }
      }
    }
  }
};

}  // namespace

constinit const Judge kCol2im = judge_of<Col2ImPlan>();

}  // namespace commensal::kernels::ref
