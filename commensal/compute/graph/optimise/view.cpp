// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/view.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>

namespace commensal::graph::optimise {

using kernels::Call;
using tensor::Shape;
using tensor::Tensor;

namespace {

using Ints = std::vector<std::int64_t>;

Ints dims_of(const Rewriter& rewriter, ValueId id) {
  const auto dims = rewriter.type(id)->shape.dims();
  return {dims.begin(), dims.end()};
}

View whole(const Rewriter& rewriter, ValueId id) {
  View view{id, 0, dims_of(rewriter, id), {}};
  const auto strides = tensor::strides_of(rewriter.type(id)->shape);
  view.strides.assign(strides.begin(), strides.begin() + static_cast<long>(view.dims.size()));
  return view;
}

/// A node whose inputs after the first are constant, as a call; its first input has no elements.
class ConstantCall {
 public:
  ConstantCall(const Rewriter& rewriter, const Node& node)
      : first_(Tensor::view_of(*rewriter.type(node.inputs[0]),
                               {static_cast<const std::uint8_t*>(nullptr),
                                static_cast<std::size_t>(rewriter.type(node.inputs[0])->bytes())},
                               nullptr)) {
    inputs_.push_back(&first_);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      inputs_.push_back(rewriter.constant(node.inputs[i]));
      valid_ = valid_ && (node.inputs[i] == kAbsent || inputs_.back() != nullptr);
    }
    call_.opset = node.opset;
    call_.attributes = &node.attributes;
    call_.inputs = inputs_;
    call_.output_count = static_cast<int>(node.outputs.size());
  }
  ConstantCall(const ConstantCall&) = delete;
  ConstantCall& operator=(const ConstantCall&) = delete;

  /// Null where an input is not constant.
  const Call* get() const { return valid_ ? &call_ : nullptr; }

 private:
  Tensor first_;
  std::vector<const Tensor*> inputs_;
  Call call_;
  bool valid_ = true;
};

/// How an operator's output, `made`, is a view where its input is `view`.
using Follow = std::optional<View> (*)(const Rewriter&, const Node&, ValueId made, View view);

std::optional<View> follow_reshape(const Rewriter& rewriter, const Node&, ValueId made, View view) {
  return reshaped(view, dims_of(rewriter, made));
}

std::optional<View> follow_transpose(const Rewriter&, const Node& node, ValueId, View view) {
  const auto order = node.attributes.integers("perm");
  if (!order) return std::nullopt;
  Ints axes = *order;
  const auto rank = static_cast<std::int64_t>(view.dims.size());
  for (std::int64_t d = rank; order->empty() && d-- > 0;) axes.push_back(d);
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
  return transposed(view, axes);
}

std::optional<View> follow_slice(const Rewriter& rewriter, const Node& node, ValueId, View view) {
  const ConstantCall call(rewriter, node);
  if (call.get() == nullptr) return std::nullopt;
  const auto slice = kernels::shape_inference::slice_of(*call.get());
  if (!slice) return std::nullopt;
  for (std::size_t d = 0; d < view.dims.size(); ++d) {
    view.from += slice->start[d] * view.strides[d];
    view.strides[d] *= slice->step[d];
    view.dims[d] = slice->to.shape[static_cast<int>(d)];
  }
  return view;
}

std::optional<View> follow_gather(const Rewriter& rewriter, const Node& node, ValueId made,
                                  View view) {
  const ConstantCall call(rewriter, node);
  if (call.get() == nullptr) return std::nullopt;
  const auto gather = kernels::shape_inference::gather_of(*call.get());
  const auto axis = node.attributes.integer("axis", 0);
  if (!gather || !axis || gather->positions.size() != 1) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(view.dims.size());
  const auto d = static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis);
  view.from += gather->positions[0] * view.strides[d];
  view.dims[d] = 1;
  return reshaped(view, dims_of(rewriter, made));
}

std::optional<View> follow_split(const Rewriter& rewriter, const Node& node, ValueId made,
                                 View view) {
  const ConstantCall call(rewriter, node);
  if (call.get() == nullptr) return std::nullopt;
  const auto split = kernels::shape_inference::split_of(*call.get());
  if (!split) return std::nullopt;
  const auto output =
      static_cast<std::size_t>(std::ranges::find(node.outputs, made) - node.outputs.begin());
  const auto d = static_cast<std::size_t>(split->axis);
  view.from += split->starts[output] * view.strides[d];
  view.dims[d] = split->lengths[output];
  return view;
}

/// Null: the operator's output is no view of its first input.
Follow follow_of(Role role) {
  switch (role) {
    case Role::kFlatten:
    case Role::kIdentity:
    case Role::kReshape:
    case Role::kSqueeze:
    case Role::kUnsqueeze:
      return follow_reshape;
    case Role::kGather:
      return follow_gather;
    case Role::kSlice:
      return follow_slice;
    case Role::kSplit:
      return follow_split;
    case Role::kTranspose:
      return follow_transpose;
    default:
      return nullptr;
  }
}

}  // namespace

View view_of(const Rewriter& rewriter, ValueId id) {
  const auto index = rewriter.producer(id);
  if (!index) return whole(rewriter, id);
  const Node& node = rewriter.node(*index);
  const Follow follow = follow_of(node.op->role);
  if (follow == nullptr || rewriter.type(node.inputs[0]) == nullptr) return whole(rewriter, id);
  auto followed = follow(rewriter, node, id, view_of(rewriter, node.inputs[0]));
  return followed ? *std::move(followed) : whole(rewriter, id);
}

std::optional<View> reshaped(const View& view, const Ints& dims) {
  View made{view.base, view.from, dims, Ints(dims.size(), 0)};
  const std::size_t from_end = view.dims.size(), to_end = dims.size();
  std::size_t from = 0, to = 0;
  while (from < from_end || to < to_end) {
    // The least groups of dimensions with as many elements on both sides.
    const std::size_t first_from = from, first_to = to;
    std::int64_t left = from < from_end ? view.dims[from++] : 1;
    std::int64_t right = to < to_end ? dims[to++] : 1;
    while (left != right) {
      if (left < right) {
        if (from == from_end) return std::nullopt;
        left *= view.dims[from++];
      } else {
        if (to == to_end) return std::nullopt;
        right *= dims[to++];
      }
    }
    if (left == 0) return std::nullopt;
    // The group on the left must be one run of equal steps.
    std::int64_t stride = 0, size = 1;
    for (std::size_t d = from; d-- > first_from;) {
      if (view.dims[d] == 1) continue;
      if (size == 1) stride = view.strides[d];
      if (view.strides[d] != stride * size) return std::nullopt;
      size *= view.dims[d];
    }
    for (std::size_t d = to; d-- > first_to; stride *= dims[d]) made.strides[d] = stride;
  }
  return made;
}

std::optional<View> broadcast_to(const View& view, const Ints& dims) {
  if (view.dims.size() > dims.size()) return std::nullopt;
  View made{view.base, view.from, dims, Ints(dims.size(), 0)};
  const std::size_t shift = dims.size() - view.dims.size();
  for (std::size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] == 1) continue;
    if (view.dims[d] != dims[d + shift]) return std::nullopt;
    made.strides[d + shift] = view.strides[d];
  }
  return made;
}

View transposed(const View& view, const Ints& order) {
  View made{view.base, view.from, {}, {}};
  for (const std::int64_t axis : order) {
    made.dims.push_back(view.dims[static_cast<std::size_t>(axis)]);
    made.strides.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  return made;
}

}  // namespace commensal::graph::optimise
