// SPDX-License-Identifier: Apache-2.0
// Concat and Transpose of elements of any type: copies of runs as long as they come.
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <cstring>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

/// Copies `count` elements of kSize bytes, `stride` bytes apart, side by side.
template <std::size_t kSize>
void gather(const std::uint8_t* from, std::int64_t stride, std::uint8_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, from += stride, to += kSize) {
    std::memcpy(to, from, kSize);
  }
}

using GatherFn = void (*)(const std::uint8_t*, std::int64_t, std::uint8_t*, std::int64_t);
GatherFn gather_of(std::int64_t size) {
  switch (size) {
    case 1:
      return gather<1>;
    case 2:
      return gather<2>;
    case 4:
      return gather<4>;
    default:
      return gather<8>;
  }
}

/// A transposition as rows: the output's last dimension, read `stride` elements apart.
struct TransposedRows {
  std::vector<std::int64_t> dims, strides;  // of the outer dimensions, in input elements
  std::int64_t length = 1, stride = 1;

  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t dim : dims) product *= dim;
    return product;
  }
  std::int64_t offset(std::int64_t row) const {
    std::int64_t at = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at += row % dims[d] * strides[d];
      row /= dims[d];
    }
    return at;
  }
};

core::Result<TransposedRows> rows_of(const Call& call) {
  const tensor::Shape& from = call.in(0).shape();
  const auto strides = tensor::strides_of(from);
  COMMENSAL_ASSIGN(auto order, call.attributes->integers("perm"));
  if (order.empty()) {
    for (std::int64_t d = from.rank(); d-- > 0;) order.push_back(d);
  }
  TransposedRows rows;
  for (const std::int64_t axis : order) {
    COMMENSAL_ASSIGN(const int d, tensor::normalise_axis(axis, from.rank()));
    rows.dims.push_back(from[d]);
    rows.strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  // Trailing dimensions that stay together are one.
  while (rows.dims.size() > 1) {
    const std::size_t last = rows.dims.size() - 1;
    if (rows.strides[last - 1] != rows.strides[last] * rows.dims[last]) break;
    rows.dims[last - 1] *= rows.dims[last];
    rows.strides[last - 1] = rows.strides[last];
    rows.dims.pop_back(), rows.strides.pop_back();
  }
  if (!rows.dims.empty()) {
    rows.length = rows.dims.back(), rows.stride = rows.strides.back();
    rows.dims.pop_back(), rows.strides.pop_back();
  }
  return rows;
}

}  // namespace

core::Result<void> concat(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 1));
  const tensor::Shape& shape = outputs[0].shape();
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, shape.rank()));
  const std::int64_t size = tensor::traits(outputs[0].dtype()).size;
  const std::int64_t inner = shape.elements(axis + 1, shape.rank()) * size;
  const std::int64_t row_bytes = shape[axis] * inner, rows = shape.elements(0, axis);
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  std::vector<std::int64_t> begins;  // of each input in a row
  std::int64_t begin = 0;
  for (const Tensor* input : call.inputs) {
    begins.push_back(begin);
    begin += input->shape()[axis] * inner;
  }
  const auto inputs = static_cast<std::int64_t>(call.inputs.size());
  ws.threads.run(inputs, [&](std::int64_t i) {
    const Tensor& input = call.in(static_cast<int>(i));
    const std::int64_t bytes = input.shape()[axis] * inner;
    if (bytes == 0) return;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * row_bytes + begins[static_cast<std::size_t>(i)],
                  input.bytes().data() + row * bytes, static_cast<std::size_t>(bytes));
    }
  });
  return {};
}

core::Result<void> transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const TransposedRows rows, rows_of(call));
  const std::int64_t size = tensor::traits(outputs[0].dtype()).size;
  const GatherFn gather = gather_of(size);
  const std::uint8_t* const from = call.in(0).bytes().data();
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  const std::int64_t count = rows.count();
  const std::int64_t rows_a_task = std::max<std::int64_t>(4096 / rows.length, 1);
  ws.threads.run((count + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * rows_a_task);
    for (std::int64_t row = task * rows_a_task; row < end; ++row) {
      const std::uint8_t* source = from + rows.offset(row) * size;
      std::uint8_t* const target = to + row * rows.length * size;
      if (rows.stride == 1) {
        std::memcpy(target, source, static_cast<std::size_t>(rows.length * size));
      } else {
        gather(source, rows.stride * size, target, rows.length);
      }
    }
  });
  return {};
}

}  // namespace commensal::kernels::cpu
