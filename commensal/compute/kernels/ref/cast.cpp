// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike. From and to fp16, bf16 and the formats of 8 and 4 bits by way of binary32;
// from and to text as cast_text.hpp says.
#include <array>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/cast_text.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/ref/wide.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/tensor/small.hpp>

namespace commensal::kernels::ref {
namespace {

// Before opset 6 attribute 'to' is a text: the name of the type in ONNX's enumeration.
core::Result<DType> type_by_name(const Call& call) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"FLOAT", DType::kFloat32},  {"UINT8", DType::kUint8},   {"INT8", DType::kInt8},
      {"UINT16", DType::kUint16},  {"INT16", DType::kInt16},   {"INT32", DType::kInt32},
      {"INT64", DType::kInt64},    {"BOOL", DType::kBool},     {"FLOAT16", DType::kFloat16},
      {"DOUBLE", DType::kFloat64}, {"UINT32", DType::kUint32}, {"UINT64", DType::kUint64}};
  COMMENSAL_ASSIGN(const std::string asked, call.attributes->text("to", ""));
  for (const auto& [name, dtype] : kNames) {
    if (name == asked) return dtype;
  }
  return core::fail(core::ErrorCode::kUnsupported, "attribute 'to' is '{}'", asked);
}

core::Result<void> check_castable(DType dtype) {
  if (Everything::has(dtype) || tensor::is_small(dtype) || dtype == DType::kString) return {};
  return core::fail(core::ErrorCode::kUnsupported, "{} cannot be cast", traits(dtype).name);
}

// How numbers that a format of 8 or 4 bits lacks are stored in it.
struct Narrowing {
  bool saturate = true;
  tensor::PowerRounding power = tensor::PowerRounding::kUp;

  static core::Result<Narrowing> of(const Call& call) {
    using tensor::PowerRounding;
    constexpr std::pair<std::string_view, PowerRounding> kNames[] = {
        {"up", PowerRounding::kUp},
        {"down", PowerRounding::kDown},
        {"nearest", PowerRounding::kNearest}};
    Narrowing made;
    COMMENSAL_ASSIGN(made.saturate, call.attributes->integer("saturate", 1));
    COMMENSAL_ASSIGN(const std::string mode, call.attributes->text("round_mode", "up"));
    for (const auto& [name, power] : kNames) {
      made.power = power;
      if (name == mode) return made;
    }
    return core::fail(core::ErrorCode::kInvalidArgument, "attribute 'round_mode' is '{}'", mode);
  }
  template <class C>
  std::uint8_t operator()(DType to, C x) const {
    if (tensor::is_small_float(to)) {
      return tensor::small_from_float(to, static_cast<float>(x), saturate, power);
    }
    return tensor::four_bits(static_cast<std::int64_t>(convert<std::int32_t>(x)));
  }
};

// Casts from or to text: between it and the types of 8 and 4 bits there are none.
core::Result<void> check_texts(const Tensor& from, DType to) {
  const bool is_text = from.dtype() == DType::kString;
  if (is_text == (to == DType::kString)) return {};
  if (!Everything::has(is_text ? to : from.dtype())) {
    return core::fail(core::ErrorCode::kUnsupported, "{} cannot be cast to {}",
                      traits(from.dtype()).name, traits(to).name);
  }
  if (from.elements() > limits::kStringsMadeMax) {
    return core::fail(core::ErrorCode::kResourceExhausted, "{} strings, at most {} are made",
                      from.elements(), limits::kStringsMadeMax);
  }
  for (std::int64_t i = 0; is_text && i < from.elements(); ++i) {
    if (number_of(from.strings()[static_cast<std::size_t>(i)], to)) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "the text at [{}] is no {}", i,
                      traits(to).name);
  }
  return {};
}

template <bool kLike>
struct CastPlan {
  TensorType from, to;
  Narrowing narrowing;

  static core::Result<CastPlan> make(const Call& call) {
    CastPlan plan;
    COMMENSAL_TRY(check_castable(call.in(0).dtype()));
    COMMENSAL_ASSIGN(plan.narrowing, Narrowing::of(call));
    plan.from = plan.to = call.in(0).type();
    if constexpr (kLike) {
      plan.to.dtype = call.in(1).dtype();
    } else if (call.opset < 6) {
      COMMENSAL_ASSIGN(plan.to.dtype, type_by_name(call));
    } else {
      COMMENSAL_ASSIGN(const std::int64_t to, call.attributes->integer("to", 0));
      if (to == static_cast<int>(DType::kString)) {
        plan.to.dtype = DType::kString;
      } else {
        COMMENSAL_ASSIGN(plan.to.dtype, tensor::dtype_from_onnx(static_cast<int>(to)));
      }
    }
    COMMENSAL_TRY(check_castable(plan.to.dtype));
    COMMENSAL_TRY(check_texts(call.in(0), plan.to.dtype));
    return plan;
  }
  std::vector<TensorType> types() const { return {to}; }

