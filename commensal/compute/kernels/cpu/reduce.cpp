// SPDX-License-Identifier: Apache-2.0
// Reductions, ArgMax and ArgMin of binary32 and binary64, and of 16-bit floats by way of binary32.
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/compute/kernels/cpu/doubles.hpp>
#include <commensal/compute/kernels/cpu/fold_pieces.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <optional>

namespace commensal::kernels::cpu {

namespace {

using Outputs = std::span<Tensor>;
using tensor::DType;

/// What becomes of `count` folds.
enum class Then { kNothing, kDivide, kRoot, kLogarithm };

void finish(const CpuKernels& kernels, Then then, float folded, float* y, std::int64_t count) {
  const auto unary = [&](Unary what) {
    kernels.unary[static_cast<std::size_t>(what)](y, y, count, {});
  };
  if (then == Then::kDivide) {
    kernels.binary[static_cast<std::size_t>(Binary::kDiv)](y, 1, &folded, 0, y, count);
  } else if (then == Then::kRoot) {
    unary(Unary::kSqrt);
  } else if (then == Then::kLogarithm) {
    unary(Unary::kLog);
  }
}
void finish(const DoubleKernels& kernels, Then then, double folded, double* y, std::int64_t count) {
  if (then == Then::kDivide) {
    kernels.divide(y, folded, y, count);
  } else if (then != Then::kNothing) {
    const Unary what = then == Then::kRoot ? Unary::kSqrt : Unary::kLog;
    kernels.unary[static_cast<std::size_t>(what)](y, y, count);
  }
}

struct Reduction {
  Fold fold = Fold::kSum;
  Then then = Then::kNothing;
  int axes_since = 18;  // opset from which the axes are an input
};

/// Without pieces it is not served.
struct Folded {
  ref::Folding folding;
  std::optional<FoldPieces> pieces;

  static core::Result<Folded> of(const Call& call, std::vector<std::int64_t> axes, bool noop,
                                 Isa isa) {
    Folded made;
    COMMENSAL_ASSIGN(made.folding, ref::Folding::of(call, std::move(axes), true, noop));
    const DType dtype = call.in(0).dtype();
    const bool has_lanes = dtype == DType::kFloat32 || dtype == DType::kFloat64 || is_half(dtype);
    if (has_lanes && !made.folding.identity && call.in(0).elements() > 0 &&
        FoldPieces::suit(made.folding)) {
      made.pieces.emplace(made.folding, isa);
    }
    return made;
  }
  static core::Result<Folded> of(const Call& call, int axes_since, Isa isa) {
    COMMENSAL_ASSIGN(auto axes, shape_inference::list_from(call, "axes", 1, axes_since));
    COMMENSAL_ASSIGN(const std::int64_t noop, call.attributes->integer("noop_with_empty_axes", 0));
    return of(call, std::move(axes), noop != 0, isa);
  }
  std::int64_t bytes() const {
    return pieces ? sizeof(*this) + pieces->layout().bytes() : sizeof(*this);
  }
};

/// Calls fn(folded, call, outputs, ws), 16-bit floats having become binary32. `folded` is of the
/// call as it came: one that has become a call on binary32 is another one in each run.
template <class Fn>
core::Result<void> serve_folded(const Folded& folded, const Judge& judge, const Call& call,
                                Outputs outputs, Workspace& ws, const Fn& fn) {
  if (!folded.pieces) return judge.best()(call, outputs, ws);
  return serve(call, outputs, ws, judge,
               [&](const Call& own, Outputs made, Workspace& space) -> core::Result<bool> {
                 fn(folded, own, made, space);
                 return true;
               });
}

template <class T, class Kernels>
void run_reduction(const Kernels& kernels, const Reduction& what, const Folded& folded,
                   const Call& call, Outputs outputs, Workspace& ws) {
  const FoldPieces& pieces = *folded.pieces;
  const auto count = static_cast<T>(folded.folding.count());
  const T* const x = call.in(0).data<T>().data();
  T* const y = outputs[0].mutable_data<T>().data();
  pieces.run(ws.threads, [&](Pulse& pulse, const FoldPieces::Piece& piece) {
    pieces.fold(pulse, what.fold, x, piece, nullptr, y + piece.output);
    finish(kernels, what.then, count, y + piece.output, piece.count);
  });
}
core::Result<void> reduce(const Reduction& what, const Judge& judge, const Call& call,
                          Outputs outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto folded,
                   call.memo.of([&] { return Folded::of(call, what.axes_since, ws.isa); }));
  const auto run = [&](const Folded& of, const Call& own, Outputs made, Workspace& space) {
    if (own.in(0).dtype() == DType::kFloat64) {
      return run_reduction<double>(double_kernels_for(space.isa), what, of, own, made, space);
    }
    run_reduction<float>(kernels_for(space.isa), what, of, own, made, space);
  };
  return serve_folded(*folded, judge, call, outputs, ws, run);
}

}  // namespace

