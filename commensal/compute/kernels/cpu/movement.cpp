// SPDX-License-Identifier: Apache-2.0
// Operators that move elements of any type: copies of runs as long as they come.
#include <algorithm>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/strided.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>
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
  if (outputs[0].elements() == 0) return {};
  const auto places = static_cast<std::int64_t>(op.positions.size());
  ref::copy_along(ws.threads, op.from, op.positions,
                  outputs[0].elements() / op.from.inner_size / places, size_of(outputs[0]),
                  call.in(0).bytes().data(), outputs[0].mutable_bytes().data());
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

/// Elements of a row that lie side by side in the input too.
struct Stretch {
  std::int64_t from = 0, to = 0, count = 0;
};
/// One row of the last dimension: what lies side by side goes as one.
std::vector<Stretch> stretches_of(const Ints& places) {
  std::vector<Stretch> made;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i == 0 || places[i] != places[i - 1] + 1) {
      made.push_back({places[i], static_cast<std::int64_t>(i), 0});
    }
    ++made.back().count;
  }
  return made;
}

template <std::size_t kSize>
void copy_stretches(Pulse& pulse, const std::vector<Stretch>& stretches, const std::uint8_t* from,
                    std::uint8_t* to) {
  constexpr auto kBytes = static_cast<std::int64_t>(kSize);
  for (const Stretch& one : stretches) {
    if (one.count == 1) {
      std::memcpy(to + one.to * kBytes, from + one.from * kBytes, kSize);
    } else {
      copy(pulse, to + one.to * kBytes, from + one.from * kBytes,
           static_cast<std::size_t>(one.count) * kSize);
    }
  }
  pulse(stretches.size());
}
auto copy_stretches_of(std::int64_t size) {
  return size == 1   ? copy_stretches<1>
         : size == 2 ? copy_stretches<2>
         : size == 4 ? copy_stretches<4>
                     : copy_stretches<8>;
}

void pad_by_places(const shape_inference::Pad& op, const Tensor& input, Tensor& output,
                   Workspace& ws) {
  const tensor::Shape &from = op.from.shape, &to = op.to.shape;
  const auto places = sources_of(op);
  const auto strides = tensor::strides_of(from);
  const std::int64_t width = to[to.rank() - 1], size = size_of(output);
  const auto stretches = stretches_of(places.back());
  const auto copy_row = copy_stretches_of(size);
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
      copy_row(pulse, stretches, input.bytes().data() + at * size,
               output.mutable_bytes().data() + row * width * size);
    }
  });
}

/// Element `at` of the output is the input's at at - before, and `around` where there is none.
void put_within(const Tensor& input, const shape_inference::Dims& before, std::uint64_t around,
                Tensor& output, Workspace& ws) {
  const tensor::Shape& to = output.shape();
  StridedCopy copy = in_place(input.shape(), input.shape());
  const auto strides = tensor::strides_of(to);
  for (std::size_t d = 0; d < copy.dims.size(); ++d) {
    // What a negative pad cuts off is not copied.
    const std::int64_t begin = std::max<std::int64_t>(-before[d], 0);
    const std::int64_t after = std::max<std::int64_t>(before[d], 0);
    const std::int64_t room = std::max<std::int64_t>(to[static_cast<int>(d)] - after, 0);
    copy.dims[d] = std::clamp<std::int64_t>(copy.dims[d] - begin, 0, room);
    copy.from += begin * copy.strides[d];
    copy.to += after * strides[d];
    copy.out_strides.push_back(strides[d]);
  }
  if (copy.dims != Ints(to.dims().begin(), to.dims().end())) {
    ref::fill_elements(ws.threads, output, around);
  }
  run(copy, input, output, ws);
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
  const bool is_constant = op.mode == shape_inference::PadMode::kConstant;
  constexpr std::int64_t kListedMax = 1 << 22;  // places along a dimension
  const auto dims = op.to.shape.dims();
  const bool is_listed = std::ranges::all_of(dims, [](auto dim) { return dim <= kListedMax; });
  if (!is_constant && is_listed && !dims.empty() && op.to.shape.elements() > 0) {
    pad_by_places(op, call.in(0), outputs[0], ws);
    return {};
  }
  if (!is_constant) return ref::kPad.best()(call, outputs, ws);
  std::uint64_t around = op.value_bits;
  if (op.value_is_input) std::memcpy(&around, call.in(2).bytes().data(), call.in(2).bytes().size());
  put_within(call.in(0), op.before, around, outputs[0], ws);
  return {};
}

core::Result<void> center_crop_pad(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
  shape_inference::Dims before{};
  for (int d = 0; d < from.rank(); ++d) {
    // Of either half the smaller one comes first.
    before[static_cast<std::size_t>(d)] = (to[d] - from[d]) / 2;
  }
  put_within(call.in(0), before, 0, outputs[0], ws);
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
