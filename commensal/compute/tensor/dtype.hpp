// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <span>
#include <string_view>

namespace commensal::tensor {

/// Element types; the numbers are those of onnx.TensorProto.DataType.
enum class DType : std::uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kFloat8E4M3Fn = 17,
  kFloat8E4M3FnUz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FnUz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
};

/// Storage formats: arithmetic on them is done in binary32 (docs/numerics.md).
struct Float16 {
  std::uint16_t bits = 0;
  friend bool operator==(Float16, Float16) = default;
};
struct Bfloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(Bfloat16, Bfloat16) = default;
};

/// Formats of 8 and 4 bits: only moved, converted and quantised to (small.hpp has their numbers).
/// One element takes a byte; of those of 4 bits the high half is 0.
template <DType kFormat>
struct Small {
  std::uint8_t bits = 0;
  friend bool operator==(Small, Small) = default;
};

struct DTypeTraits {
  DType dtype;
  std::string_view name;  // ONNX and numpy: "float32"
  std::string_view oip;   // Open Inference Protocol: "FP32"; empty where none is served
  std::string_view npy;   // .npy descr: "<f4"; empty where numpy has none
  std::int64_t size;      // bytes per element; 0 for strings, which no kernel sees as bytes
};

std::span<const DTypeTraits> all_dtypes();
/// kUndefined has the name "undefined" and size 0.
const DTypeTraits& traits(DType dtype);
/// Types of numbers and bools. Error: kUnsupported, naming the type.
core::Result<DType> dtype_from_onnx(int number);
/// Strings too. Error: kUnsupported, naming the type.
core::Result<DType> any_dtype_from_onnx(int number);
/// Strings too. Error: kInvalidArgument.
core::Result<DType> dtype_from_oip(std::string_view name);

template <class T>
inline constexpr DType kDTypeOf = DType::kUndefined;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::kUint16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::kUint32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::kUint64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<Float16> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<Bfloat16> = DType::kBfloat16;
template <DType kFormat>
inline constexpr DType kDTypeOf<Small<kFormat>> = kFormat;

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`; the one switch over types.
template <class F>
auto with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f.template operator()<float>();
    case DType::kUint8:
      return f.template operator()<std::uint8_t>();
    case DType::kInt8:
      return f.template operator()<std::int8_t>();
    case DType::kUint16:
      return f.template operator()<std::uint16_t>();
    case DType::kInt16:
      return f.template operator()<std::int16_t>();
    case DType::kInt32:
      return f.template operator()<std::int32_t>();
    case DType::kInt64:
      return f.template operator()<std::int64_t>();
    case DType::kBool:
      return f.template operator()<bool>();
    case DType::kFloat16:
      return f.template operator()<Float16>();
    case DType::kFloat64:
      return f.template operator()<double>();
    case DType::kUint32:
      return f.template operator()<std::uint32_t>();
    case DType::kUint64:
      return f.template operator()<std::uint64_t>();
    case DType::kBfloat16:
      return f.template operator()<Bfloat16>();
    case DType::kFloat8E4M3Fn:
      return f.template operator()<Small<DType::kFloat8E4M3Fn>>();
    case DType::kFloat8E4M3FnUz:
      return f.template operator()<Small<DType::kFloat8E4M3FnUz>>();
    case DType::kFloat8E5M2:
      return f.template operator()<Small<DType::kFloat8E5M2>>();
    case DType::kFloat8E5M2FnUz:
      return f.template operator()<Small<DType::kFloat8E5M2FnUz>>();
    case DType::kUint4:
      return f.template operator()<Small<DType::kUint4>>();
    case DType::kInt4:
      return f.template operator()<Small<DType::kInt4>>();
    case DType::kFloat4E2M1:
      return f.template operator()<Small<DType::kFloat4E2M1>>();
    case DType::kFloat8E8M0:
      return f.template operator()<Small<DType::kFloat8E8M0>>();
    case DType::kString:
    case DType::kUndefined:
      break;
  }
  return f.template operator()<std::uint8_t>();
}

}  // namespace commensal::tensor