core::Result<void> reduce_l1(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({.fold = Fold::kSumOfMagnitudes}, ref::kReduceL1, call, outputs, ws);
}
core::Result<void> reduce_l2(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({Fold::kSumOfSquares, Then::kRoot}, ref::kReduceL2, call, outputs, ws);
}
core::Result<void> reduce_log_sum(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({Fold::kSum, Then::kLogarithm}, ref::kReduceLogSum, call, outputs, ws);
}
core::Result<void> reduce_max(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({.fold = Fold::kMaximum}, ref::kReduceMax, call, outputs, ws);
}
core::Result<void> reduce_mean(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({Fold::kSum, Then::kDivide}, ref::kReduceMean, call, outputs, ws);
}
core::Result<void> reduce_min(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({.fold = Fold::kMinimum}, ref::kReduceMin, call, outputs, ws);
}
core::Result<void> reduce_sum(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({.axes_since = 13}, ref::kReduceSum, call, outputs, ws);
}
core::Result<void> reduce_sum_square(const Call& call, Outputs outputs, Workspace& ws) {
  return reduce({.fold = Fold::kSumOfSquares}, ref::kReduceSumSquare, call, outputs, ws);
}

namespace {

/// m + log(sum of exp(x - m)) of one piece, m the maximum, or +0 where that is infinite.
class LogSumExp {
 public:
  LogSumExp(const FoldPieces& pieces, const float* x, Isa isa)
      : pieces_(pieces),
        x_(x),
        kernels_(kernels_for(isa)),
        sum_(fold_kernels_for(isa).of(Fold::kSum)) {}

  void run(Pulse& pulse, const FoldPieces::Piece& piece, float* y, float* scratch) const {
    pieces_.fold(pulse, Fold::kMaximum, x_, piece, nullptr, y);
    for (std::int64_t i = 0; i < piece.count; ++i) y[i] = std::isinf(y[i]) ? 0.0f : y[i];
    std::array<float, FoldPieces::kAcross> sums;
    if (pieces_.across()) {
      columns(pulse, piece, y, sums.data(), scratch);
    } else {
      sums[0] = row(pulse, piece, *y);
    }
    unary(Unary::kLog, sums.data(), piece.count);
    binary(Binary::kAdd, y, sums.data(), 1, y, piece.count);
  }
  static constexpr std::int64_t kFloats = (FoldKernel::kLanes + 1) * FoldPieces::kAcross;

 private:
  void unary(Unary what, float* x, std::int64_t count) const {
    kernels_.unary[static_cast<std::size_t>(what)](x, x, count, {});
  }
  void binary(Binary what, const float* a, const float* b, int b_step, float* y,
              std::int64_t count) const {
    kernels_.binary[static_cast<std::size_t>(what)](a, 1, b, b_step, y, count);
  }
  float row(Pulse& pulse, const FoldPieces::Piece& piece, float shift) const {
    const auto& layout = pieces_.layout();
    if (layout.runs().size() == 1 && layout.run() <= FoldPieces::kRow) {
      std::array<float, FoldPieces::kRow> powers;
      binary(Binary::kSub, x_ + piece.base + layout.runs()[0], &shift, 0, powers.data(),
             layout.run());
      unary(Unary::kExp, powers.data(), layout.run());
      pulse(layout.run());
      return sum_.whole(powers.data(), layout.run(), nullptr);
    }
    std::array<float, FoldKernel::kLanes> lanes;
    bool begin = true;
    pieces_.for_row(pulse, x_ + piece.base, [&](const float* from, std::int64_t all) {
      for (std::int64_t i = 0; i < all; i += FoldPieces::kRow) {
        const std::int64_t count = std::min(FoldPieces::kRow, all - i);
        std::array<float, FoldPieces::kRow> powers;
        binary(Binary::kSub, from + i, &shift, 0, powers.data(), count);
        unary(Unary::kExp, powers.data(), count);
        sum_.row(powers.data(), count, nullptr, begin, lanes.data());
        begin = false;
      }
    });
    return sum_.total(lanes.data());
  }
  /// Position p of every column is added to lane p mod 32; then their tree.
  void columns(Pulse& pulse, const FoldPieces::Piece& piece, const float* shifts, float* sums,
               float* lanes) const {
    constexpr std::int64_t kStep = FoldPieces::kAcross;
    float* const powers = lanes + FoldKernel::kLanes * kStep;
    const auto& runs = pieces_.layout().runs();
    for (std::size_t p = 0; p < runs.size(); ++p) {
      const std::size_t lane = p % FoldKernel::kLanes;
      float* const to = p < FoldKernel::kLanes ? lanes + lane * kStep : powers;
      binary(Binary::kSub, x_ + piece.base + runs[p], shifts, 1, to, piece.count);
      unary(Unary::kExp, to, piece.count);
      if (to == powers) {
        binary(Binary::kAdd, lanes + lane * kStep, powers, 1, lanes + lane * kStep, piece.count);
      }
      pulse(piece.count);
    }
    const std::int64_t used =
        std::min<std::int64_t>(FoldKernel::kLanes, static_cast<std::int64_t>(runs.size()));
    for (std::int64_t half = FoldKernel::kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t l = 0; l < half && l + half < used; ++l) {
        binary(Binary::kAdd, lanes + l * kStep, lanes + (l + half) * kStep, 1, lanes + l * kStep,
               piece.count);
      }
    }
    constexpr float kZero = 0;
    binary(Binary::kAdd, lanes, &kZero, 0, sums, piece.count);
  }

