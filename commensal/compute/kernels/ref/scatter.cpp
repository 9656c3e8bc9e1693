// SPDX-License-Identifier: Apache-2.0
// ScatterElements, ScatterND, MaxUnpool: elements of one input put into places of another, in
// row-major order of the updates, so that of several for one place the last one stays.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

enum class Join { kReplace, kAdd, kMul, kMax, kMin };

core::Result<Join> join_of(const Call& call) {
  constexpr std::pair<std::string_view, Join> kJoins[] = {{"none", Join::kReplace},
                                                          {"add", Join::kAdd},
                                                          {"mul", Join::kMul},
                                                          {"max", Join::kMax},
                                                          {"min", Join::kMin}};
  COMMENSAL_ASSIGN(const std::string name, call.attributes->text("reduction", "none"));
  for (const auto& [text, join] : kJoins) {
    if (text != name) continue;
    if (join != Join::kReplace) COMMENSAL_TRY(shape_inference::check_dtype<Numbers>(call, 0));
    return join;
  }
  return fail(ErrorCode::kInvalidArgument, "attribute 'reduction' is '{}'", name);
}

template <class T>
T joined(Join join, T old, T update) {
  if constexpr (std::is_same_v<T, bool>) {
    return update;  // the only way to join them
  } else {
    const Compute<T> a = load(old), b = load(update);
    if (join == Join::kAdd) return store<T>(plus(a, b));
    if (join == Join::kMul) return store<T>(times(a, b));
    if (join == Join::kMax) return store<T>(above(b, a) ? b : a);
    if (join == Join::kMin) return store<T>(below(b, a) ? b : a);
    return update;
  }
}

auto outside_of(std::int64_t index, std::int64_t dim) {
  return fail(ErrorCode::kInvalidArgument, "index {} is outside of a dimension of {}", index, dim);
}

core::Result<std::int64_t> position_in(std::int64_t index, std::int64_t dim) {
  if (index >= -dim && index < dim) return index < 0 ? index + dim : index;
  return outside_of(index, dim);
}

struct ScatterPlan {
  TensorType to;
  Join join = Join::kReplace;
  int data = 0, indices = 1, updates = 2;  // inputs; data -1: zeros
  std::vector<std::int64_t> targets;       // where each run of updates goes; -1: nowhere
  std::int64_t slice = 1;                  // elements of a run

  std::vector<TensorType> types() const { return {to}; }

  // The update at step `i` for that output, ascending.
  std::vector<std::int64_t> updates_for(std::int64_t index) const {
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::int64_t offset = index - targets[i];
      if (targets[i] >= 0 && offset >= 0 && offset < slice) {
        found.push_back(static_cast<std::int64_t>(i) * slice + offset);
      }
    }
    return found;
  }
  template <class T>
  T value(const Call& call, std::int64_t index, std::size_t steps) const {
    T y{};
    if (data >= 0) y = paced<T>(call, data)[static_cast<std::size_t>(index)];
    const auto found = updates_for(index);
    for (std::size_t i = 0; i < std::min(steps, found.size()); ++i) {
      y = joined(join, y, paced<T>(call, updates)[static_cast<std::size_t>(found[i])]);
    }
    return y;
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return partial(call, 0, index, kAllSteps);
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Everything{}, to.dtype, [&]<class T>() {
      return scalar_of(value<T>(call, index, static_cast<std::size_t>(steps)));
    });
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const {
    return static_cast<std::int64_t>(updates_for(index).size());
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    if (data >= 0) out.push_back({data, index});
    read_whole(call, indices, out);
    for (const std::int64_t update : updates_for(index)) out.push_back({updates, update});
    for (int i = 3; data >= 0 && i < static_cast<int>(call.inputs.size()); ++i) {
      read_whole(call, i, out);
    }
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Everything{}, to.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; data < 0 && i < y.size(); ++i) {
        call.pulse();
        y[i] = T{};
      }
      if (data >= 0) std::ranges::copy(paced<T>(call, data), y.begin());
      const auto from = paced<T>(call, updates);
      for (std::size_t i = 0; i < from.size(); ++i) {
        call.pulse();
        const std::int64_t run = static_cast<std::int64_t>(i) / slice;
        const std::int64_t target = targets[static_cast<std::size_t>(run)];
        if (target < 0) continue;
        T& place = y[static_cast<std::size_t>(target + static_cast<std::int64_t>(i) % slice)];
        place = joined(join, place, from[i]);
      }
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (data >= 0) {
      copy_whole(threads, call.in(data).bytes(), outputs[0].mutable_bytes().data());
    } else {
      fill_elements(threads, outputs[0], 0);
    }
    call.pulse = Pulse(&threads);
    visit(Everything{}, to.dtype, [&]<class T>() {
      T* const y = outputs[0].mutable_data<T>().data();
      const T* const from = call.in(updates).data<T>().data();
      if (join == Join::kReplace) return put_runs<Join::kReplace>(call.pulse, from, y);
      if (join == Join::kAdd) return put_runs<Join::kAdd>(call.pulse, from, y);
      if (join == Join::kMul) return put_runs<Join::kMul>(call.pulse, from, y);
      if (join == Join::kMax) return put_runs<Join::kMax>(call.pulse, from, y);
      put_runs<Join::kMin>(call.pulse, from, y);
    });
  }

 private:
  // One after the other: there may be several for a place.
  template <Join kJoin, class T>
  void put_runs(Pulse& pulse, const T* from, T* y) const {
    constexpr std::int64_t kPiece = 1 << 13;
    if (slice == 1) {
      for (std::size_t first = 0; first < targets.size(); first += kPiece) {
        const std::size_t end = std::min<std::size_t>(targets.size(), first + kPiece);
        pulse(2 * (end - first));
        for (std::size_t r = first; r < end; ++r) {
          if (targets[r] >= 0) y[targets[r]] = joined(kJoin, y[targets[r]], from[r]);
        }
      }
      return;
    }
    for (std::size_t r = 0; r < targets.size(); ++r, from += slice) {
      if (targets[r] < 0) continue;
      T* const place = y + targets[r];
      for (std::int64_t i = 0; i < slice; i += kPiece) {
        const std::int64_t end = std::min(slice, i + kPiece);
        pulse(end - i);
        if constexpr (kJoin == Join::kReplace) {
          std::copy(from + i, from + end, place + i);
          continue;
        }
        for (std::int64_t k = i; k < end; ++k) place[k] = joined(kJoin, place[k], from[k]);
      }
    }
  }
};

