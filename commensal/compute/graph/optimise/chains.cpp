// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of binary32 that follow each other, of one shape, in one node: steps of
// training are full of them. What is not of that shape is one number.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <commensal/compute/kernels/cpu/chain.hpp>
#include <limits>
#include <map>
#include <set>

namespace commensal::graph::optimise {

namespace {

namespace cpu = kernels::cpu;
using tensor::TensorType;

/// What a node is as a step.
struct StepNode {
  std::int64_t what = 0;
  std::vector<ValueId> operands;
  std::optional<std::size_t> greater;  // the node that is part of it
};

class Chains {
 public:
  explicit Chains(Rewriter& rewriter)
      : rewriter_(rewriter),
        steps_(rewriter.size()),
        group_of_(rewriter.size(), kAlone),
        users_(rewriter.graph().values.size()) {
    for (std::size_t i = 0; i < rewriter.size(); ++i) {
      const Node& node = rewriter.node(i);
      const auto use = [&](ValueId id) {
        if (id != kAbsent) users_[static_cast<std::size_t>(id)].push_back(i);
      };
      for (const ValueId id : node.inputs) use(id);
      for (const Subgraph& subgraph : node.subgraphs) {
        for (const ValueId id : subgraph.captures) use(id);
      }
    }
  }

  void fuse() {
    for (std::size_t i = 0; i < rewriter_.size(); ++i) {
      steps_[i] = step_of(i);
      if (steps_[i]) join(i);
    }
    emit();
  }

 private:
  static constexpr std::size_t kAlone = std::numeric_limits<std::size_t>::max();
  /// Nodes, those of `greater` too, in order.
  using Group = std::set<std::size_t>;

  std::optional<StepNode> step_of(std::size_t index) const {
    const Node& node = rewriter_.node(index);
    if (node.outputs.size() != 1 || node.op->is_internal()) return std::nullopt;
    StepNode made;
    if (cpu::is_chain_where(*node.op)) {
      const auto greater = rewriter_.producer(node.inputs[0]);
      if (!greater || !cpu::is_chain_greater(*rewriter_.node(*greater).op) ||
          rewriter_.only_user(node.inputs[0]) != index || group_of_[*greater] != kAlone) {
        return std::nullopt;
      }
      made = {cpu::chain_select(), rewriter_.node(*greater).inputs, greater};
      made.operands.insert(made.operands.end(), node.inputs.begin() + 1, node.inputs.end());
    } else if (const auto what = cpu::chain_step_of(*node.op)) {
      made = {*what, node.inputs, {}};
    } else {
      return std::nullopt;
    }
    return fits(made, node.outputs[0]) ? std::optional(made) : std::nullopt;
  }

  bool fits(const StepNode& step, ValueId output) const {
    const TensorType* const made = rewriter_.type(output);
    if (made == nullptr || made->dtype != tensor::DType::kFloat32) return false;
    if (made->shape.elements() < cpu::kChainElementsMin) return false;
    bool any = false;
    for (const ValueId id : step.operands) {
      const TensorType* const type = rewriter_.type(id);
      if (type == nullptr || type->dtype != made->dtype) return false;
      if (*type != *made && type->shape.elements() != 1) return false;
      any = any || *type == *made;
    }
    return any;
  }

  /// Whether they may run where the last of them is: nobody else needs what they make before.
  bool may_be_one(const Group& group) const {
    std::size_t steps = 0, outputs = 0;
    std::set<ValueId> inputs;
    for (const std::size_t i : group) {
      if (!steps_[i]) continue;
      ++steps;
      for (const ValueId id : steps_[i]->operands) {
        const auto from = rewriter_.producer(id);
        if (!from || !group.contains(*from)) inputs.insert(id);
      }
      const ValueId made = rewriter_.node(i).outputs[0];
      bool escapes = rewriter_.is_output(made);
      for (const std::size_t user : users_[static_cast<std::size_t>(made)]) {
        if (group.contains(user)) continue;
        if (user < *group.rbegin()) return false;
        escapes = true;
      }
      outputs += escapes ? 1 : 0;
    }
    return steps <= cpu::kChainStepsMax && inputs.size() <= cpu::kChainInputsMax &&
           outputs <= cpu::kChainOutputsMax;
  }

