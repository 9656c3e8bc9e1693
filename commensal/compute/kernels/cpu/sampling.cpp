// SPDX-License-Identifier: Apache-2.0
// Resize, GridSample, RoiAlign: a table of taps, for whole rows of outputs of all planes.
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/resize_lines.hpp>
#include <commensal/compute/kernels/cpu/weighted_line.hpp>
#include <commensal/compute/kernels/few.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/sampling.hpp>
#include <optional>

namespace commensal::kernels::cpu {

namespace {

using ref::Compute;
using ref::TapTable;
using tensor::Shape;

/// Steps of a task: enough to be worth a thread's while.
constexpr std::int64_t kTaskSteps = 1 << 15;

template <class C>
auto sum_of(const WeightedLineKernels& kernels) {
  if constexpr (sizeof(C) == 8) {
    return kernels.doubles;
  } else {
    return kernels.floats;
  }
}

/// Makes a line in the type it is computed in, and stores it as T.
template <class T, class Line>
void make_line(Line line, void (*fold)(const Line&), T* y, std::vector<Compute<T>>& scratch) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    line.y = y;
    fold(line);
  } else {
    scratch.resize(static_cast<std::size_t>(line.count));
    line.y = scratch.data();
    fold(line);
    for (const auto one : scratch) *y++ = ref::store<T>(one);
  }
}

/// Elements of `kSize` bytes by index; -1 stands for `outside`.
template <std::size_t kSize>
void copy_places(const std::uint8_t* x, const std::int32_t* index, std::int64_t count,
                 const std::uint8_t* outside, std::uint8_t* y) {
  for (std::int64_t p = 0; p < count; ++p, y += kSize) {
    const auto at = static_cast<std::size_t>(index[p]);
    std::memcpy(y, index[p] < 0 ? outside : x + at * kSize, kSize);
  }
}
using CopyPlaces = void (*)(const std::uint8_t*, const std::int32_t*, std::int64_t,
                            const std::uint8_t*, std::uint8_t*);
CopyPlaces copy_places_of(std::int64_t size) {
  return size == 1   ? copy_places<1>
         : size == 2 ? copy_places<2>
         : size == 4 ? copy_places<4>
                     : copy_places<8>;
}
/// What has no weight is outside.
void mark_outside(const TapTable& table) {
  for (std::size_t i = 0; i < table.index.size(); ++i) {
    if (table.weights[i] == 0) table.index[i] = -1;
  }
}

// ---- Resize ------------------------------------------------------------------------------------

/// Calls f(plane, line, pulse) for all lines of all planes in order, in pieces.
template <class F>
void for_lines(const ResizeLines& lines, std::int64_t all, std::int64_t steps, Workspace& ws,
               const F& make) {
  const std::int64_t a_task =
      std::max<std::int64_t>(kTaskSteps / std::max(steps, lines.width()), 1);
  ws.threads.run(ceil_div(all, a_task), [&](std::int64_t task) {
    make(task * a_task, std::min(all, (task + 1) * a_task));
  });
}

template <class T>
void resize_sums(const Call& call, const ResizeLines& lines, T* y, Workspace& ws) {
  using C = Compute<T>;
  const ref::Resizing& op = lines.op();
  const ref::Widened<T> x(call, 0);
  WeightedLine<C> whole;
  if (lines.has_table()) {
    whole.own = lines.share_rows() ? OwnTaps::kLaid : OwnTaps::kListed;
    whole.index = lines.table().index.data();
    whole.weights = lines.table().weights.data();
    whole.step = lines.table().step;
    whole.taps = lines.taps();
  }
  whole.outside = ref::convert<C>(op.outside);
  whole.count = lines.width();
  const auto fold = sum_of<C>(weighted_line_kernels_for(ws.isa));
  const std::int64_t all = op.to.shape.elements() / lines.width();
  const std::int64_t steps = lines.width() * lines.taps();
  for_lines(lines, all, steps, ws, [&](std::int64_t begin, std::int64_t end) {
    std::vector<LineTap> taps, before;
    LaidRows<C> laid(lines);
    std::vector<C> scratch;
    Pulse pulse(&ws.threads);
    for (std::int64_t i = begin; i < end; ++i) {
      lines.taps_of(i % lines.lines(), taps, before);
      WeightedLine<C> line = whole;
      line.x = x.data() + i / lines.lines() * lines.in_plane();
      if (line.own == OwnTaps::kLaid) line.x = laid.lay(line.x, taps);
      line.line = taps.data();
      line.line_taps = static_cast<std::int64_t>(taps.size());
      pulse(steps * line.line_taps / 4);
      make_line(line, fold, y + i * lines.width(), scratch);
    }
  });
}

