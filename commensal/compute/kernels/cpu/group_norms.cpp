// SPDX-License-Identifier: Apache-2.0
// What is done to groups of elements by a fold of theirs: LpNormalization,
// MeanVarianceNormalization, RMSNormalization, LRN, Hardmax. All of binary32, all but LRN of 16-bit
// floats by way of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/compute/kernels/cpu/fold_pieces.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>
#include <commensal/compute/kernels/shape_inference/softmax.hpp>
#include <optional>

namespace commensal::kernels::cpu {

namespace {

using Outputs = std::span<Tensor>;
using tensor::DType;
using PerColumn = std::array<float, FoldPieces::kAcross>;

bool is_float32(const Call& call, int input) { return call.in(input).dtype() == DType::kFloat32; }

/// y = f(a, b), element by element; a step of 0: always the first of b.
class Zip {
 public:
  explicit Zip(Isa isa) : kernels_(kernels_for(isa)) {}
  void operator()(Binary what, const float* a, const float* b, int b_step, float* y,
                  std::int64_t count) const {
    kernels_.binary[static_cast<std::size_t>(what)](a, 1, b, b_step, y, count);
  }

 private:
  const CpuKernels& kernels_;
};

/// y = (x - shift) / divisor, for what the groups of a piece hold. `shift`: null for none.
void divide(Pulse& pulse, const Zip& zip, const FoldPieces& pieces, const FoldPieces::Piece& piece,
            const float* x, const float* shift, const float* divisor, float* y) {
  constexpr std::int64_t kPart = 4096;
  const int step = pieces.across() ? 1 : 0;
  const std::int64_t length = pieces.across() ? piece.count : pieces.layout().run();
  for (const std::int64_t run : pieces.layout().runs()) {
    for (std::int64_t i = 0; i < length; i += kPart) {
      const std::int64_t at = piece.base + run + i, count = std::min(kPart, length - i);
      const float* from = x + at;
      if (shift != nullptr) {
        zip(Binary::kSub, from, shift, step, y + at, count);
        from = y + at;
      }
      zip(Binary::kDiv, from, divisor, step, y + at, count);
      pulse(count);
    }
  }
}

/// What the runs of a call have in common: made once for all runs of a node. Without pieces it is
/// not served.
struct Groups {
  ref::Folding folding;
  std::optional<FoldPieces> pieces;
  std::int64_t power = 2;  // of LpNormalization

  static Groups of(const Call& call, const ref::Folding& folding, Isa isa) {
    Groups made{folding, std::nullopt};
    if (call.in(0).elements() > 0 && FoldPieces::suit(folding)) made.pieces.emplace(folding, isa);
    return made;
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sizeof *this) + (pieces ? pieces->layout().bytes() : 0);
  }
};

/// Calls fn(groups, call, outputs, ws), in binary32, where make(), a Result of Groups, has pieces.
template <class Make, class Fn>
core::Result<void> serve_groups(const Make& make, const Judge& judge, const Call& call,
                                Outputs outputs, Workspace& ws, const Fn& fn) {
  COMMENSAL_ASSIGN(const auto groups, call.memo.of(make));
  return serve(call, outputs, ws, judge,
               [&](const Call& own, Outputs made, Workspace& space) -> core::Result<bool> {
                 if (!is_float32(own, 0) || !groups->pieces) return false;
                 fn(*groups, own, made, space);
                 return true;
               });
}

void run_mean_variance(const Groups& groups, const Call& call, Outputs outputs, Workspace& ws) {
  const ref::Folding& folding = groups.folding;
  const FoldPieces& pieces = *groups.pieces;
  const Zip zip(ws.isa);
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const auto count = static_cast<float>(folding.count());
  pieces.run(ws.threads, [&](Pulse& pulse, const FoldPieces::Piece& piece) {
    PerColumn mean, deviation;
    pieces.fold(pulse, Fold::kSum, x, piece, nullptr, mean.data());
    for (std::int64_t i = 0; i < piece.count; ++i) mean[static_cast<std::size_t>(i)] /= count;
    pieces.fold(pulse, Fold::kSumOfDeviations, x, piece, mean.data(), deviation.data());
    for (std::int64_t i = 0; i < piece.count; ++i) {
      float& one = deviation[static_cast<std::size_t>(i)];
      one = std::sqrt(one / count) + 1e-9f;
    }
    divide(pulse, zip, pieces, piece, x, mean.data(), deviation.data(), y);
  });
}

}  // namespace

core::Result<void> mean_variance_normalization(const Call& call, Outputs outputs, Workspace& ws) {
  const auto parse = [&]() -> core::Result<Groups> {
    COMMENSAL_ASSIGN(const auto axes, call.attributes->integers("axes", {0, 2, 3}));
    COMMENSAL_ASSIGN(const auto folding, ref::Folding::of(call, axes, true, true));
    return Groups::of(call, folding, ws.isa);
  };
  return serve_groups(parse, ref::kMeanVarianceNormalization, call, outputs, ws, run_mean_variance);
}