  template <class To, class From>
  static To value(From x) {
    return store<To>(convert<Compute<To>>(load(x)));
  }
  // Calls f<To, From>().
  template <class F>
  auto with_types(F&& f) const {
    return visit(Everything{}, to.dtype, [&]<class To>() {
      return visit(Everything{}, from.dtype,
                   [&]<class From>() { return f.template operator()<To, From>(); });
    });
  }
  bool has_small() const { return tensor::is_small(from.dtype) || tensor::is_small(to.dtype); }
  template <class C>
  Scalar from_number(C x) const {
    if (tensor::is_small(to.dtype)) return {to.dtype, narrowing(to.dtype, x)};
    return visit(Everything{}, to.dtype,
                 [&]<class To>() { return scalar_of(store<To>(convert<Compute<To>>(x))); });
  }
  // Where one of the types is small.
  Scalar small_element(const Call& call, std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    if (tensor::is_small(from.dtype)) {
      const std::uint8_t bits = call.in(0).bytes()[at];
      if (from.dtype == DType::kInt4) return from_number(tensor::int4_value(bits));
      if (from.dtype == DType::kUint4) return from_number(bits);
      return from_number(tensor::small_to_float(from.dtype, bits));
    }
    return visit(Everything{}, from.dtype, [&]<class From>() {
      const Compute<From> x = load(paced<From>(call, 0)[at]);
      return Scalar{to.dtype, narrowing(to.dtype, x)};
    });
  }
  // Text has no bits that an element could have.
  Scalar element(const Call& call, int, std::int64_t index) const {
    if (to.dtype == DType::kString) return {DType::kString, 0};
    if (from.dtype == DType::kString) {
      return *number_of(call.in(0).strings()[static_cast<std::size_t>(index)], to.dtype);
    }
    if (has_small()) return small_element(call, index);
    return with_types([&]<class To, class From>() {
      return scalar_of(value<To>(paced<From>(call, 0)[static_cast<std::size_t>(index)]));
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    if (to.dtype == DType::kString) {
      outputs[0] = texts(call, call.in(0));
      return;
    }
    if (has_small() || from.dtype == DType::kString) {
      return run_elements(call, outputs[0].mutable_bytes());
    }
    with_types([&]<class To, class From>() {
      const auto x = paced<From>(call, 0);
      const auto y = outputs[0].mutable_data<To>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value<To>(x[i]);
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (to.dtype == DType::kString || has_small() || from.dtype == DType::kString) {
      return run_judged(*this, call, outputs);
    }
    constexpr std::int64_t kPiece = 1 << 14;
    with_types([&]<class To, class From>() {
      // Of bool there are no vectors.
      using Read = std::conditional_t<std::is_same_v<From, bool>, std::uint8_t, From>;
      const auto* const x = reinterpret_cast<const Read*>(call.in(0).bytes().data());
      To* const y = outputs[0].mutable_data<To>().data();
      in_pieces(call, threads, outputs[0].elements(), kPiece,
                [&](const Call&, std::int64_t begin, std::int64_t end) {
                  wide([&] { convert_all(x + begin, y + begin, end - begin); });
                });
    });
  }
  // In blocks of a fixed length, of which compilers make vectors; by way of one that is nobody's.
  template <class From, class To>
  static void convert_all(const From* x, To* y, std::int64_t count) {
    constexpr std::size_t kBlock = 64;
    std::array<To, kBlock> made;
    std::int64_t i = 0;
    for (; i + static_cast<std::int64_t>(kBlock) <= count; i += kBlock) {
      convert_block(x + i, made);
      std::memcpy(y + i, made.data(), sizeof made);
    }
    for (; i < count; ++i) y[i] = value<To>(x[i]);
  }
  template <class From, class To, std::size_t kBlock>
  static void convert_block(const From* x, std::array<To, kBlock>& made) {
    if constexpr (std::is_same_v<To, std::int64_t> && std::is_same_v<Compute<From>, float>) {
      // AVX2 has no conversion to 64 bits; what fits in 32 goes by way of them.
      int fitting = 0;
      for (std::size_t k = 0; k < kBlock; ++k) fitting += std::abs(load(x[k])) < 0x1p31f ? 1 : 0;
      if (fitting == kBlock) {
        for (std::size_t k = 0; k < kBlock; ++k) made[k] = convert<std::int32_t>(load(x[k]));
        return;
      }
    }
    for (std::size_t k = 0; k < kBlock; ++k) made[k] = value<To>(x[k]);
  }
  Tensor texts(const Call& call, const Tensor& x) const {
    if (from.dtype == DType::kString) return x;
    std::vector<std::string> made;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      call.pulse(64);
      made.push_back(text_of(x, i));
    }
    return Tensor::of_strings(to.shape, made);
  }
  void run_elements(const Call& call, std::span<std::uint8_t> out) const {
    const auto size = static_cast<std::size_t>(tensor::traits(to.dtype).size);
    for (std::size_t at = 0; at < out.size(); at += size) {
      call.pulse(16);
      const Scalar made = element(call, 0, static_cast<std::int64_t>(at / size));
      std::memcpy(out.data() + at, &made.bits, size);
    }
  }
};

}  // namespace

constinit const Judge kCast = judge_of<CastPlan<false>>();
constinit const Judge kCastLike = judge_of<CastPlan<true>>();

}  // namespace commensal::kernels::ref
