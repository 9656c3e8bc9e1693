// SPDX-License-Identifier: Apache-2.0
// Operators that move elements of any type: copies of runs as long as they come.
#include <algorithm>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/strided.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
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

namespace {

/// Where each place along an output's dimension comes from in the input's; -1 for the padding.
std::vector<Ints> sources_of(const shape_inference::Pad& op) {
  using Mode = shape_inference::PadMode;
  std::vector<Ints> all;
  for (int d = 0; d < op.to.shape.rank(); ++d) {
    const std::int64_t dim = op.from.shape[d], before = op.before[static_cast<std::size_t>(d)];
    Ints& one = all.emplace_back();
    for (std::int64_t at = 0; at < op.to.shape[d]; ++at) {
      std::int64_t x = at - before;
      if (x < 0 || x >= dim) {
        x = op.mode == Mode::kEdge      ? std::clamp<std::int64_t>(x, 0, dim - 1)
            : op.mode == Mode::kReflect ? (x < 0 ? -x : 2 * (dim - 1) - x)
                                        : (x % dim + dim) % dim;
      }
      one.push_back(x);
    }
  }
  return all;
}

/// One row of the last dimension: what lies side by side goes as one.
void gather_row(Pulse& pulse, const Ints& places, std::int64_t size, const std::uint8_t* from,
                std::uint8_t* to) {
  for (std::size_t i = 0; i < places.size();) {
    std::size_t end = i + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    const std::size_t bytes = (end - i) * static_cast<std::size_t>(size);
    copy(pulse, to + i * static_cast<std::size_t>(size), from + places[i] * size, bytes);
    pulse(end - i);
    i = end;
  }
}

void pad_by_places(const shape_inference::Pad& op, const Tensor& input, Tensor& output,
                   Workspace& ws) {
  const tensor::Shape &from = op.from.shape, &to = op.to.shape;
  const auto places = sources_of(op);
  const auto strides = tensor::strides_of(from);
  const std::int64_t width = to[to.rank() - 1], size = size_of(output);
  const std::int64_t rows = to.elements() / width;
  const std::int64_t rows_a_task = std::max<std::int64_t>(kTaskBytes / (width * size), 1);
  ws.threads.run((rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    Pulse pulse(&ws.threads);
    for (std::int64_t row = task * rows_a_task; row < std::min(rows, (task + 1) * rows_a_task);
         ++row) {
      std::int64_t at = 0, rest = row;
      for (int d = to.rank() - 2; d >= 0; --d) {
        const auto k = static_cast<std::size_t>(d);
        at += places[k][static_cast<std::size_t>(rest % to[d])] * strides[k];
        rest /= to[d];
      }
      gather_row(pulse, places.back(), size, input.bytes().data() + at * size,
                 output.mutable_bytes().data() + row * width * size);
    }
  });
}

/// [N, C, H, W] as blocks: `order` of the dimensions `dims` of the input gives the output's.
void permute(const Ints& dims, const std::vector<int>& order, const Tensor& from, Tensor& to,
             Workspace& ws) {
  Ints strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  StridedCopy copy;
  for (const int d : order) {
    copy.dims.push_back(dims[static_cast<std::size_t>(d)]);
    copy.strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  run(copy, from, to, ws);
}

}  // namespace

core::Result<void> pad(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Pad op, shape_inference::pad_of(call));
  const bool is_filled = op.value_is_input || call.opset >= 11;
  const bool is_constant = op.mode == shape_inference::PadMode::kConstant;
  if (!is_constant && op.to.shape.rank() > 0 && op.to.shape.elements() > 0) {
    pad_by_places(op, call.in(0), outputs[0], ws);
    return {};
  }
  if (!is_constant || !is_filled) return ref::kPad.best()(call, outputs, ws);
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

core::Result<void> depth_to_space(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("blocksize", 0));
  COMMENSAL_ASSIGN(const std::string mode, call.attributes->text("mode", "DCR"));
  const tensor::Shape& s = call.in(0).shape();
  if (outputs[0].elements() == 0) return {};
  const std::int64_t channels = s[1] / (block * block);
  if (mode == "DCR") {
    permute({s[0], block, block, channels, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, call.in(0), outputs[0],
            ws);
  } else {
    permute({s[0], channels, block, block, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, call.in(0), outputs[0],
            ws);
  }
  return {};
}

core::Result<void> space_to_depth(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("blocksize", 0));
  const tensor::Shape& s = call.in(0).shape();
  if (outputs[0].elements() == 0) return {};
  permute({s[0], s[1], s[2] / block, block, s[3] / block, block}, {0, 3, 5, 1, 2, 4}, call.in(0),
          outputs[0], ws);
  return {};
}

core::Result<void> tile(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
  if (to.elements() == 0) return {};
  const auto strides = tensor::strides_of(from);
  StridedCopy copy;
  for (int d = 0; d < from.rank(); ++d) {
    if (to[d] != from[d]) {
      copy.dims.push_back(to[d] / from[d]);
      copy.strides.push_back(0);
    }
    copy.dims.push_back(from[d]);
    copy.strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  run(copy, call.in(0), outputs[0], ws);
  return {};
}

core::Result<void> trilu(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::int64_t upper, call.attributes->integer("upper", 1));
  std::int64_t diagonal = 0;
  if (call.has(1)) {
    COMMENSAL_ASSIGN(const auto given, shape_inference::integer_list(call, 1));
    diagonal = given[0];
  }
  const tensor::Shape& s = outputs[0].shape();
  if (s.elements() == 0) return {};
  const std::int64_t height = s[s.rank() - 2], width = s[s.rank() - 1], size = size_of(outputs[0]);
  const std::int64_t rows = s.elements() / width;
  // What column a row's part begins at: kept from there on, or up to there.
  const std::int64_t beyond = std::clamp(diagonal, -height - width, height + width);
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  const std::uint8_t* const from = call.in(0).bytes().data();
  const std::int64_t rows_a_task = std::max<std::int64_t>(kTaskBytes / (width * size), 1);
  ws.threads.run((rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    Pulse pulse(&ws.threads);
    for (std::int64_t row = task * rows_a_task; row < std::min(rows, (task + 1) * rows_a_task);
         ++row) {
      const std::int64_t edge =
          std::clamp<std::int64_t>(row % height + beyond + (upper != 0 ? 0 : 1), 0, width);
      const std::int64_t begin = upper != 0 ? edge : 0, end = upper != 0 ? width : edge;
      std::uint8_t* const line = to + row * width * size;
      std::memset(line, 0, static_cast<std::size_t>(begin * size));
      copy(pulse, line + begin * size, from + (row * width + begin) * size,
           static_cast<std::size_t>((end - begin) * size));
      std::memset(line + end * size, 0, static_cast<std::size_t>((width - end) * size));
      pulse(width);
    }
  });
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
