// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/frame.hpp>

namespace commensal::graph {

Program::Frame::Frame(const Program& program)
    : graph_(*program.graph_), values_(graph_.values.size()), steps_(graph_.nodes.size()) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const auto constant = graph_.initialisers.find(id);
    if (constant == graph_.initialisers.end()) {
      variable_.push_back(id);
    } else {
      values_[i] = constant->second;
    }
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Node& node = graph_.nodes[i];
    Step& step = steps_[i];
    for (const ValueId id : node.inputs)
      step.inputs.push_back(id == kAbsent ? nullptr : &value(id));
    step.tensors.resize(node.inputs.size());
    step.call.opset = node.opset;
    step.call.attributes = &node.attributes;
    step.call.inputs = step.tensors;
    step.call.output_count = static_cast<int>(node.outputs.size());
    step.call.outputs = program.inferred_[i];
  }
}

void Program::Frame::clear() {
  for (const ValueId id : variable_) {
    if (!value(id).is_nothing()) value(id) = tensor::Value();
  }
  for (Step& step : steps_) step.outputs.clear();
}

Program::Frames::Lease::Lease(const Program& program) : from_(*program.frames_) {
  {
    const std::lock_guard lock(from_.mutex_);
    if (!from_.free_.empty()) {
      frame_ = std::move(from_.free_.back());
      from_.free_.pop_back();
    }
  }
  if (frame_ == nullptr) frame_ = std::make_unique<Frame>(program);
}

Program::Frames::Lease::~Lease() {
  frame_->clear();
  const std::lock_guard lock(from_.mutex_);
  from_.free_.push_back(std::move(frame_));
}

}  // namespace commensal::graph
