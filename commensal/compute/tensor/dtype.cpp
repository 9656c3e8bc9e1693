// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/tensor/dtype.hpp>

namespace commensal::tensor {
namespace {

constexpr DTypeTraits kUndefinedTraits = {DType::kUndefined, "undefined", "", "", 0};

constexpr DTypeTraits kTable[] = {
    {DType::kFloat32, "float32", "FP32", "<f4", 4},
    {DType::kUint8, "uint8", "UINT8", "|u1", 1},
    {DType::kInt8, "int8", "INT8", "|i1", 1},
    {DType::kUint16, "uint16", "UINT16", "<u2", 2},
    {DType::kInt16, "int16", "INT16", "<i2", 2},
    {DType::kInt32, "int32", "INT32", "<i4", 4},
    {DType::kInt64, "int64", "INT64", "<i8", 8},
    {DType::kString, "string", "BYTES", "", 0},
    {DType::kBool, "bool", "BOOL", "|b1", 1},
    {DType::kFloat16, "float16", "FP16", "<f2", 2},
    {DType::kFloat64, "float64", "FP64", "<f8", 8},
    {DType::kUint32, "uint32", "UINT32", "<u4", 4},
    {DType::kUint64, "uint64", "UINT64", "<u8", 8},
    {DType::kBfloat16, "bfloat16", "BF16", "", 2},
    {DType::kFloat8E4M3Fn, "float8e4m3fn", "FP8E4M3FN", "", 1},
    {DType::kFloat8E4M3FnUz, "float8e4m3fnuz", "FP8E4M3FNUZ", "", 1},
    {DType::kFloat8E5M2, "float8e5m2", "FP8E5M2", "", 1},
    {DType::kFloat8E5M2FnUz, "float8e5m2fnuz", "FP8E5M2FNUZ", "", 1},
    {DType::kUint4, "uint4", "UINT4", "", 1},
    {DType::kInt4, "int4", "INT4", "", 1},
    {DType::kFloat4E2M1, "float4e2m1", "FP4E2M1", "", 1},
    {DType::kFloat8E8M0, "float8e8m0", "FP8E8M0", "", 1},
};

}  // namespace

std::span<const DTypeTraits> all_dtypes() { return kTable; }

const DTypeTraits& traits(DType dtype) {
  for (const DTypeTraits& row : kTable) {
    if (row.dtype == dtype) return row;
  }
  return kUndefinedTraits;
}

core::Result<DType> dtype_from_onnx(int number) {
  for (const DTypeTraits& row : kTable) {
    if (row.size > 0 && static_cast<int>(row.dtype) == number) return row.dtype;
  }
  return core::fail(core::ErrorCode::kUnsupported, "ONNX element type {} is not supported", number);
}

core::Result<DType> any_dtype_from_onnx(int number) {
  if (number == static_cast<int>(DType::kString)) return DType::kString;
  return dtype_from_onnx(number);
}

core::Result<DType> dtype_from_oip(std::string_view name) {
  for (const DTypeTraits& row : kTable) {
    if (!name.empty() && row.oip == name) return row.dtype;
  }
  return core::fail(core::ErrorCode::kInvalidArgument, "unknown datatype '{}'", name);
}

}  // namespace commensal::tensor
