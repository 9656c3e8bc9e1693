// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/operator.hpp>
#include <cstdint>

/// What the cpu/ back end has once per instruction set, as plain functions over plain memory. All
/// of them give the same bits on every instruction set; what computes outputs writes canonical
/// NaNs. Thread-safety: pure functions of their arguments.
namespace commensal::kernels::cpu {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A product of `rows` x `depth` by `depth` x `columns`, for at most `tile_columns` columns (half
/// as many doubles). Every output is one chain of fused multiply-adds over depth, ascending.
template <class T>
struct GemmPanelOf {
  const T* a = nullptr;  // element (r, k) at a[(r / R) * a_panel_step + k * a_step + r % R],
  std::int64_t a_panel_step = 0;  // where R is tile_rows
  std::int64_t a_step = 0;
  const T* b = nullptr;  // element (k, j) at b[k * b_step + j]; readable in whole vectors
  std::int64_t b_step = 0;
  T* c = nullptr;  // element (r, j) at c[r * c_step + j]
  std::int64_t c_step = 0;
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  int columns = 0;
  bool resume = false;  // the chains go on from c instead of +0
  bool finish = false;  // the chains end here: alpha, bias, canonical NaN
  T alpha = 1;
  const T* bias = nullptr;  // element (r, j) at bias[r * bias_row_step + j * bias_column_step],
  std::int64_t bias_row_step = 0;  // null adds +0
  int bias_column_step = 0;        // 0 or 1
};
using GemmPanel = GemmPanelOf<float>;

/// A picture with `around` on all sides, taken apart by column modulo `parts`, so that what
/// neighbouring outputs (a stride or a tile apart) read lies side by side: column x of row y is at
/// to[(x % parts * rows + y) * width + x / parts]. Row y is the picture's row y - top, column x its
/// column x - left.
struct PlaneSplit {
  const float* plane = nullptr;
  std::int64_t in_height = 0, in_width = 0;
  std::int64_t top = 0, left = 0;
  float around = 0;
  std::int64_t parts = 1, rows = 0, width = 0;
  float* to = nullptr;
};

/// `count` elements that go side by side into a row of a panel.
struct Run {
  std::int64_t from = 0;  // offset in a plane
  int to = 0;             // offset in the row
  int count = 0;
};

/// Rows of a panel from channels of a picture: row c takes every run, in ascending order, from
/// planes + c * plane_step. Reads and writes whole vectors.
struct TapRows {
  const float* planes = nullptr;
  std::int64_t plane_step = 0;
  std::int64_t channels = 0;
  const Run* runs = nullptr;
  int run_count = 0;
  float* panel = nullptr;
  std::int64_t panel_step = 0;
};

/// One plane of outputs out of few taps of one plane of inputs: tap t of output (y, x) is at
/// in[offsets[t] + y * in_step + x], readable to a whole vector beyond the last x.
struct TapPlane {
  const float* in = nullptr;
  std::int64_t in_step = 0;
  const std::int64_t* offsets = nullptr;
  int taps = 0;
  float* out = nullptr;  // row-major
  std::int64_t height = 0, width = 0;
  const float* weights = nullptr;   // of `chain`: one a tap
  float bias = 0;                   // of `chain`
  const float* divisors = nullptr;  // of `average`: one an output; null: 1
};

/// Places between the elements of a plane: output i is one chain of fused multiply-adds from +0
/// over weights[k][i] * plane[at[k][i]], k ascending, times scale[i] (null: 1). Where at is -1 a
/// step of +0 is taken instead: the sign of a zero may differ.
struct Interpolation {
  static constexpr int kNeighbours = 4;
  const float* plane = nullptr;
  const float* at[kNeighbours] = {};  // the bits of 32-bit integers
  const float* weights[kNeighbours] = {};
  const float* scale = nullptr;
  float* to = nullptr;
  std::int64_t count = 0;
};

/// Places in a picture, and the neighbours that they lie between: `rows` and `columns` with what is
/// added to all, all of it whole and exact, then each one's offset. What becomes of them is as
/// Interpolation has it: -1 and a weight of +0 for what is outside, or has no weight.
struct NeighboursOf {
  const float *rows = nullptr, *columns = nullptr;
  float row = 0, column = 0;
  const float *down = nullptr, *right = nullptr;  // the offsets
  std::int32_t height = 0, width = 0;
  float* at[Interpolation::kNeighbours] = {};
  float* weights[Interpolation::kNeighbours] = {};
  std::int64_t count = 0;
};

/// A plane of keys, and where a plane of numbers has what its taps read: tap t of output (y, x) at
/// positions[t] + row_start + y * row_step + x * column_step, modulo 2^32.
struct PlacedTaps {
  TapPlane plane;
  const std::uint32_t* positions = nullptr;
  std::uint32_t row_start = 0, row_step = 0, column_step = 0;
  std::int64_t base = 0;  // added to each place
  std::int64_t* places = nullptr;
};

/// The key of what no number is below, not even -infinity, as a float's bits.
inline constexpr float kNoKey = -0.0f;

/// What is made of the taps of an output.
struct TapKernels {
  void (*chain)(const TapPlane&) = nullptr;  // fused multiply-adds, then the bias
  /// Numbers become integers in the order of maxima (NaN on top, +0 above -0), in place.
  void (*keys)(float* x, std::int64_t count) = nullptr;
  /// The largest key's number and the place of the first that is it. Keys of kNoKey are none; of
  /// none: -infinity and -1.
  void (*placed_maximum)(const PlacedTaps&) = nullptr;
  /// The sum in 32 lanes (docs/numerics.md), tap t in lane t mod 32, over the divisor. A tap of -0
  /// is as good as none.
  void (*average)(const TapPlane&) = nullptr;
  void (*neighbours)(const NeighboursOf&) = nullptr;
  void (*interpolate)(const Interpolation&) = nullptr;
  /// Of a row of numbers, not keys; of none: -infinity.
  float (*largest)(const float* x, std::int64_t count) = nullptr;
};

/// The input transform of one channel's tile rows: element (i, j) of the tiles' inputs is at
/// parts[j % M * part_step + (M * row + i) * row_step + tile + j / M] for tile row `row`, M the
/// tile's side. Point p of tile t (row-major) goes to out[p * point_step + t].
struct WinogradInput {
  const float* parts = nullptr;
  std::int64_t part_step = 0;
  std::int64_t row_step = 0;
  std::int64_t tile_rows = 0;
  std::int64_t tiles_across = 0;
  float* out = nullptr;
  std::int64_t point_step = 0;
};

/// The output transform of one output channel's tile rows, from sums[p * point_step + t] (readable
/// to a vector beyond the last) to rows of `width` pixels, of which `height` are wanted.
struct WinogradOutput {
  const float* sums = nullptr;
  std::int64_t point_step = 0;
  std::int64_t tile_rows = 0;
  std::int64_t tiles_across = 0;
  float bias = 0;
  float* out = nullptr;
  std::int64_t height = 0, width = 0;
};

/// The filter transform of one input channel: the 3x3 filter of output channel r, at
/// from + r * row_step, becomes out[p * point_step + r] for every point p.
struct WinogradFilters {
  const float* from = nullptr;
  std::int64_t row_step = 0;
  int rows = 0;
  float* out = nullptr;
  std::int64_t point_step = 0;
};

/// The transforms of F(2x2) or F(4x4).
struct WinogradKernels {
  void (*filters)(const WinogradFilters&) = nullptr;
  void (*input)(const WinogradInput&) = nullptr;
  void (*output)(const WinogradOutput&) = nullptr;
};

/// rows x columns elements of 4 bytes, whose bits do not change: element (r, c) of `from` goes to
/// to[c * to_step + r].
struct WordMatrix {
  const float* from = nullptr;
  std::int64_t from_step = 0;
  float* to = nullptr;
  std::int64_t to_step = 0;
  std::int64_t rows = 0, columns = 0;
};

/// One row of a layer normalisation.
struct NormRow {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  std::int64_t count = 0;
  const float* scale = nullptr;
  const float* bias = nullptr;  // null: +0
  float epsilon = 0;
};
struct NormFacts {
  float mean = 0, scale = 0;
};

/// y[i] = f(x[i]); y may be x.
struct UnaryParameters {
  // Celu, Elu, LeakyRelu, Swish: alpha; Clip: low, high; HardSigmoid: alpha, beta; Normalise:
  // fma(x - first, second, third); Selu: alpha, gamma.
  float first = 0, second = 0, third = 0, fourth = 0;
};
using UnaryFn = void (*)(const float* x, float* y, std::int64_t count, const UnaryParameters&);
enum class Unary {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,
  kClip,
  kCos,
  kCosh,
  kElu,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluSteps,  // x * (erf(x / first) + 1) * 0.5
  kGeluTanh,
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLog,
  kMish,
  kNeg,
  kNormalise,
  kNormaliseTwice,  // fma((x - first) * second, third, fourth)
  kReciprocal,
  kRelu,
  kRound,  // halves to even
  kSelu,
  kSigmoid,
  kSin,
  kSinh,
  kSoftplus,
  kSqrt,
  kStore,  // x, NaN canonical
  kSwish,
  kTan,
  kTanh
};
inline constexpr std::size_t kUnaries = 40;

/// y[i] = f(a[i * a_step], b[i * b_step]); the steps are 0 or 1.
using BinaryFn = void (*)(const float* a, int a_step, const float* b, int b_step, float* y,
                          std::int64_t count);
enum class Binary { kAdd, kDiv, kMax, kMin, kMul, kPow, kSub };
inline constexpr std::size_t kBinaries = 7;

struct CpuKernels {
  int lanes = 0;         // floats in a vector
  int tile_rows = 0;     // of `gemm`
  int tile_columns = 0;  // of `gemm`
  void (*gemm)(const GemmPanel&) = nullptr;
  void (*gemm_doubles)(const GemmPanelOf<double>&) = nullptr;
  void (*split_plane)(const PlaneSplit&) = nullptr;
  void (*gather_taps)(const TapRows&) = nullptr;
  WinogradKernels winograd_2, winograd_4;
  TapKernels taps;
  /// The sum in 32 lanes (docs/numerics.md); a NaN may be any.
  float (*sum)(const float* from, std::int64_t count) = nullptr;
  void (*transpose_words)(const WordMatrix&) = nullptr;
  /// LayerNormalization (docs/numerics.md); a NaN among the facts may be any.
  NormFacts (*layer_norm)(const NormRow&) = nullptr;
  /// The facts alone.
  NormFacts (*norm_facts)(const float* x, std::int64_t count, float epsilon) = nullptr;
  /// The nine operators that write one in older models; bias is there.
  void (*layer_norm_steps)(const NormRow&) = nullptr;
  /// One row: exp(x - largest) over their sum in 32 lanes; y may be x.
  void (*softmax)(const float* x, float* y, std::int64_t count) = nullptr;
  /// One row: (x - largest) - log of that sum; y must not be x.
  void (*log_softmax)(const float* x, float* y, std::int64_t count) = nullptr;
  std::array<UnaryFn, kUnaries> unary{};     // by Unary
  std::array<BinaryFn, kBinaries> binary{};  // by Binary
};

const CpuKernels& kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
