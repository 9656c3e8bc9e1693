// SPDX-License-Identifier: Apache-2.0
// Col2Im: each element of an image is the sum, in lanes, of what the blocks that cover it say; its
// position is the place within the block, row-major.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/covering.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/wide.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

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

// Places of a row that lie a stride apart at once: a tap gives to all of them from blocks that lie
// side by side, so that each lane is a row of its own.
struct Col2ImPlan : EachPlan<Col2Im> {
  static constexpr bool kPlainRows = false;

  static core::Result<Col2ImPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Col2Im::make(call));
    return Col2ImPlan{{std::move(op)}};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (op.to.elements() == 0) return;
    constexpr std::int64_t kPhasesMax = 1 << 12;
    if (op.window.rank == 0 || op.window.stride[last()] > kPhasesMax || !is_dense()) {
      return run_judged(*this, call, outputs);
    }
    const std::vector<std::vector<Shift>> phases = shifts();
    visit(Col2Im::In{}, op.dtype, [&]<class T>() {
      const T* const x = call.in(0).data<T>().data();
      T* const y = outputs[0].mutable_data<T>().data();
      const std::int64_t width = op.window.in[last()], rows = op.to.elements() / width;
      const std::int64_t of_plane = op.window.in_elements() / width;
      const std::int64_t blocks = op.window.taps() * op.window.out_elements();
      const std::int64_t a_task = std::max<std::int64_t>(4096 / width, 1);
      threads.run((rows + a_task - 1) / a_task, [&](std::int64_t task) {
        Pulse pulse(&threads);
        Strip<T> strip;
        strip.neutral = times<Compute<T>>(-Compute<T>{0}, static_cast<Compute<T>>(op.window.rank));
        std::vector<Lead> leads;
        for (std::int64_t r = task * a_task; r < std::min(rows, (task + 1) * a_task); ++r) {
          leads.clear();
          list_leads(pulse, r % of_plane, leads);
          for (std::size_t phase = 0; phase < phases.size(); ++phase) {
            wide([&] {
              make_strips(pulse, x + r / of_plane * blocks, leads, phases[phase],
                          static_cast<std::int64_t>(phase), strip, y + r * width);
            });
          }
        }
      });
    });
  }

 private:
  static constexpr std::int64_t kPlaces = 256;
  static constexpr std::size_t kLanes = Sum<float>::kLanes;

  // Tap t of the last dimension over place j of a phase: block j + by.
  struct Shift {
    std::int64_t tap = 0, by = 0;
  };
  // Taps of the other dimensions over a row: the first of them, and the first of its blocks.
  struct Lead {
    std::int64_t tap = 0, block = 0;
  };
  // Those lanes that nothing was added to are not there.
  template <class T>
  struct Strip {
    std::array<std::array<Compute<T>, kPlaces>, kLanes> lanes;
    std::array<bool, kLanes> used{};
    Compute<T> neutral{};  // -0, but no constant: of a plain copy compilers make a slow call
  };

  // Strips go through all taps; the judge through those only that reach a place.
  bool is_dense() const { return op.window.kernel[last()] <= 4 * op.window.out[last()] + 64; }
  std::size_t last() const { return static_cast<std::size_t>(op.window.rank - 1); }

  // Place j of phase f is at f + j * stride, from the first window's beginning.
  std::vector<std::vector<Shift>> shifts() const {
    const auto& w = op.window;
    const std::int64_t stride = w.stride[last()], dilation = w.dilation[last()];
    const std::int64_t reach = w.in[last()] + w.pad_begin[last()];
    std::vector<std::vector<Shift>> made(static_cast<std::size_t>(std::min(stride, reach)));
    for (std::int64_t t = 0; t < w.kernel[last()]; ++t) {
      const auto phase = static_cast<std::size_t>(t * dilation % stride);
      if (phase < made.size()) made[phase].push_back({t, -(t * dilation / stride)});
    }
    return made;
  }
  void list_leads(Pulse& pulse, std::int64_t row, std::vector<Lead>& leads) const {
    const auto& w = op.window;
    Dims at{};
    for (std::size_t d = last(); d-- > 0; row /= w.in[d]) at[d] = row % w.in[d];
    std::vector<Lead> before;
    leads.push_back({});
    for (std::size_t d = 0; d < last(); ++d) {
      std::swap(leads, before);
      leads.clear();
      const TapSeries over =
          taps_over(at[d] + w.pad_begin[d], w.out[d], w.stride[d], w.dilation[d], w.kernel[d]);
      for (const Lead& lead : before) {
        pulse(over.count);
        for (std::int64_t i = 0; i < over.count; ++i) {
          const std::int64_t t = over.begin + i * over.step;
          const std::int64_t block = (at[d] + w.pad_begin[d] - t * w.dilation[d]) / w.stride[d];
          leads.push_back({lead.tap * w.kernel[d] + t, lead.block * w.out[d] + block});
        }
      }
    }
  }
  template <class T>
  void make_strips(Pulse& pulse, const T* x, const std::vector<Lead>& leads,
                   const std::vector<Shift>& shifts, std::int64_t phase, Strip<T>& strip,
                   T* y) const {
    const auto& w = op.window;
    const std::int64_t stride = w.stride[last()], pad = w.pad_begin[last()];
    const std::int64_t from = pad > phase ? (pad - phase + stride - 1) / stride : 0;
    const std::int64_t reach = w.in[last()] + pad - phase;  // before it a place must lie
    const std::int64_t to = reach <= 0 ? 0 : (reach - 1) / stride + 1;
    for (std::int64_t j = from; j < to; j += kPlaces) {
      const std::int64_t count = std::min(kPlaces, to - j);
      strip.used.fill(false);
      for (const Lead& lead : leads) {
        pulse(static_cast<std::int64_t>(shifts.size()) * (4 + count / 4));
        for (const Shift& shift : shifts) {
          const std::int64_t tap = lead.tap * w.kernel[last()] + shift.tap;
          const T* const row = x + tap * w.out_elements() + lead.block * w.out[last()];
          const std::int64_t begin = std::max<std::int64_t>(-shift.by - j, 0);
          const std::int64_t end = std::min(count, w.out[last()] - shift.by - j);
          if (begin < end) add_tap(row + (j + shift.by + begin), tap, begin, end, count, strip);
        }
      }
      pulse(4 * count);
      fold(strip, count);
      if (!strip.used[0]) strip.lanes[0].fill(0);
      T* out = y + (phase + j * stride - pad);
      if (stride == 1) {
        store_some<1>(strip, count, out, store_some<16>(strip, count, out, 0));
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i, out += stride) {
        *out = store<T>(plus(strip.lanes[0][static_cast<std::size_t>(i)], Compute<T>{0}));
      }
    }
  }
  template <int kAtOnce, class T>
  static std::int64_t store_some(const Strip<T>& strip, std::int64_t count, T* __restrict y,
                                 std::int64_t i) {
    const Compute<T>* __restrict const sums = strip.lanes[0].data();
    for (; i + kAtOnce <= count; i += kAtOnce) {
      for (int k = 0; k < kAtOnce; ++k) y[i + k] = store<T>(plus(sums[i + k], Compute<T>{0}));
    }
    return i;
  }
  // To places [begin, end) of `count`. A lane begins at -0, to which an element adds itself.
  template <class T>
  static void add_tap(const T* x, std::int64_t tap, std::int64_t begin, std::int64_t end,
                      std::int64_t count, Strip<T>& strip) {
    const std::size_t lane = static_cast<std::size_t>(tap) % kLanes;
    Compute<T>* const to = strip.lanes[lane].data();
    if (strip.used[lane]) return add_side_by_side(x, end - begin, to + begin);
    strip.used[lane] = true;
    for (std::int64_t i = 0; i < begin; ++i) to[i] = -Compute<T>{0};
    put_side_by_side(x, end - begin, to + begin, strip.neutral);
    for (std::int64_t i = end; i < count; ++i) to[i] = -Compute<T>{0};
  }
  // A fixed number at once, of which compilers make vectors; rows are short.
  template <int kAtOnce, class T>
  static std::int64_t put_some(const T* __restrict x, std::int64_t count, Compute<T>* __restrict to,
                               Compute<T> neutral, std::int64_t i) {
    for (; i + kAtOnce <= count; i += kAtOnce) {
      for (int k = 0; k < kAtOnce; ++k) to[i + k] = plus(neutral, load(x[i + k]));
    }
    return i;
  }
  template <class T>
  static void put_side_by_side(const T* x, std::int64_t count, Compute<T>* to, Compute<T> neutral) {
    const std::int64_t many = put_some<16>(x, count, to, neutral, 0);
    put_some<1>(x, count, to, neutral, put_some<4>(x, count, to, neutral, many));
  }
  template <int kAtOnce, class T>
  static std::int64_t add_some(const T* __restrict x, std::int64_t count, Compute<T>* __restrict to,
                               std::int64_t i) {
    for (; i + kAtOnce <= count; i += kAtOnce) {
      for (int k = 0; k < kAtOnce; ++k) to[i + k] = plus(to[i + k], load(x[i + k]));
    }
    return i;
  }
  template <class T>
  static void add_side_by_side(const T* x, std::int64_t count, Compute<T>* to) {
    const std::int64_t many = add_some<16>(x, count, to, 0);
    add_some<1>(x, count, to, add_some<4>(x, count, to, many));
  }
  // The tree of Sum: a lane that is not there is -0, which changes nothing.
  template <class T>
  static void fold(Strip<T>& strip, std::int64_t count) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) {
        if (!strip.used[l + half]) continue;
        auto* const to = strip.lanes[l].data();
        const auto* const from = strip.lanes[l + half].data();
        if (strip.used[l]) {
          add_side_by_side<Compute<T>>(from, count, to);
        } else {
          put_side_by_side<Compute<T>>(from, count, to, strip.neutral);
          strip.used[l] = true;
        }
      }
    }
  }
};

}  // namespace

constinit const Judge kCol2im = judge_of<Col2ImPlan>();

}  // namespace commensal::kernels::ref