void resize_copies(const Call& call, const ResizeLines& lines, Tensor& output, Workspace& ws) {
  const ref::Resizing& op = lines.op();
  const std::int64_t size = tensor::traits(op.to.dtype).size, bytes = lines.width() * size;
  const Scalar outside = visit(ref::Everything{}, op.to.dtype, [&]<class T>() {
    return ref::scalar_of(ref::store<T>(ref::convert<Compute<T>>(op.outside)));
  });
  const auto* const none = reinterpret_cast<const std::uint8_t*>(&outside.bits);
  const std::vector<std::int32_t> nowhere(static_cast<std::size_t>(lines.width()), -1);
  const auto copy_by = copy_places_of(size);
  const std::uint8_t* const x = call.in(0).bytes().data();
  std::uint8_t* const y = output.mutable_bytes().data();
  const std::int64_t all = op.to.shape.elements() / lines.width();
  for_lines(lines, all, lines.width(), ws, [&](std::int64_t begin, std::int64_t end) {
    std::vector<LineTap> taps, before;
    const std::uint8_t* last = nullptr;  // what the line before came from
    Pulse pulse(&ws.threads);
    for (std::int64_t i = begin; i < end; ++i) {
      lines.taps_of(i % lines.lines(), taps, before);
      std::uint8_t* const to = y + i * bytes;
      pulse(lines.width());
      if (taps.empty()) {
        copy_by(x, nowhere.data(), lines.width(), none, to);
        last = nullptr;
        continue;
      }
      const std::uint8_t* const from =
          x + (i / lines.lines() * lines.in_plane() + taps[0].offset) * size;
      if (from == last || !lines.has_table()) {
        copy(pulse, to, from == last ? to - bytes : from, static_cast<std::size_t>(bytes));
      } else {
        copy_by(from, lines.table().index.data(), lines.width(), none, to);
      }
      last = from;
    }
  });
}

bool suits(const ref::Resizing& op) {
  if (!op.is_listed) return false;
  float product = 1;
  for (const ref::AxisTaps& axis : op.axes) {
    float largest = 1;
    for (const ref::Tap& tap : axis.taps) {
      if (!std::isfinite(tap.weight)) return false;  // times 0 it would be a tap
      largest = std::max(largest, std::abs(tap.weight));
    }
    product *= largest;
  }
  return std::isfinite(product);
}

/// What the runs of a call have in common: made once for all runs of a node.
struct ResizeCall {
  TensorType to;
  bool is_whole = false;             // each element stays where it is
  std::optional<ResizeLines> lines;  // none where plain loops serve

  static core::Result<ResizeCall> of(const Call& call) {
    COMMENSAL_ASSIGN(ref::Resizing op, ref::resizing_of(call));
    ResizeCall made{op.to, op.axes.empty(), std::nullopt};
    if (made.is_whole || op.to.shape.elements() == 0 || !suits(op)) return made;
    made.lines.emplace(std::move(op));
    ResizeLines& lines = *made.lines;
    if (!is_reached(lines.in_plane()) || lines.are_long()) {
      made.lines.reset();
    } else if (lines.op().copies) {
      mark_outside(lines.table());
    }
    return made;
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sizeof *this) + (lines ? lines->bytes() : 0);
  }
};

}  // namespace

core::Result<void> resize(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto made, call.memo.of([&] { return ResizeCall::of(call); }));
  if (made->to.shape.elements() == 0) return {};
  if (made->is_whole) {
    const auto to = outputs[0].mutable_bytes();
    Pulse pulse(&ws.threads);
    copy(pulse, to.data(), call.in(0).bytes().data(), to.size());
    return {};
  }
  if (!made->lines) return ref::kResize.best()(call, outputs, ws);
  const ResizeLines& lines = *made->lines;
  if (lines.op().copies) {
    resize_copies(call, lines, outputs[0], ws);
    return {};
  }
  visit(ref::Floats{}, made->to.dtype,
        [&]<class T>() { resize_sums(call, lines, outputs[0].mutable_data<T>().data(), ws); });
  return {};
}

// ---- GridSample, RoiAlign ----------------------------------------------------------------------

namespace {

/// What the table of taps says of every channel of a group: f(input plane, output place, count).
struct Sampler {
  const Call& call;
  const ref::Sampling& op;
  std::int64_t channels, plane, places;