struct ScatterElements : ScatterPlan {
  static core::Result<ScatterElements> make(const Call& call) {
    ScatterElements plan;
    plan.to = call.in(0).type();
    COMMENSAL_TRY(shape_inference::check_dtype<Everything>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    COMMENSAL_TRY((shape_inference::check_dtype<Types<std::int32_t, std::int64_t>>(call, 1)));
    COMMENSAL_ASSIGN(plan.join, join_of(call));
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 0));
    const Shape &x = call.in(0).shape(), &at = call.in(1).shape();
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank()));
    bool fits = at == call.in(2).shape() && at.rank() == x.rank();
    for (int d = 0; d < x.rank() && fits; ++d) fits = d == axis || at[d] <= x[d];
    if (!fits) {
      return fail(ErrorCode::kInvalidArgument, "indices {} and updates {} do not fit data {}",
                  at.text(), call.in(2).shape().text(), x.text());
    }
    if (call.unknown.has(1)) return plan;
    plan.targets.resize(static_cast<std::size_t>(at.elements()));
    const Dims strides = strides_without(x, axis);
    const std::int64_t stride = x.elements(axis + 1, x.rank()), dim = x[axis];
    COMMENSAL_TRY(visit(Types<std::int32_t, std::int64_t>{}, call.in(1).dtype(),
                        [&]<class T>() -> core::Result<void> {
                          Odometer place(at.dims(), strides, 0);
                          std::int64_t* target = plan.targets.data();
                          for (const T entry : call.in(1).data<T>()) {
                            call.pulse();
                            const std::int64_t along = entry < 0 ? entry + dim : entry;
                            if (along < 0 || along >= dim) {
                              return outside_of(entry, dim);
                            }
                            *target++ = place.offset() + along * stride;
                            place.step();
                          }
                          return {};
                        }));
    return plan;
  }
};

struct ScatterNd : ScatterPlan {
  static core::Result<ScatterNd> make(const Call& call) {
    ScatterNd plan;
    plan.to = call.in(0).type();
    COMMENSAL_TRY(shape_inference::check_dtype<Everything>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 1));
    COMMENSAL_ASSIGN(plan.join, join_of(call));
    const Shape &x = call.in(0).shape(), &at = call.in(1).shape(), &u = call.in(2).shape();
    // Tuples of nothing would cost no memory, however many there are.
    const bool sane = at.rank() > 0 && at[at.rank() - 1] >= 1 && at[at.rank() - 1] <= x.rank();
    const int depth = sane ? static_cast<int>(at[at.rank() - 1]) : 0;
    std::vector<std::int64_t> expected;
    for (int d = 0; d < at.rank() - 1; ++d) expected.push_back(at[d]);
    for (int d = depth; d < x.rank(); ++d) expected.push_back(x[d]);
    if (!sane || !std::ranges::equal(expected, u.dims())) {
      return fail(ErrorCode::kInvalidArgument, "indices {} and updates {} do not fit data {}",
                  at.text(), u.text(), x.text());
    }
    plan.slice = x.elements(depth, x.rank());
    if (call.unknown.has(1)) return plan;
    const auto entries = paced<std::int64_t>(call, 1);
    plan.targets.reserve(static_cast<std::size_t>(at.elements(0, at.rank() - 1)));
    for (std::int64_t t = 0; t < at.elements(0, at.rank() - 1); ++t) {
      std::int64_t place = 0;
      for (int d = 0; d < depth; ++d) {
        const std::int64_t entry = entries[static_cast<std::size_t>(t * depth + d)];
        COMMENSAL_ASSIGN(const std::int64_t one, position_in(entry, x[d]));
        place = place * x[d] + one;
      }
      plan.targets.push_back(place * plan.slice);
    }
    return plan;
  }
};

