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

/// The first input to the first output, by the copy that make(), a core::Result, describes.
template <class Make>
core::Result<void> copy_by(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                           const Make& make) {
  const auto planned = [&]() -> core::Result<CopyPlan> {
    COMMENSAL_ASSIGN(const StridedCopy copy, make());
    return CopyPlan(copy);
  };
  COMMENSAL_ASSIGN(const auto plan, call.memo.of(planned));
  plan->run(call.in(0), outputs[0], ws);
  return {};
}

/// Rows of all inputs one after the other, in bytes.
struct Joined {
  std::int64_t rows = 0, row_bytes = 0;
  struct Part {
    std::int64_t begin, bytes;  // in a row
  };
  std::vector<Part> parts;

  static core::Result<Joined> of(const Call& call) {
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 1));
    const tensor::Shape& shape = call.outputs[0].shape;
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, shape.rank()));
    const std::int64_t inner = shape.elements(axis + 1, shape.rank()) * size_of(call.in(0));
    Joined made{shape.elements(0, axis), shape[axis] * inner, {}};
    std::int64_t begin = 0;
    for (const Tensor* input : call.inputs) {
      made.parts.push_back({begin, input->shape()[axis] * inner});
      begin += made.parts.back().bytes;
    }
    return made;
  }
};

}  // namespace

core::Result<void> concat(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto joined, call.memo.of([&] { return Joined::of(call); }));
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  ws.threads.run(std::ssize(joined->parts), [&](std::int64_t i) {
    const auto& [begin, bytes] = joined->parts[static_cast<std::size_t>(i)];
    if (bytes == 0) return;
    const std::uint8_t* const from = call.in(static_cast<int>(i)).bytes().data();
    Pulse pulse(&ws.threads);
    for (std::int64_t row = 0; row < joined->rows; ++row) {
      pulse();
      copy(pulse, to + row * joined->row_bytes + begin, from + row * bytes,
           static_cast<std::size_t>(bytes));
    }
  });
  return {};
}

core::Result<void> expand(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return copy_by(call, outputs, ws, [&]() -> core::Result<StridedCopy> {
    const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
    const auto strides = tensor::strides_of(from);
    StridedCopy copy;
    for (int d = 0; d < to.rank(); ++d) {
      const int own = d - (to.rank() - from.rank());
      const bool stays = own < 0 || from[own] == 1;
      copy.dims.push_back(to[d]);
      copy.strides.push_back(stays ? 0 : strides[static_cast<std::size_t>(own)]);
    }
    return copy;
  });
}

core::Result<void> gather(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto op, call.memo.of([&] { return shape_inference::gather_of(call); }));
  if (outputs[0].elements() == 0) return {};
  const auto places = static_cast<std::int64_t>(op->positions.size());
  ref::copy_along(ws.threads, op->from, op->positions,
                  outputs[0].elements() / op->from.inner_size / places, size_of(outputs[0]),
                  call.in(0).bytes().data(), outputs[0].mutable_bytes().data());
  return {};
}

namespace {

/// [N, C, H, W] as blocks: `order` of the dimensions `dims` of the input gives the output's.
StridedCopy permuted(const Ints& dims, const std::vector<int>& order) {
  Ints strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  StridedCopy copy;
  for (const int d : order) {
    copy.dims.push_back(dims[static_cast<std::size_t>(d)]);
    copy.strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  return copy;
}

}  // namespace

core::Result<void> depth_to_space(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (outputs[0].elements() == 0) return {};
  return copy_by(call, outputs, ws, [&]() -> core::Result<StridedCopy> {
    COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("blocksize", 0));
    COMMENSAL_ASSIGN(const std::string mode, call.attributes->text("mode", "DCR"));
    const tensor::Shape& s = call.in(0).shape();
    const std::int64_t channels = s[1] / (block * block);
    return mode == "DCR" ? permuted({s[0], block, block, channels, s[2], s[3]}, {0, 3, 4, 1, 5, 2})
                         : permuted({s[0], channels, block, block, s[2], s[3]}, {0, 1, 4, 2, 5, 3});
  });
}

