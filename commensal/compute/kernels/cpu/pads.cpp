// SPDX-License-Identifier: Apache-2.0
// Pad and CenterCropPad of elements of any type.
#include <algorithm>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/strided.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>
#include <cstring>
#include <optional>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

using Ints = std::vector<std::int64_t>;

/// Bytes of a task: enough to be worth a thread's while.
constexpr std::int64_t kTaskBytes = 65536;

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
  const std::int64_t width = to[to.rank() - 1], size = tensor::traits(output.dtype()).size;
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

/// Element `at` of the output is the input's at at - before, where there is one.
struct Within {
  CopyPlan copy;
  bool has_rest = false;  // elements that are not the input's

  static Within of(const tensor::Shape& from, const tensor::Shape& to,
                   const shape_inference::Dims& before) {
    StridedCopy copy = same_places(from, from);
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
    const bool has_rest = copy.dims != Ints(to.dims().begin(), to.dims().end());
    return {CopyPlan(copy), has_rest};
  }
  void run(const Tensor& input, std::uint64_t around, Tensor& output, Workspace& ws) const {
    if (has_rest) ref::fill_elements(ws.threads, output, around);
    copy.run(input, output, ws);
  }
};

/// Pads of one value are a copy; those that repeat the input list where each place comes from.
struct Padding {
  shape_inference::Pad op;
  std::optional<Within> within;

  static core::Result<Padding> of(const Call& call) {
    Padding made;
    COMMENSAL_ASSIGN(made.op, shape_inference::pad_of(call));
    if (made.op.mode == shape_inference::PadMode::kConstant)
      made.within = Within::of(made.op.from.shape, made.op.to.shape, made.op.before);
    return made;
  }
};

}  // namespace

core::Result<void> pad(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto padding, call.memo.of([&] { return Padding::of(call); }));
  const shape_inference::Pad& op = padding->op;
  if (padding->within) {
    std::uint64_t around = op.value_bits;
    if (op.value_is_input)
      std::memcpy(&around, call.in(2).bytes().data(), call.in(2).bytes().size());
    padding->within->run(call.in(0), around, outputs[0], ws);
    return {};
  }
  constexpr std::int64_t kListedMax = 1 << 22;  // places along a dimension
  const auto dims = op.to.shape.dims();
  const bool is_listed = std::ranges::all_of(dims, [](auto dim) { return dim <= kListedMax; });
  if (!is_listed || dims.empty() || op.to.shape.elements() == 0) {
    return ref::kPad.best()(call, outputs, ws);
  }
  pad_by_places(op, call.in(0), outputs[0], ws);
  return {};
}

core::Result<void> center_crop_pad(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const auto centred = [&]() -> core::Result<Within> {
    const tensor::Shape &from = call.in(0).shape(), &to = outputs[0].shape();
    shape_inference::Dims before{};
    for (int d = 0; d < from.rank(); ++d) {
      // Of either half the smaller one comes first.
      before[static_cast<std::size_t>(d)] = (to[d] - from[d]) / 2;
    }
    return Within::of(from, to, before);
  };
  COMMENSAL_ASSIGN(const auto within, call.memo.of(centred));
  within->run(call.in(0), 0, outputs[0], ws);
  return {};
}

}  // namespace commensal::kernels::cpu