  /// Into one group with all that it reads of, or with the last of them, or alone.
  void join(std::size_t index) {
    Group own = {index};
    if (steps_[index]->greater) own.insert(*steps_[index]->greater);
    std::set<std::size_t> before;
    const TensorType& type = *rewriter_.type(rewriter_.node(index).outputs[0]);
    for (const ValueId id : steps_[index]->operands) {
      const auto from = rewriter_.producer(id);
      if (from && group_of_[*from] != kAlone && *rewriter_.type(id) == type)
        before.insert(group_of_[*from]);
    }
    const auto with = [&](const std::set<std::size_t>& groups) {
      Group all = own;
      for (const std::size_t g : groups) all.insert(groups_[g].begin(), groups_[g].end());
      if (!may_be_one(all)) return false;
      for (const std::size_t g : groups) groups_[g].clear();
      for (const std::size_t i : all) group_of_[i] = groups_.size();
      groups_.push_back(std::move(all));
      return true;
    };
    if (with(before)) return;
    for (auto g = before.rbegin(); g != before.rend(); ++g) {
      if (with({*g})) return;
    }
    with({});
  }

  /// A node that does what those of the group do.
  Node node_of(const Group& group) const {
    std::vector<ValueId> inputs, outputs;
    std::map<ValueId, std::size_t> last_use;
    std::map<ValueId, std::int64_t> place;
    const auto add_input = [&](ValueId id, bool first) {
      const auto from = rewriter_.producer(id);
      if (place.contains(id) || (from && group.contains(*from))) return;
      place[id] = 0;
      inputs.insert(first ? inputs.begin() : inputs.end(), id);
    };
    for (const std::size_t i : group) {
      if (!steps_[i]) continue;
      const ValueId made = rewriter_.node(i).outputs[0];
      for (const ValueId id : steps_[i]->operands) {
        add_input(id, *rewriter_.type(id) == *rewriter_.type(made));
        last_use[id] = i;
      }
      const auto& users = users_[static_cast<std::size_t>(made)];
      const bool escapes = rewriter_.is_output(made) || std::ranges::any_of(users, [&](auto user) {
                             return !group.contains(user);
                           });
      if (escapes) outputs.push_back(made);
    }
    std::int64_t end = 0;
    for (const ValueId id : inputs) place[id] = end++;
    for (const ValueId id : outputs) place[id] = end++;
    std::vector<std::int64_t> free, words;
    std::int64_t numbers = 0;
    for (const std::size_t i : group) {
      if (!steps_[i]) continue;
      cpu::ChainStep step{.what = steps_[i]->what};
      for (std::size_t k = 0; k < steps_[i]->operands.size(); ++k)
        step.operands[k] = place.at(steps_[i]->operands[k]);
      const ValueId made = rewriter_.node(i).outputs[0];
      if (!place.contains(made)) {
        if (free.empty()) free.push_back(end + numbers++);
        place[made] = free.back();
        free.pop_back();
      }
      step.to = place[made];
      for (const ValueId id : std::set(steps_[i]->operands.begin(), steps_[i]->operands.end())) {
        if (last_use[id] == i && place[id] >= end) free.push_back(place[id]);
      }
      cpu::add_chain_step(step, words);
    }
    Node node = rewriter_.node(*group.rbegin());
    node.op = &cpu::chain_operator();
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.attributes = {};
    node.attributes.set("steps", std::move(words));
    node.attributes.set("numbers", numbers);
    return node;
  }

  void emit() {
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < rewriter_.size(); ++i) {
      const Group* const group = group_of_[i] == kAlone ? nullptr : &groups_[group_of_[i]];
      const auto is_step = [&](std::size_t at) { return steps_[at].has_value(); };
      if (group == nullptr || std::ranges::count_if(*group, is_step) < 2) {
        nodes.push_back(rewriter_.node(i));
      } else if (i == *group->rbegin()) {
        nodes.push_back(node_of(*group));
      }
    }
    rewriter_.set_nodes(std::move(nodes));
  }

  Rewriter& rewriter_;
  std::vector<std::optional<StepNode>> steps_;  // by node
  std::vector<std::size_t> group_of_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::size_t>> users_;  // by ValueId
};

}  // namespace

void chain_elementwise(Rewriter& rewriter) { Chains(rewriter).fuse(); }

}  // namespace commensal::graph::optimise