  const FoldPieces& pieces_;
  const float* x_;
  const CpuKernels& kernels_;
  const FoldKernel& sum_;
};

/// Where the largest (smallest) is. A row is gone through twice: what it is, then where.
core::Result<void> places(bool largest, const Judge& judge, const Call& call, Outputs outputs,
                          Workspace& ws) {
  const auto parsed = [&]() -> core::Result<Folded> {
    COMMENSAL_ASSIGN(const std::int64_t axis, call.attributes->integer("axis", 0));
    COMMENSAL_ASSIGN(const std::int64_t last, call.attributes->integer("select_last_index", 0));
    COMMENSAL_ASSIGN(Folded made, Folded::of(call, {axis}, false, ws.isa));
    if (last != 0) made.pieces.reset();
    return made;
  };
  COMMENSAL_ASSIGN(const auto folded, call.memo.of(parsed));
  const auto run = [largest](const Folded& of, const Call& own, Outputs made, Workspace& space) {
    const FoldPieces& pieces = *of.pieces;
    std::int64_t* const y = made[0].mutable_data<std::int64_t>().data();
    const auto all_of = [&](const auto* x) {
      pieces.run(space.threads, [&](Pulse& pulse, const FoldPieces::Piece& piece) {
        pieces.places(pulse, largest, x, piece, y + piece.output);
      });
    };
    if (own.in(0).dtype() == DType::kFloat64) return all_of(own.in(0).data<double>().data());
    all_of(own.in(0).data<float>().data());
  };
  return serve_folded(*folded, judge, call, outputs, ws, run);
}

void run_log_sum_exp(const Folded& folded, const Call& call, Outputs outputs, Workspace& ws) {
  const FoldPieces& pieces = *folded.pieces;
  const LogSumExp op(pieces, call.in(0).data<float>().data(), ws.isa);
  float* const y = outputs[0].mutable_data<float>().data();
  pieces.run(ws.threads, [&](Pulse& pulse, const FoldPieces::Piece& piece) {
    std::vector<float> scratch(static_cast<std::size_t>(pieces.across() ? LogSumExp::kFloats : 0));
    op.run(pulse, piece, y + piece.output, scratch.data());
  });
}

}  // namespace

core::Result<void> reduce_log_sum_exp(const Call& call, Outputs outputs, Workspace& ws) {
  if (call.in(0).dtype() == DType::kFloat64) {
    COMMENSAL_ASSIGN(const bool served, log_sum_exp_doubles(call, outputs[0], ws));
    if (served) return {};
  }
  COMMENSAL_ASSIGN(const auto folded, call.memo.of([&] { return Folded::of(call, 18, ws.isa); }));
  return serve_folded(*folded, ref::kReduceLogSumExp, call, outputs, ws, run_log_sum_exp);
}

core::Result<void> arg_max(const Call& call, Outputs outputs, Workspace& ws) {
  return places(true, ref::kArgMax, call, outputs, ws);
}
core::Result<void> arg_min(const Call& call, Outputs outputs, Workspace& ws) {
  return places(false, ref::kArgMin, call, outputs, ws);
}

}  // namespace commensal::kernels::cpu