namespace {
void run_lp(const Groups& groups, const Call& call, Outputs outputs, Workspace& ws) {
  const FoldPieces& pieces = *groups.pieces;
  const std::int64_t p = groups.power;
  const Zip zip(ws.isa);
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  pieces.run(ws.threads, [&](Pulse& pulse, const FoldPieces::Piece& piece) {
    PerColumn norm;
    pieces.fold(pulse, p == 2 ? Fold::kSumOfSquares : Fold::kSumOfMagnitudes, x, piece, nullptr,
                norm.data());
    for (std::int64_t i = 0; i < piece.count && p == 2; ++i) {
      float& one = norm[static_cast<std::size_t>(i)];
      one = std::sqrt(one);
    }
    divide(pulse, zip, pieces, piece, x, nullptr, norm.data(), y);
  });
}
}  // namespace

core::Result<void> lp_normalization(const Call& call, Outputs outputs, Workspace& ws) {
  const auto parse = [&]() -> core::Result<Groups> {
    COMMENSAL_ASSIGN(const std::int64_t axis, call.attributes->integer("axis", -1));
    COMMENSAL_ASSIGN(const auto folding, ref::Folding::of(call, {axis}, true, false));
    Groups made = Groups::of(call, folding, ws.isa);
    COMMENSAL_ASSIGN(made.power, call.attributes->integer("p", 2));
    return made;
  };
  return serve_groups(parse, ref::kLpNormalization, call, outputs, ws, run_lp);
}

namespace {
core::Result<bool> rms_served(const Call& call, Outputs outputs, Workspace& ws) {
  const tensor::Shape& shape = call.in(0).shape();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, shape.rank()));
  COMMENSAL_ASSIGN(const float epsilon, call.attributes->real("epsilon", 1e-5f));
  const std::int64_t length = shape.elements(axis, shape.rank());
  constexpr std::int64_t kLengthMax = 1 << 18;  // of a row that takes no pause
  const bool serves = is_float32(call, 0) && is_float32(call, 1) && outputs[0].elements() > 0 &&
                      call.in(1).elements() == length && length <= kLengthMax;
  if (!serves) return false;
  const FoldKernel& squares = fold_kernels_for(ws.isa).of(Fold::kSumOfSquares);
  const Zip zip(ws.isa);
  const float* const x = call.in(0).data<float>().data();
  const float* const scale = call.in(1).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t rows = outputs[0].elements() / length;
  const std::int64_t rows_a_task = std::max<std::int64_t>(8192 / length, 1);
  ws.threads.run(ceil_div(rows, rows_a_task), [&](std::int64_t task) {
    for (std::int64_t row = task * rows_a_task; row < std::min(rows, (task + 1) * rows_a_task);
         ++row) {
      std::array<float, FoldKernel::kLanes> lanes;
      const float* const from = x + row * length;
      float* const to = y + row * length;
      squares.row(from, length, nullptr, true, lanes.data());
      const float mean = squares.total(lanes.data()) / static_cast<float>(length);
      const float factor = 1.0f / std::sqrt(mean + epsilon);
      zip(Binary::kMul, from, &factor, 0, to, length);
      zip(Binary::kMul, to, scale, 1, to, length);
    }
  });
  return true;
}
}  // namespace

core::Result<void> rms_normalization(const Call& call, Outputs outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kRmsNormalization, rms_served);
}

namespace {

/// LRN of one stretch of pixels of an image: the squares of all its channels, one below the other
/// with zeros around them (a square is never -0, so +0 adds nothing), are summed by columns.
class LrnStretch {
 public:
  static constexpr std::int64_t kWidth = FoldPieces::kAcross;
  /// Stretches of `width` pixels, at most kWidth. It refers to `lrn`.
  LrnStretch(const shape_inference::Lrn& lrn, std::int64_t width, Isa isa)
      : lrn_(lrn),
        line_(ceil_div(width, kVector) * kVector),
        zip_(isa),
        sum_(fold_kernels_for(isa).of(Fold::kSum)),
        shifted_(kernels_for(isa).unary[static_cast<std::size_t>(Unary::kNormalise)]) {
    for (std::size_t i = 0; i < window_.size(); ++i) {
      window_[i] = static_cast<std::int64_t>(i) * line_;
    }
  }
  std::int64_t floats() const { return (lrn_.channels + lrn_.size) * line_; }

