// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike. From and to fp16 and bf16 by way of binary32.
#include <commensal/compute/kernels/infer/checks.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>

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

template <bool kLike>
struct CastPlan {
  TensorType from, to;

  static core::Result<CastPlan> make(const Call& call) {
    COMMENSAL_TRY(infer::check_dtype<Everything>(call, 0));
    CastPlan plan;
    plan.from = plan.to = call.in(0).type();
    if constexpr (kLike) {
      plan.to.dtype = call.in(1).dtype();
    } else if (call.opset < 6) {
      COMMENSAL_ASSIGN(plan.to.dtype, type_by_name(call));
    } else {
      COMMENSAL_ASSIGN(const std::int64_t to, call.attributes->integer("to", 0));
      COMMENSAL_ASSIGN(plan.to.dtype, tensor::dtype_from_onnx(static_cast<int>(to)));
    }
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
  Scalar element(const Call& call, int, std::int64_t index) const {
    return with_types([&]<class To, class From>() {
      return scalar_of(value<To>(call.in(0).data<From>()[static_cast<std::size_t>(index)]));
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    with_types([&]<class To, class From>() {
      const auto x = call.in(0).data<From>();
      const auto y = outputs[0].mutable_data<To>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value<To>(x[i]);
    });
  }
};

}  // namespace

Columns cast() { return columns_of<CastPlan<false>>(); }
Columns cast_like() { return columns_of<CastPlan<true>>(); }

}  // namespace commensal::kernels::ref
