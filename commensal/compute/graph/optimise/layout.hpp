// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/passes.hpp>
#include <commensal/compute/kernels/cpu/blocked/layout.hpp>
#include <map>
#include <set>

namespace commensal::graph::optimise {

/// Puts pictures in blocks of channels (kernels/cpu/blocked/layout.hpp): convolutions, and what can
/// follow them without coming back to [N, C, H, W]. A value is in blocks, plain, or both; what a
/// node asks for is made when it does. One use: run().
class BlockedLayout {
 public:
  explicit BlockedLayout(Rewriter& rewriter) : rewriter_(rewriter) {}
  void run();

 private:
  /// Where a channel is to be found.
  struct Channel {
    ValueId blocked = kAbsent;
    std::int64_t channel = 0;
  };

  // layout.cpp: values and nodes.
  bool is_picture(ValueId id) const;  // binary32 [N, C, H, W], not empty, C not huge
  bool is_blocked(ValueId id) const { return blocked_.contains(id) || channels_.contains(id); }
  tensor::TensorType blocked_type(ValueId id) const;
  /// The value in blocks; copied into them if need be.
  ValueId need_blocked(ValueId id, const Node& like);
  void need_plain(ValueId id);
  void keep(const Node& node);
  /// The node's output is the picture `like` makes, in blocks.
  void emit_blocked(Node node, const Node& like);
  ValueId add_blocked_value(ValueId id);
  std::optional<ValueId> per_channel(ValueId id, const tensor::Shape& picture, const Node& like);
  bool others_are_constant(const Node& node) const;

  // layout_operators.cpp
  bool handle(const Node& node);  // false: nothing was done
  bool binary(const Node& node);  // of two pictures, or of one and an element a channel
  bool conv(const Node& node);
  bool each(const Node& node);       // of one picture
  bool normalise(const Node& node);  // BatchNormalization
  bool pool(const Node& node, kernels::Role blocked);
  bool reduce_mean(const Node& node);  // over pixels
  bool transpose(const Node& node);    // to and from [N, H, W, C]

  // layout_channels.cpp: channels moved about are only noted, until somebody reads them.
  bool concat(const Node& node);
  bool reshape(const Node& node);  // the last part of a shuffle
  bool slice(const Node& node);
  std::vector<Channel> channels_of(ValueId id, const Node& like);
  void note_channels(ValueId id, std::vector<Channel> channels);
  Node gathered(const std::vector<Channel>& channels, const Node& like) const;

  Rewriter& rewriter_;
  std::vector<Node> nodes_;
  std::map<ValueId, ValueId> blocked_;
  std::map<ValueId, std::vector<Channel>> channels_;
  std::set<ValueId> lacking_plain_;
};

}  // namespace commensal::graph::optimise
