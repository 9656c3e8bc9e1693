// SPDX-License-Identifier: Apache-2.0
// Operators that move elements of any type: copies of runs as long as they come.
#include <algorithm>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/strided.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>
#include <cstring>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

/// Bytes of a task: enough to be worth a thread's while.
constexpr std::int64_t kTaskBytes = 65536;

using Ints = std::vector<std::int64_t>;

std::int64_t size_of(const Tensor& tensor) { return tensor::traits(tensor.dtype()).size; }

/// What a copy would be where every output dimension is the input's of the same place.
StridedCopy in_place(const tensor::Shape& from, const tensor::Shape& to) {
  const auto strides = tensor::strides_of(from);
  StridedCopy copy;
  for (int d = 0; d < to.rank(); ++d) {
    copy.dims.push_back(to[d]);
    copy.strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  return copy;
}

/// All elements of these bytes; of +0 where there are none.
void fill(Tensor& to, core::ByteView element, Workspace& ws) {
  const auto bytes = to.mutable_bytes();
  const auto all = static_cast<std::int64_t>(bytes.size());
  ws.threads.run((all + kTaskBytes - 1) / kTaskBytes, [&](std::int64_t task) {
    const std::int64_t begin = task * kTaskBytes, end = std::min(all, begin + kTaskBytes);
    if (element.empty()) {
      std::memset(bytes.data() + begin, 0, static_cast<std::size_t>(end - begin));
      return;
    }
    for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(element.size())) {
      std::memcpy(bytes.data() + at, element.data(), element.size());
    }
  });
}

void run(const StridedCopy& copy, const Tensor& from, Tensor& to, Workspace& ws) {
  copy_strided(copy, size_of(to), from.bytes().data(), to.mutable_bytes().data(), ws);
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
    Pulse pulse(&ws.threads);
    for (std::int64_t row = 0; row < rows; ++row) {
      pulse();
      copy(pulse, to + row * row_bytes + begins[static_cast<std::size_t>(i)],
           input.bytes().data() + row * bytes, static_cast<std::size_t>(bytes));
    }
  });
  return {};
}

core::Result<void> expand(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
  const auto strides = tensor::strides_of(from);
  StridedCopy copy;
  for (int d = 0; d < to.rank(); ++d) {
    const int own = d - (to.rank() - from.rank());
    copy.dims.push_back(to[d]);
    copy.strides.push_back(own < 0 || from[own] == 1 ? 0 : strides[static_cast<std::size_t>(own)]);
  }
  run(copy, call.in(0), outputs[0], ws);
  return {};
}

core::Result<void> gather(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Gather op, shape_inference::gather_of(call));
  const std::int64_t run = op.from.inner_size * size_of(outputs[0]);
  if (outputs[0].elements() == 0) return {};
  const auto places = static_cast<std::int64_t>(op.positions.size());
  const std::uint8_t* const from = call.in(0).bytes().data();
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  const std::int64_t runs = outputs[0].elements() / op.from.inner_size;
  const std::int64_t runs_a_task = std::max<std::int64_t>(kTaskBytes / run, 1);
  ws.threads.run((runs + runs_a_task - 1) / runs_a_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(runs, (task + 1) * runs_a_task);
    Pulse pulse(&ws.threads);
    for (std::int64_t i = task * runs_a_task; i < end; ++i) {
      const std::int64_t along = op.positions[static_cast<std::size_t>(i % places)];
      pulse();
      copy(pulse, to + i * run, from + (i / places * op.from.length + along) * run,
           static_cast<std::size_t>(run));
    }
  });
  return {};
}

core::Result<void> pad(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Pad op, shape_inference::pad_of(call));
  const bool is_filled = op.value_is_input || call.opset >= 11;
  if (op.mode != shape_inference::PadMode::kConstant || !is_filled) {
    return ref::kPad.run(call, outputs, ws);
  }
  StridedCopy copy = in_place(op.from.shape, op.from.shape);
  const auto strides = tensor::strides_of(op.to.shape);
  for (std::size_t d = 0; d < copy.dims.size(); ++d) {
    // What a negative pad cuts off is not copied.
    const std::int64_t begin = std::max<std::int64_t>(-op.before[d], 0);
    const std::int64_t room =
        op.to.shape[static_cast<int>(d)] - std::max<std::int64_t>(op.before[d], 0);
    copy.dims[d] =
        std::clamp<std::int64_t>(copy.dims[d] - begin, 0, std::max<std::int64_t>(room, 0));
    copy.from += begin * copy.strides[d];
    copy.to += std::max<std::int64_t>(op.before[d], 0) * strides[d];
    copy.out_strides.push_back(strides[d]);
  }
  if (copy.dims != Ints(op.to.shape.dims().begin(), op.to.shape.dims().end())) {
    fill(outputs[0], op.value_is_input ? call.in(2).bytes() : core::ByteView(), ws);
  }
  run(copy, call.in(0), outputs[0], ws);
  return {};
}

core::Result<void> slice(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Slice op, shape_inference::slice_of(call));
  StridedCopy copy = in_place(op.from.shape, op.to.shape);
  for (std::size_t d = 0; d < copy.dims.size(); ++d) {
    copy.from += op.start[d] * copy.strides[d];
    copy.strides[d] *= op.step[d];
  }
  run(copy, call.in(0), outputs[0], ws);
  return {};
}

core::Result<void> split(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Split op, shape_inference::split_of(call));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    StridedCopy copy = in_place(op.from.shape, outputs[i].shape());
    copy.from = op.starts[i] * copy.strides[static_cast<std::size_t>(op.axis)];
    run(copy, call.in(0), outputs[i], ws);
  }
  return {};
}

core::Result<void> transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
  const auto strides = tensor::strides_of(from);
  COMMENSAL_ASSIGN(const auto order, call.attributes->integers("perm"));
  StridedCopy copy;
  for (int d = 0; d < to.rank(); ++d) {
    const int own = order.empty()
                        ? from.rank() - 1 - d
                        : *tensor::normalise_axis(order[static_cast<std::size_t>(d)], from.rank());
    copy.dims.push_back(to[d]);
    copy.strides.push_back(strides[static_cast<std::size_t>(own)]);
  }
  run(copy, call.in(0), outputs[0], ws);
  return {};
}

}  // namespace commensal::kernels::cpu
