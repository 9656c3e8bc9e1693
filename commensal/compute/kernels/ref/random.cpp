// SPDX-License-Identifier: Apache-2.0
// Bernoulli, Multinomial, RandomNormal, RandomUniform and their Like variants. They are functions
// of the seed and the element's index alone: Philox4x32-10 with the bits of the attribute `seed`
// (binary32, +0 if absent) as key. u(n) = (word n >> 8) * 2^-24, in [0, 1).
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/ref/words.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Lane = math::ScalarLanes;

core::Result<Words> words_of(const Call& call) {
  COMMENSAL_ASSIGN(const float seed, call.attributes->real("seed", 0));
  return Words({std::bit_cast<std::uint32_t>(seed), 0});
}

// low + (high - low) * u(index)
struct Uniform {
  float low = 0, high = 1;

  static core::Result<Uniform> make(const Attributes& given) {
    Uniform made;
    COMMENSAL_ASSIGN(made.low, given.real("low", 0));
    COMMENSAL_ASSIGN(made.high, given.real("high", 1));
    return made;
  }
  float value(const Words& words, std::uint64_t index) const {
    return low + (high - low) * words.unit(index);
  }
};

// mean + scale * n, n by Marsaglia's polar method on the stream numbered like the element: pairs
// (2 u(2 j) - 1, 2 u(2 j + 1) - 1), j = 0, 1, ..., until one lies inside the unit circle. Of 64
// pairs not one does with probability 10^-43; then n = 0.
// Source: Marsaglia, Bray, "A Convenient Method for Generating Normal Variables" (1964).
struct Normal {
  static constexpr std::uint64_t kPairs = 64;
  float mean = 0, scale = 1;

  static core::Result<Normal> make(const Attributes& given) {
    Normal made;
    COMMENSAL_ASSIGN(made.mean, given.real("mean", 0));
    COMMENSAL_ASSIGN(made.scale, given.real("scale", 1));
    return made;
  }
  static float standard(const Words& words, std::uint64_t index) {
    for (std::uint64_t j = 0; j < kPairs; ++j) {
      const float a = 2 * words.unit(2 * j, index) - 1, b = 2 * words.unit(2 * j + 1, index) - 1;
      const float s = a * a + b * b;
      if (s > 0 && s < 1) return a * std::sqrt(-2 * math::log<Lane>(s) / s);
    }
    return 0;
  }
  float value(const Words& words, std::uint64_t index) const {
    return mean + scale * standard(words, index);
  }
};

// The type that attribute `dtype` names, or `usual`.
core::Result<DType> stated_dtype(const Call& call, DType usual) {
  COMMENSAL_ASSIGN(const std::int64_t dtype, call.attributes->integer("dtype", 0));
  if (dtype == 0) return usual;
  return tensor::dtype_from_onnx(static_cast<int>(dtype));
}

core::Result<void> check_output(bool known, DType dtype, std::string_view expected) {
  if (known) return {};
  return fail(ErrorCode::kUnsupported, "the output must be one of {}, not {}", expected,
              traits(dtype).name);
}

template <class Law, bool kLike>
struct DrawPlan {
  Law law;
  Words words;
  TensorType type;

  static core::Result<DrawPlan> make(const Call& call) {
    DrawPlan plan;
    COMMENSAL_ASSIGN(plan.law, Law::make(*call.attributes));
    COMMENSAL_ASSIGN(plan.words, words_of(call));
    if constexpr (kLike) {
      plan.type.shape = call.in(0).shape();
      COMMENSAL_ASSIGN(plan.type.dtype, stated_dtype(call, call.in(0).dtype()));
    } else {
      COMMENSAL_ASSIGN(const auto dims, call.attributes->integers("shape"));
      COMMENSAL_ASSIGN(plan.type.shape, Shape::of(dims));
      COMMENSAL_ASSIGN(plan.type.dtype, stated_dtype(call, DType::kFloat32));
    }
    COMMENSAL_TRY(check_output(Floats::has(plan.type.dtype), plan.type.dtype, Floats::text()));
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  template <class T>
  T value(std::int64_t index) const {
    return store<T>(law.value(words, static_cast<std::uint64_t>(index)));
  }
  Scalar element(const Call&, int, std::int64_t index) const {
    return visit(Floats{}, type.dtype, [&]<class T>() { return scalar_of(value<T>(index)); });
  }
  void reads(const Call&, int, std::int64_t, std::vector<ElementRef>&) const {}
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse(16);
        y[i] = value<T>(static_cast<std::int64_t>(i));
      }
    });
  }
};