  void run(const float* x, float* y, std::int64_t count, float* scratch) const {
    std::fill_n(scratch, floats(), 0.0f);
    float* const squares = scratch + lrn_.before * line_;
    for (std::int64_t c = 0; c < lrn_.channels; ++c) {
      const float* const from = x + c * lrn_.plane;
      zip_(Binary::kMul, from, from, 1, squares + c * line_, count);
    }
    const float factor = lrn_.alpha / static_cast<float>(lrn_.size);
    PerColumn base;
    // Of few pixels, the bases of several channels at once.
    const std::int64_t at_once = kWidth / count;
    for (std::int64_t c = 0; c < lrn_.channels; c += at_once) {
      const std::int64_t some = std::min(at_once, lrn_.channels - c);
      for (std::int64_t i = 0; i < some; ++i) {
        sum_.columns(scratch + (c + i) * line_, window_.data(), lrn_.size, nullptr,
                     base.data() + i * count, count);
      }
      shifted_(base.data(), base.data(), some * count, {0, factor, lrn_.bias});
      zip_(Binary::kPow, base.data(), &lrn_.beta, 0, base.data(), some * count);
      for (std::int64_t i = 0; i < some; ++i) {
        const std::int64_t at = (c + i) * lrn_.plane;
        zip_(Binary::kDiv, x + at, base.data() + i * count, 1, y + at, count);
      }
    }
  }

 private:
  static constexpr std::int64_t kVector = 16;
  const shape_inference::Lrn& lrn_;
  std::int64_t line_;
  Zip zip_;
  const FoldKernel& sum_;
  UnaryFn shifted_;
  std::array<std::int64_t, FoldKernel::kLanes> window_;  // lines of a sum
};

}  // namespace

core::Result<void> lrn(const Call& call, Outputs outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto made, call.memo.of([&] { return shape_inference::lrn_of(call); }));
  const shape_inference::Lrn& lrn = *made;
  constexpr std::int64_t kChannelsMax = 1 << 13;  // of a stretch that takes no pause
  const bool serves = lrn.type.dtype == DType::kFloat32 && outputs[0].elements() > 0 &&
                      lrn.size <= FoldKernel::kLanes && lrn.channels <= kChannelsMax;
  if (!serves) return ref::kLrn.best()(call, outputs, ws);
  const LrnStretch stretch(lrn, std::min(LrnStretch::kWidth, lrn.plane), ws.isa);
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t stretches = ceil_div(lrn.plane, LrnStretch::kWidth);
  const std::int64_t image = lrn.channels * lrn.plane;
  return run_with_scratch(ws, outputs[0].elements() / image * stretches, stretch.floats(),
                          [&](std::int64_t i, float* scratch) {
                            const std::int64_t pixel = i % stretches * LrnStretch::kWidth;
                            const std::int64_t at = i / stretches * image + pixel;
                            stretch.run(x + at, y + at,
                                        std::min(LrnStretch::kWidth, lrn.plane - pixel), scratch);
                          });
}

namespace {
core::Result<Groups> hardmax_groups(const Call& call, Isa isa) {
  COMMENSAL_ASSIGN(const shape_inference::Softmax s, shape_inference::softmax_of(call));
  ref::Folding folding;
  const std::int64_t elements = s.type.shape.elements();
  if (elements == 0) return Groups{};
  const std::int64_t inner = s.view.inner_size, length = s.view.length;
  const std::int64_t outer = elements / (length * inner);
  folding.from = {outer, length, inner};
  folding.kept = {outer, 1, inner};
  folding.folded = {1, length, 1};
  return Groups::of(call, folding, isa);
}

void run_hardmax(const Groups& groups, const Call& call, Outputs outputs, Workspace& ws) {
  const FoldPieces& pieces = *groups.pieces;
  const std::int64_t length = groups.folding.from[1], inner = groups.folding.from[2];
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  pieces.run(ws.threads, [&](Pulse& pulse, const FoldPieces::Piece& piece) {
    std::array<std::int64_t, FoldPieces::kAcross> where;
    pieces.places(pulse, true, x, piece, where.data());
    const std::int64_t run = pieces.across() ? piece.count : length;
    for (const std::int64_t begin : pieces.layout().runs()) {
      std::fill_n(y + piece.base + begin, run, 0.0f);
      pulse(run / 8);
    }
    for (std::int64_t i = 0; i < piece.count; ++i) {
      y[piece.base + where[static_cast<std::size_t>(i)] * inner + i] = 1;
    }
  });
}
}  // namespace

core::Result<void> hardmax(const Call& call, Outputs outputs, Workspace& ws) {
  if (outputs[0].elements() == 0) return {};
  const auto parse = [&] { return hardmax_groups(call, ws.isa); };
  return serve_groups(parse, ref::kHardmax, call, outputs, ws, run_hardmax);
}

}  // namespace commensal::kernels::cpu
