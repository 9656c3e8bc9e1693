// SPDX-License-Identifier: Apache-2.0
// softmax(q k^T, scaled and masked) v in one node, whatever way the model cut the projections into
// heads: what only moves elements becomes the strides of a view.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <commensal/compute/graph/optimise/view.hpp>
#include <commensal/compute/kernels/cpu/transformer/attention_call.hpp>

namespace commensal::graph::optimise {

using kernels::cpu::AttentionCall;
using kernels::cpu::HeadsView;
using kernels::cpu::ScoreStep;
using tensor::DType;
using tensor::TensorType;

namespace {

using Ints = std::vector<std::int64_t>;

bool is_float(const Rewriter& rewriter, ValueId id) {
  const TensorType* type = rewriter.type(id);
  return type != nullptr && type->dtype == DType::kFloat32 && type->shape.elements() > 0;
}

Ints dims_of(const Rewriter& rewriter, ValueId id) {
  const auto dims = rewriter.type(id)->shape.dims();
  return {dims.begin(), dims.end()};
}

/// x * number or x / number.
struct Scaled {
  ValueId x = kAbsent;
  ScoreStep step;
};
std::optional<Scaled> scaled(const Rewriter& rewriter, ValueId id) {
  for (const auto& [role, kind] : {std::pair(Role::kMul, '*'), std::pair(Role::kDiv, '/')}) {
    const Node* node = made_by(rewriter, id, role);
    if (node == nullptr) continue;
    const auto found = with_number(rewriter, *node, kind == '*');
    if (!found || rewriter.type(found->value) == nullptr) return std::nullopt;
    if (*rewriter.type(found->value) != *rewriter.type(id)) return std::nullopt;
    return Scaled{found->value, {kind, found->number, {}}};
  }
  return std::nullopt;
}

class Matcher {
 public:
  explicit Matcher(const Rewriter& rewriter) : rewriter_(rewriter) {}

  /// The node in whose place the fused one goes, and that one; none if `last`, a MatMul, is not
  /// the end of an attention.
  struct Found {
    std::size_t index = 0;
    Node node;
  };
  std::optional<Found> match(std::size_t last);

 private:
  /// Back from the Softmax to the product q k^T, whose node this returns; `steps_` in the order in
  /// which they are done.
  const Node* scores(ValueId id);
  const Node* add(const Node& node);
  bool set_sizes(const Node& product, const Node& last);
  bool set_left(ValueId id);
  /// The matrices of a value [batch..., i, j] as the kernel wants them.
  std::optional<HeadsView> heads_of(const View& view) const;
  std::size_t set_output(std::size_t last);
  bool own(ValueId id) const { return rewriter_.only_user(id).has_value(); }