// 1 where u(index) < x, else 0.
struct BernoulliPlan {
  Words words;
  TensorType type;
  DType from = DType::kUndefined;

  static core::Result<BernoulliPlan> make(const Call& call) {
    BernoulliPlan plan;
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_ASSIGN(plan.words, words_of(call));
    plan.type.shape = call.in(0).shape();
    plan.from = call.in(0).dtype();
    COMMENSAL_ASSIGN(plan.type.dtype, stated_dtype(call, plan.from));
    COMMENSAL_TRY(
        check_output(Everything::has(plan.type.dtype), plan.type.dtype, Everything::text()));
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  bool hit(const Call& call, std::int64_t index) const {
    const float u = words.unit(static_cast<std::uint64_t>(index));
    return visit(Floats{}, from, [&]<class T>() {
      return u < load(paced<T>(call, 0)[static_cast<std::size_t>(index)]);
    });
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    return store<T>(convert<Compute<T>>(static_cast<std::uint8_t>(hit(call, index) ? 1 : 0)));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Everything{}, type.dtype,
                 [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Everything{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse(16);
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
      }
    });
  }
};

// With m the row's maximum and c_i = c_(i-1) + exp(x_i - m) from +0 in order: the first class i
// with u(index) * c_last < c_i.
struct MultinomialPlan {
  Words words;
  TensorType type;
  std::int64_t classes = 0, samples = 1;

  static core::Result<MultinomialPlan> make(const Call& call) {
    MultinomialPlan plan;
    COMMENSAL_TRY(shape_inference::check_dtype<Floats32>(call, 0));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 2));
    COMMENSAL_ASSIGN(plan.words, words_of(call));
    COMMENSAL_ASSIGN(plan.samples, call.attributes->integer("sample_size", 1));
    plan.classes = call.in(0).shape()[1];
    if (plan.classes < 1) return fail(ErrorCode::kInvalidArgument, "there are no classes");
    COMMENSAL_ASSIGN(plan.type.shape, Shape::of(std::array{call.in(0).shape()[0], plan.samples}));
    COMMENSAL_ASSIGN(plan.type.dtype, stated_dtype(call, DType::kInt32));
    COMMENSAL_TRY(check_output(Out::has(plan.type.dtype), plan.type.dtype, Out::text()));
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  std::int64_t drawn(const Call& call, std::int64_t index) const {
    return visit(Floats32{}, call.in(0).dtype(), [&]<class T>() {
      const auto row = paced<T>(call, 0).all().subspan(
          static_cast<std::size_t>(index / samples * classes), static_cast<std::size_t>(classes));
      float highest = load(row[0]), sum = 0;
      for (const T x : row) {
        call.pulse();
        highest = math::maximum<Lane>(highest, load(x));
      }
      std::vector<float> sums;
      for (const T x : row) {
        call.pulse(4);
        sums.push_back(sum += math::exp<Lane>(load(x) - highest));
      }
      const float threshold = words.unit(static_cast<std::uint64_t>(index)) * sum;
      const auto found = std::ranges::find_if(sums, [&](float c) { return threshold < c; });
      return found == sums.end() ? classes - 1 : found - sums.begin();
    });
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Out{}, type.dtype,
                 [&]<class T>() { return scalar_of(static_cast<T>(drawn(call, index))); });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    const std::int64_t first = index / samples * classes;
    for (std::int64_t i = 0; i < classes; ++i) out.push_back({0, first + i});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Out{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = static_cast<T>(drawn(call, static_cast<std::int64_t>(i)));
      }
    });
  }

 private:
  using Out = Types<std::int32_t, std::int64_t>;
};

}  // namespace

constinit const Judge kBernoulli = judge_of<BernoulliPlan>();
constinit const Judge kMultinomial = judge_of<MultinomialPlan>();
constinit const Judge kRandomNormal = judge_of<DrawPlan<Normal, false>>();
constinit const Judge kRandomNormalLike = judge_of<DrawPlan<Normal, true>>();
constinit const Judge kRandomUniform = judge_of<DrawPlan<Uniform, false>>();
constinit const Judge kRandomUniformLike = judge_of<DrawPlan<Uniform, true>>();

}  // namespace commensal::kernels::ref
