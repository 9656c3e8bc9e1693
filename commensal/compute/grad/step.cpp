// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/step.hpp>
#include <commensal/compute/grad/way.hpp>

namespace commensal::grad {

Value Step::y_or_more(std::size_t i, const tensor::TensorType& type) {
  if (has_y(i)) return y(i);
  graph::Node& node = maker_.graph().nodes[node_];
  if (i < node.outputs.size()) {
    node.outputs[i] = maker_.fresh("grad_more", type);
    return y(i);
  }
  while (node.outputs.size() < i) node.outputs.push_back(kAbsent);
  Value made = maker_.more_output(node, type);
  way_.active.resize(maker_.graph().values.size());
  return made;
}

bool Step::has_dy(std::size_t i) const {
  if (!has_y(i)) return false;
  const auto id = static_cast<std::size_t>(node().outputs[i]);
  return id < way_.gradients.size() && way_.gradients[id] != kAbsent;
}

Value Step::dy(std::size_t i) {
  if (!has_dy(i)) return filled(maker_, 0, y(i).type());
  return maker_.value(way_.gradients[static_cast<std::size_t>(node().outputs[i])]);
}

bool Step::wants(std::size_t i) const {
  return has(i) && way_.active[static_cast<std::size_t>(node().inputs[i])];
}

void Step::give(std::size_t i, Value gradient) {
  if (!wants(i)) return;
  const tensor::TensorType type = x(i).type();
  gradient = sum_to(gradient, x(i).dims());
  if (maker_.state() && gradient.type() != type) {
    return maker_.fail(
        {core::ErrorCode::kInternal, fmt::format("the gradient of input {} is {}, expected {}", i,
                                                 gradient.type().text(), type.text())});
  }
  const auto id = static_cast<std::size_t>(node().inputs[i]);
  ValueId& so_far = way_.gradients[id];
  // In the order in which the way back comes by: the last user of a value first.
  so_far = so_far == kAbsent ? gradient.id : (maker_.value(so_far) + gradient).id;
}

void Step::through(const std::function<std::vector<Value>(const std::vector<Value>&)>& write) {
  std::vector<Value> all;
  std::vector<ValueId> own(inputs(), kAbsent), xs;
  for (std::size_t i = 0; i < inputs(); ++i) {
    all.push_back(has(i) ? x(i) : Value());
    if (!wants(i)) continue;
    all[i] = apply("Identity", x(i));  // the same value may be two inputs
    own[i] = all[i].id;
    xs.push_back(own[i]);
  }
  const std::size_t first = maker_.graph().nodes.size();
  const std::vector<Value> made = write(all);
  std::vector<Seed> seeds;
  for (std::size_t o = 0; o < std::min(made.size(), outputs()); ++o) {
    if (made[o].maker != nullptr && has_dy(o)) seeds.push_back({made[o].id, dy(o).id});
  }
  if (!maker_.state()) return;
  const auto gradients = add_gradients(maker_, seeds, xs, first);
  if (!gradients) return maker_.fail(gradients.error());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs(); ++i) {
    if (own[i] == kAbsent) continue;
    const ValueId gradient = (*gradients)[next++];
    if (gradient != kAbsent) give(i, maker_.value(gradient));
  }
}

std::int64_t Step::integer(std::string_view name, std::int64_t fallback) {
  return value_or(attributes().integer(name, fallback));
}
double Step::real(std::string_view name, float fallback) {
  return static_cast<double>(value_or(attributes().real(name, fallback)));
}
Dims Step::integers(std::string_view name) { return value_or(attributes().integers(name)); }
std::string Step::text(std::string_view name, std::string_view fallback) {
  return value_or(attributes().text(name, fallback));
}

void Step::fill_call(kernels::Call& call, std::vector<tensor::Tensor>& kept,
                     std::vector<const tensor::Tensor*>& all) {
  for (std::size_t i = 0; i < inputs(); ++i) {
    if (!has(i)) continue;
    all[i] = maker_.constant(node().inputs[i]);
    if (all[i] != nullptr) continue;
    kept[i] = maker_.zeros_of(x(i).type());
    all[i] = &kept[i];
    call.unknown.bits |= kernels::Places::bit(i);
  }
  call.opset = opset();
  call.attributes = &attributes();
  call.inputs = all;
  call.output_count = static_cast<int>(outputs());
}

void Step::refuse(std::string what) {
  maker_.fail({core::ErrorCode::kUnsupported, std::move(what)});
}

}  // namespace commensal::grad