  const Rewriter& rewriter_;
  AttentionCall call_;
  Ints scores_dims_;
  std::vector<ValueId> biases_;
  ValueId q_ = kAbsent, k_ = kAbsent, v_ = kAbsent, y_ = kAbsent;
};

const Node* Matcher::add(const Node& node) {
  for (const std::size_t side : {0, 1}) {
    const ValueId other = node.inputs[1 - side];
    const auto biases = biases_.size();
    const auto steps = call_.steps.size();
    const Node* product = own(node.inputs[side]) ? scores(node.inputs[side]) : nullptr;
    if (product == nullptr) {
      biases_.resize(biases), call_.steps.resize(steps);
      continue;
    }
    if (!is_float(rewriter_, other)) return nullptr;
    auto bias = broadcast_to(view_of(rewriter_, other), dims_of(rewriter_, node.outputs[0]));
    if (bias) bias = reshaped(*bias, scores_dims_);
    const auto heads = bias ? heads_of(*bias) : std::nullopt;
    if (!heads || heads->steps[3] < 0 || heads->steps[3] > 1) return nullptr;
    call_.steps.push_back({'+', 0, *heads});
    biases_.push_back(bias->base);
    return product;
  }
  return nullptr;
}

const Node* Matcher::scores(ValueId id) {
  if (!is_float(rewriter_, id)) return nullptr;
  if (const Node* product = made_by(rewriter_, id, Role::kMatMul)) {
    scores_dims_ = dims_of(rewriter_, id);
    return scores_dims_.size() >= 2 ? product : nullptr;
  }
  if (const Node* node = made_by(rewriter_, id, Role::kReshape)) {
    return own(node->inputs[0]) ? scores(node->inputs[0]) : nullptr;
  }
  if (const auto found = scaled(rewriter_, id)) {
    const Node* product = own(found->x) ? scores(found->x) : nullptr;
    if (product != nullptr) call_.steps.push_back(found->step);
    return product;
  }
  const Node* node = made_by(rewriter_, id, Role::kAdd);
  return node == nullptr ? nullptr : add(*node);
}

/// At most two dimensions of more than 1 element before the matrices.
std::optional<HeadsView> Matcher::heads_of(const View& view) const {
  HeadsView made{view.from, {}};
  const std::size_t rank = view.dims.size();
  std::size_t place = 2;
  for (std::size_t d = rank - 2; d-- > 0;) {
    if (view.dims[d] == 1) continue;
    if (place == 0) return std::nullopt;
    made.steps[--place] = view.strides[d];
  }
  made.steps[2] = view.strides[rank - 2];
  made.steps[3] = view.strides[rank - 1];
  return made;
}

bool Matcher::set_left(ValueId id) {
  q_ = id;
  while (const auto found = own(q_) ? scaled(rewriter_, q_) : std::nullopt) {
    call_.q_steps.insert(call_.q_steps.begin(), found->step);
    q_ = found->x;
  }
  return is_float(rewriter_, q_);
}

bool Matcher::set_sizes(const Node& product, const Node& last) {
  k_ = product.inputs[1], v_ = last.inputs[1];
  if (!set_left(product.inputs[0]) || !is_float(rewriter_, k_) || !is_float(rewriter_, v_)) {
    return false;
  }
  const Ints& s = scores_dims_;
  const std::size_t rank = s.size();
  const Ints q = dims_of(rewriter_, q_), k = dims_of(rewriter_, k_), v = dims_of(rewriter_, v_);
  if (q.size() < 2 || k.size() < 2 || v.size() < 2) return false;
  call_.queries = s[rank - 2], call_.keys = s[rank - 1];
  call_.depth = q.back(), call_.columns = v.back();
  Ints outer;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (s[d] != 1) outer.push_back(s[d]);
  }
  if (outer.size() > 2) return false;
  outer.insert(outer.begin(), 2 - outer.size(), 1);
  call_.batch = outer[0], call_.heads = outer[1];
  // Each operand over all heads, [.., i, j].
  const auto over = [&](ValueId& id, std::int64_t i, std::int64_t j) -> std::optional<HeadsView> {
    Ints dims(s.begin(), s.end() - 2);
    dims.push_back(i), dims.push_back(j);
    const auto view = broadcast_to(view_of(rewriter_, id), dims);
    if (!view || !is_float(rewriter_, view->base)) return std::nullopt;
    id = view->base;
    return heads_of(*view);
  };
  const auto left = over(q_, call_.queries, call_.depth);
  auto right = over(k_, call_.depth, call_.keys);
  const auto values = over(v_, call_.keys, call_.columns);
  if (!left || !right || !values) return false;
  std::swap(right->steps[2], right->steps[3]);
  call_.q = *left, call_.k = *right, call_.v = *values;
  return true;
}

/// The heads come together again behind the last product: a Transpose decides where they are
/// written, a Reshape only the output's dimensions. Returns the last node of these.
std::size_t Matcher::set_output(std::size_t last) {
  y_ = rewriter_.node(last).outputs[0];
  const Ints dims = dims_of(rewriter_, y_);
  View view{y_, 0, dims, {}};
  const auto strides = tensor::strides_of(rewriter_.type(y_)->shape);
  view.strides.assign(strides.begin(), strides.begin() + static_cast<long>(dims.size()));
  const auto next = [&](Role role) -> std::optional<std::size_t> {
    const auto user = rewriter_.only_user(y_);
    const bool follows = user && is(rewriter_.node(*user), role) &&
                         rewriter_.node(*user).inputs[0] == y_ &&
                         rewriter_.type(rewriter_.node(*user).outputs[0]) != nullptr;
    return follows ? user : std::nullopt;
  };
  if (const auto user = next(Role::kTranspose)) {
    const auto order = rewriter_.node(*user).attributes.integers("perm");
    if (order && order->size() == dims.size() && (*order).back() + 1 == std::ssize(dims)) {
      y_ = rewriter_.node(*user).outputs[0], last = *user;
      const auto turned = tensor::strides_of(rewriter_.type(y_)->shape);
      for (std::size_t d = 0; d < dims.size(); ++d) {
        view.strides[static_cast<std::size_t>((*order)[d])] = turned[d];
      }
    }
  }
  if (const auto user = next(Role::kReshape)) y_ = rewriter_.node(*user).outputs[0], last = *user;
  call_.y = *heads_of(view);
  call_.shape = rewriter_.type(y_)->shape;
  return last;
}

std::optional<Matcher::Found> Matcher::match(std::size_t last) {
  const Node& node = rewriter_.node(last);
  if (!is(node, Role::kMatMul) || !is_float(rewriter_, node.outputs[0])) return std::nullopt;
  const Node* softmax = made_by(rewriter_, node.inputs[0], Role::kSoftmax);
  if (softmax == nullptr || !own(node.inputs[0]) || !own(softmax->inputs[0])) return std::nullopt;
  const auto axis = softmax->attributes.integer("axis", softmax->opset < 13 ? 1 : -1);
  const Node* product = axis ? scores(softmax->inputs[0]) : nullptr;
  if (product == nullptr) return std::nullopt;
  const Ints dims = dims_of(rewriter_, softmax->outputs[0]);
  const std::int64_t rank = std::ssize(dims);
  // The same rows, so that Softmax and the second product see the scores as the first one made
  // them.
  if (dims != scores_dims_ || (*axis != -1 && *axis != rank - 1)) return std::nullopt;
  if (!set_sizes(*product, node)) return std::nullopt;
  Ints made = scores_dims_;
  made.back() = call_.columns;
  if (dims_of(rewriter_, node.outputs[0]) != made) return std::nullopt;
  const std::size_t index = set_output(last);
  std::vector<ValueId> inputs = {q_, k_, v_};
  inputs.insert(inputs.end(), biases_.begin(), biases_.end());
  Node fused = internal_node(Role::kFusedAttention, node, std::move(inputs), call_.attributes());
  fused.outputs = {y_};
  return Found{index, std::move(fused)};
}

}  // namespace

void fuse_attention(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    auto found = Matcher(rewriter).match(i);
    if (found) rewriter.replace(found->index, std::move(found->node));
  }
}

}  // namespace commensal::graph::optimise