  Sampler(const Call& own, const ref::Sampling& sampling, const Tensor& output)
      : call(own), op(sampling) {
    const Shape from = op.from().shape, to = output.shape();
    channels = from[1];
    plane = from.elements(2, from.rank());
    places = to.elements(2, to.rank());
  }
  /// Calls f(group, table, first place, count), in pieces.
  template <class F>
  void run(Workspace& ws, const F& make) const {
    std::int64_t taps = 1;
    for (std::int64_t g = 0; g < op.groups(); ++g) taps = std::max(taps, op.taps(g));
    const std::int64_t piece = std::clamp<std::int64_t>(8192 / taps / 16 * 16, 16, 1024);
    const std::int64_t pieces = ceil_div(places, piece);
    ws.threads.run(op.groups() * pieces, [&](std::int64_t task) {
      const std::int64_t group = task / pieces, first = task % pieces * piece;
      const std::int64_t count = std::min(piece, places - first);
      const std::int64_t step = TapTable::step_of(count), entries = op.taps(group) * step;
      constexpr std::int64_t kFew = 1024;  // of a table that is on the stack
      Few<std::int32_t, kFew> index(entries);
      Few<float, kFew> weights(entries);
      const TapTable table{step, index.all(), weights.all()};
      op.fill(call, group, first, count, table);
      make(group, table, first, count);
    });
  }
  std::int64_t to(std::int64_t group, std::int64_t channel, std::int64_t place) const {
    return (group * channels + channel) * places + place;
  }
  std::int64_t from(std::int64_t group, std::int64_t channel) const {
    return (op.image(group) * channels + channel) * plane;
  }
};

template <class T>
void sample_sums(const Call& call, const Sampler& sampler, T* y, Workspace& ws) {
  using C = Compute<T>;
  const ref::Widened<T> x(call, 0);
  const WeightedLineKernels& kernels = weighted_line_kernels_for(ws.isa);
  auto fold = sum_of<C>(kernels);
  if constexpr (std::is_same_v<C, float>) {
    if (sampler.op.takes_maximum()) fold = kernels.maximum;
  }
  sampler.run(
      ws, [&](std::int64_t group, const TapTable& table, std::int64_t first, std::int64_t count) {
        const LineTap whole;
        std::vector<C> scratch;
        Pulse pulse(&ws.threads);
        WeightedLine<C> line;
        line.line = &whole;
        line.own = OwnTaps::kListed;
        line.index = table.index.data();
        line.weights = table.weights.data();
        line.step = table.step;
        line.taps = sampler.op.taps(group);
        line.divisor = static_cast<C>(sampler.op.divisor(group));
        line.count = count;
        for (std::int64_t c = 0; c < sampler.channels; ++c) {
          line.x = x.data() + sampler.from(group, c);
          pulse(line.taps * count / 4);
          make_line(line, fold, y + sampler.to(group, c, first), scratch);
        }
      });
}

void sample_copies(const Call& call, const Sampler& sampler, Tensor& output, Workspace& ws) {
  const std::int64_t size = tensor::traits(output.dtype()).size;
  const auto copy_by = copy_places_of(size);
  const std::uint8_t* const x = call.in(0).bytes().data();
  std::uint8_t* const y = output.mutable_bytes().data();
  constexpr std::uint8_t kNone[8] = {};
  sampler.run(
      ws, [&](std::int64_t group, const TapTable& table, std::int64_t first, std::int64_t count) {
        Pulse pulse(&ws.threads);
        mark_outside(table);
        for (std::int64_t c = 0; c < sampler.channels; ++c) {
          pulse(count);
          copy_by(x + sampler.from(group, c) * size, table.index.data(), count, kNone,
                  y + sampler.to(group, c, first) * size);
        }
      });
}

core::Result<void> sample(const Call& call, const ref::Sampling& op, const Judge& judge,
                          std::span<Tensor> outputs, Workspace& ws) {
  if (outputs[0].elements() == 0) return {};
  const Sampler sampler(call, op, outputs[0]);
  constexpr std::int64_t kTapsMax = 1 << 16;  // of a place: what a table has room for
  bool fits = is_reached(sampler.plane);
  for (std::int64_t g = 0; g < op.groups(); ++g) fits = fits && op.taps(g) <= kTapsMax;
  const bool is_wide = op.takes_maximum() && outputs[0].dtype() == tensor::DType::kFloat64;
  if (!fits || is_wide) return judge.best()(call, outputs, ws);
  if (op.copies()) {
    sample_copies(call, sampler, outputs[0], ws);
    return {};
  }
  visit(ref::Floats{}, outputs[0].dtype(),
        [&]<class T>() { sample_sums(call, sampler, outputs[0].mutable_data<T>().data(), ws); });
  return {};
}

}  // namespace

core::Result<void> grid_sample(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto op, call.memo.of([&] { return ref::grid_sampling(call); }));
  return sample(call, **op, ref::kGridSample, outputs, ws);
}

core::Result<void> roi_align(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto op, ref::roi_sampling(call));
  return sample(call, *op, ref::kRoiAlign, outputs, ws);
}

}  // namespace commensal::kernels::cpu
