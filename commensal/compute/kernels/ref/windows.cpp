// SPDX-License-Identifier: Apache-2.0
// HannWindow, HammingWindow, BlackmanWindow:
//   (a0 - a1 * cos(i / n of a turn)) + a2 * cos(2 i / n of a turn),
// n being the size, or (not periodic) the size - 1; a window of one element that would make n 0 is
// 1. MelWeightMatrix: triangles over the bins of a spectrum, evenly spaced in log(1 + hertz / 700).
#include <algorithm>
#include <commensal/compute/kernels/math/turns.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/each.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Lane = math::ScalarLanes;

core::Result<DType> stated_dtype(const Call& call) {
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("output_datatype", 1));
  COMMENSAL_ASSIGN(const DType dtype, tensor::dtype_from_onnx(static_cast<int>(given)));
  if (Numbers::has(dtype)) return dtype;
  return fail(ErrorCode::kInvalidArgument, "attribute 'output_datatype' must be a number's, not {}",
              traits(dtype).name);
}

core::Result<std::int64_t> positive_integer(const Call& call, int input) {
  COMMENSAL_ASSIGN(const auto list, shape_inference::integer_list(call, input));
  if (list.size() == 1 && list[0] >= 1 && list[0] <= math::kTurnsMax) return list[0];
  return fail(ErrorCode::kInvalidArgument, "input {} must be one integer from 1 to {}", input,
              math::kTurnsMax);
}

struct Hann {
  static constexpr float kA0 = 0.5f, kA1 = 0.5f, kA2 = 0;
};
struct Hamming {
  static constexpr float kA0 = 25.0f / 46, kA1 = 21.0f / 46, kA2 = 0;
};
struct Blackman {
  static constexpr float kA0 = 0.42f, kA1 = 0.5f, kA2 = 0.08f;
};

template <class Terms>
struct Window {
  using In = Numbers;
  DType dtype = DType::kUndefined;
  std::int64_t size = 1, period = 1;

  static core::Result<Window> make(const Call& call) {
    Window op;
    COMMENSAL_ASSIGN(op.dtype, stated_dtype(call));
    COMMENSAL_ASSIGN(op.size, positive_integer(call, 0));
    COMMENSAL_ASSIGN(const std::int64_t periodic, call.attributes->integer("periodic", 1));
    op.period = periodic != 0 ? op.size : op.size - 1;
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, Shape{size}}}; }

  float at(std::int64_t i) const {
    if (period == 0) return 1;
    const float first = math::turned(i, period).cos, second = math::turned(2 * i, period).cos;
    return (Terms::kA0 - Terms::kA1 * first) + Terms::kA2 * second;
  }
  template <class T>
  Scalar value(const Call&, int, std::int64_t index) const {
    return scalar_of(store<T>(convert<Compute<T>>(at(index))));
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 0, out);
  }
};

struct MelWeights {
  using In = Numbers;
  DType dtype = DType::kUndefined;
  std::int64_t bands = 1, bins = 1;
  std::vector<std::int64_t> edges;  // bands + 2 of them; band b rises to edge b + 1

  static core::Result<MelWeights> make(const Call& call) {
    MelWeights op;
    COMMENSAL_ASSIGN(op.dtype, stated_dtype(call));
    COMMENSAL_ASSIGN(op.bands, positive_integer(call, 0));
    COMMENSAL_ASSIGN(const std::int64_t length, positive_integer(call, 1));
    COMMENSAL_ASSIGN(const std::int64_t rate, positive_integer(call, 2));
    op.bins = length / 2 + 1;
    COMMENSAL_ASSIGN(const float low, mel_of(call, 3));
    COMMENSAL_ASSIGN(const float high, mel_of(call, 4));
    COMMENSAL_TRY(Shape::of(std::array{op.bins, op.bands}));
    const float step = (high - low) / static_cast<float>(op.bands + 2);
    for (std::int64_t i = 0; i < op.bands + 2; ++i) {
      const float mel = low + static_cast<float>(i) * step;
      const float hertz = 700 * (math::exp<Lane>(mel) - 1);
      const float bin = static_cast<float>(length + 1) * hertz / static_cast<float>(rate);
      op.edges.push_back(convert<std::int64_t>(std::floor(bin)));
    }
    return op;
  }
  static core::Result<float> mel_of(const Call& call, int input) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, input));
    if (call.in(input).elements() != 1) {
      return fail(ErrorCode::kInvalidArgument, "input {} must be a scalar", input);
    }
    const float hertz = visit(Floats{}, call.in(input).dtype(), [&]<class T>() {
      return static_cast<float>(load(paced<T>(call, input)[0]));
    });
    if (hertz >= 0 && hertz <= static_cast<float>(math::kTurnsMax)) {
      return math::log<Lane>(1 + hertz / 700);
    }
    return fail(ErrorCode::kInvalidArgument, "input {} must be a frequency, not {}", input, hertz);
  }
  std::vector<TensorType> types() const { return {{dtype, Shape{bins, bands}}}; }

  float at(std::int64_t bin, std::int64_t band) const {
    const auto edge = [&](std::int64_t i) { return edges[static_cast<std::size_t>(band + i)]; };
    const std::int64_t low = edge(0), centre = edge(1), high = edge(2);
    const auto ratio = [](std::int64_t part, std::int64_t of) {
      return static_cast<float>(part) / static_cast<float>(of);
    };
    if (bin >= centre && bin < high) return ratio(high - bin, high - centre);
    if (bin == centre) return 1;
    return bin >= low && bin < centre ? ratio(bin - low, centre - low) : 0.0f;
  }
  template <class T>
  Scalar value(const Call&, int, std::int64_t index) const {
    return scalar_of(store<T>(convert<Compute<T>>(at(index / bands, index % bands))));
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    for (int i = 0; i < 5; ++i) read_whole(call, i, out);
  }
};

}  // namespace

constinit const Judge kBlackmanWindow = each<Window<Blackman>>();
constinit const Judge kHammingWindow = each<Window<Hamming>>();
constinit const Judge kHannWindow = each<Window<Hann>>();
constinit const Judge kMelWeightMatrix = each<MelWeights>();

}  // namespace commensal::kernels::ref