// The inverse of MaxPool: X to the places I of zeros. I counts in the shape that the attributes
// give; a larger `output_shape` holds that shape at its beginning.
struct MaxUnpool : ScatterPlan {
  static constexpr std::size_t kPiece = 1 << 14;

  static core::Result<MaxUnpool> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 1));
    const Shape& x = call.in(0).shape();
    if (call.in(1).shape() != x || x.rank() < 3) {
      return fail(ErrorCode::kInvalidArgument, "input {} and indices {} must have one shape",
                  x.text(), call.in(1).shape().text());
    }
    COMMENSAL_ASSIGN(const Shape pooled, pooled_from(call));
    Shape whole = pooled;
    if (call.has(2)) {
      COMMENSAL_ASSIGN(const auto dims, shape_inference::integer_list(call, 2));
      COMMENSAL_ASSIGN(whole, Shape::of(dims));
      if (whole.rank() != x.rank() || whole[0] != x[0] || whole[1] != x[1]) {
        return fail(ErrorCode::kInvalidArgument, "output_shape {} does not fit input {}",
                    whole.text(), x.text());
      }
    }
    MaxUnpool plan;
    plan.data = -1;
    plan.updates = 0;
    plan.to = {call.in(0).dtype(), whole};
    if (call.unknown.has(1)) return plan;
    plan.targets.resize(static_cast<std::size_t>(x.elements()));
    const auto indices = call.in(1).data<std::int64_t>();
    for (std::size_t first = 0; first < indices.size(); first += kPiece) {
      const std::size_t count = std::min(kPiece, indices.size() - first);
      call.pulse(count);
      COMMENSAL_TRY(place(indices.subspan(first, count), pooled.elements(), &plan.targets[first]));
    }
    if (pooled == whole) return plan;
    for (std::int64_t& target : plan.targets) {
      call.pulse(8);
      const Dims at = shape_inference::split(pooled, target);
      bool inside = true;
      for (int d = 0; d < whole.rank(); ++d) {
        inside = inside && at[static_cast<std::size_t>(d)] < whole[d];
      }
      target = inside ? shape_inference::join(whole, at) : -1;
    }
    return plan;
  }
  // Negative ones count from the end.
  static core::Result<void> place(std::span<const std::int64_t> indices, std::int64_t elements,
                                  std::int64_t* to) {
    bool is_inside = true;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      to[i] = indices[i] < 0 ? indices[i] + elements : indices[i];
      is_inside &= static_cast<std::uint64_t>(to[i]) < static_cast<std::uint64_t>(elements);
    }
    for (std::size_t i = 0; i < indices.size() && !is_inside; ++i) {
      if (to[i] < 0 || to[i] >= elements) return outside_of(indices[i], elements);
    }
    return {};
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, to.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); i += kPiece) {
        const std::size_t count = std::min(kPiece, y.size() - i);
        call.pulse(count / 8);
        std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(i), count, T{});
      }
      const auto x = paced<T>(call, 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (targets[i] >= 0) y[static_cast<std::size_t>(targets[i])] = x[i];
      }
    });
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    ScatterPlan::reads(call, output, index, out);
    read_whole(call, 2, out);
  }
  static core::Result<Shape> pooled_from(const Call& call) {
    const Shape& x = call.in(0).shape();
    const auto rank = static_cast<std::size_t>(x.rank() - 2);
    COMMENSAL_ASSIGN(const auto kernel, call.attributes->integers_view("kernel_shape"));
    COMMENSAL_ASSIGN(const auto strides, call.attributes->integers_view("strides"));
    COMMENSAL_ASSIGN(const auto pads, call.attributes->integers_view("pads"));
    const auto fits = [](std::span<const std::int64_t> given, std::size_t size) {
      return given.empty() || given.size() == size;
    };
    if (kernel.size() != rank || !fits(strides, rank) || !fits(pads, 2 * rank)) {
      return fail(ErrorCode::kInvalidArgument,
                  "kernel_shape, strides and pads must fit {} spatial dimensions", rank);
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    Dims dims{x[0], x[1]};
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t in = x[static_cast<int>(d) + 2];
      const std::int64_t stride = strides.empty() ? 1 : strides[d];
      const std::int64_t before = pads.empty() ? 0 : pads[d];
      const std::int64_t behind = pads.empty() ? 0 : pads[d + rank];
      if (std::min({kernel[d], stride, in}) < 1 ||
          std::max({kernel[d], stride, in, before, behind}) > kMost ||
          std::min(before, behind) < 0) {
        return fail(ErrorCode::kInvalidArgument, "a kernel of {}, stride {}, pads {} and {}",
                    kernel[d], stride, before, behind);
      }
      dims[d + 2] = (in - 1) * stride + kernel[d] - before - behind;
    }
    return Shape::of(std::span<const std::int64_t>(dims).first(rank + 2));
  }
};

}  // namespace

constinit const Judge kMaxUnpool = judge_of<MaxUnpool>();
constinit const Judge kScatterElements = judge_of<ScatterElements>();
constinit const Judge kScatterNd = judge_of<ScatterNd>();

}  // namespace commensal::kernels::ref