core::Result<void> space_to_depth(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (outputs[0].elements() == 0) return {};
  return copy_by(call, outputs, ws, [&]() -> core::Result<StridedCopy> {
    COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("blocksize", 0));
    const tensor::Shape& s = call.in(0).shape();
    return permuted({s[0], s[1], s[2] / block, block, s[3] / block, block}, {0, 3, 5, 1, 2, 4});
  });
}

core::Result<void> tile(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (outputs[0].elements() == 0) return {};
  return copy_by(call, outputs, ws, [&]() -> core::Result<StridedCopy> {
    const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
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
    return copy;
  });
}

core::Result<void> trilu(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  struct Kept {
    bool upper = true;
    std::int64_t diagonal = 0;
  };
  const auto parsed = [&]() -> core::Result<Kept> {
    Kept made;
    COMMENSAL_ASSIGN(made.upper, call.attributes->integer("upper", 1));
    if (call.has(1)) {
      COMMENSAL_ASSIGN(const auto given, shape_inference::integer_list(call, 1));
      made.diagonal = given[0];
    }
    return made;
  };
  COMMENSAL_ASSIGN(const auto kept, call.memo.of(parsed));
  const bool upper = kept->upper;
  const tensor::Shape& s = outputs[0].shape();
  if (s.elements() == 0) return {};
  const std::int64_t height = s[s.rank() - 2], width = s[s.rank() - 1], size = size_of(outputs[0]);
  const std::int64_t rows = s.elements() / width;
  // What column a row's part begins at: kept from there on, or up to there.
  const std::int64_t beyond = std::clamp(kept->diagonal, -height - width, height + width);
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  const std::uint8_t* const from = call.in(0).bytes().data();
  const std::int64_t rows_a_task = std::max<std::int64_t>(kTaskBytes / (width * size), 1);
  ws.threads.run((rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    Pulse pulse(&ws.threads);
    const std::int64_t first = task * rows_a_task, last = std::min(rows, first + rows_a_task);
    std::int64_t y = first % height;
    for (std::int64_t row = first; row < last; ++row, y = y + 1 == height ? 0 : y + 1) {
      const std::int64_t edge = std::clamp<std::int64_t>(y + beyond + (upper ? 0 : 1), 0, width);
      const std::int64_t begin = upper ? edge : 0, end = upper ? width : edge;
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
  return copy_by(call, outputs, ws, [&]() -> core::Result<StridedCopy> {
    COMMENSAL_ASSIGN(const shape_inference::Slice op, shape_inference::slice_of(call));
    StridedCopy copy = same_places(op.from.shape, op.to.shape);
    for (std::size_t d = 0; d < copy.dims.size(); ++d) {
      copy.from += op.start[d] * copy.strides[d];
      copy.strides[d] *= op.step[d];
    }
    return copy;
  });
}

core::Result<void> split(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const auto planned = [&]() -> core::Result<std::vector<CopyPlan>> {
    COMMENSAL_ASSIGN(const shape_inference::Split op, shape_inference::split_of(call));
    std::vector<CopyPlan> plans;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      StridedCopy copy = same_places(op.from.shape, outputs[i].shape());
      copy.from = op.starts[i] * copy.strides[static_cast<std::size_t>(op.axis)];
      plans.emplace_back(copy);
    }
    return plans;
  };
  COMMENSAL_ASSIGN(const auto plans, call.memo.of(planned));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    (*plans)[i].run(call.in(0), outputs[i], ws);
  }
  return {};
}

core::Result<void> transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return copy_by(call, outputs, ws, [&]() -> core::Result<StridedCopy> {
    const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
    const auto strides = tensor::strides_of(from);
    COMMENSAL_ASSIGN(const auto order, call.attributes->integers("perm"));
    StridedCopy copy;
    for (int d = 0; d < to.rank(); ++d) {
      const auto at = static_cast<std::size_t>(d);
      const int own =
          order.empty() ? from.rank() - 1 - d : *tensor::normalise_axis(order[at], from.rank());
      copy.dims.push_back(to[d]);
      copy.strides.push_back(strides[static_cast<std::size_t>(own)]);
    }
    return copy;
  });
}

}  // namespace commensal::kernels::cpu
