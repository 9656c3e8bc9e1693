// SPDX-License-Identifier: Apache-2.0
// Channels gathered from blocked pictures in any order: what Concat, Slice and shuffles of channels
// come to where they cut blocks.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>

namespace commensal::kernels::cpu {

namespace {

/// The vectors of the output, each out of pieces of vectors of the inputs.
struct Gathering final : Packed {
  struct Vector {
    std::vector<ChannelPiece> pieces;
  };
  std::vector<Vector> vectors;
};

core::Result<Gathering> gathering_of(const Call& call, int lanes) {
  COMMENSAL_ASSIGN(const auto sources, call.attributes->integers("sources"));
  COMMENSAL_ASSIGN(const auto channels, call.attributes->integers("channels"));
  const auto count = static_cast<std::int64_t>(channels.size());
  Gathering made;
  made.vectors.resize(static_cast<std::size_t>(blocks_of(count) * kBlock / lanes));
  for (std::int64_t c = 0; c < count; ++c) {
    auto& pieces = made.vectors[static_cast<std::size_t>(c / lanes)].pieces;
    const auto input = static_cast<int>(sources[static_cast<std::size_t>(c)]);
    const std::int64_t from = channels[static_cast<std::size_t>(c)], vector = from / lanes;
    auto piece = std::ranges::find_if(
        pieces, [&](const ChannelPiece& p) { return p.input == input && p.vector == vector; });
    if (piece == pieces.end()) {
      piece = pieces.insert(pieces.end(), ChannelPiece{.input = input, .vector = vector});
    }
    piece->lane[c % lanes] = static_cast<std::int32_t>(from % lanes);
    piece->taken[c % lanes] = -1;
  }
  return made;
}

}  // namespace

Types infer_blocked_channels(const Call& call) {
  COMMENSAL_ASSIGN(const auto channels, call.attributes->integers("channels"));
  BlockedShape shape = BlockedShape::of(call.in(0).shape());
  shape.blocks = blocks_of(static_cast<std::int64_t>(channels.size()));
  return std::vector{shape.type()};
}

core::Result<std::shared_ptr<const Packed>> pack_blocked_channels(const Call& call, Isa isa) {
  COMMENSAL_ASSIGN(Gathering made, gathering_of(call, blocked_kernels_for(isa).lanes));
  return std::make_shared<const Gathering>(std::move(made));
}

Done blocked_channels(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const auto& gathering = static_cast<const Gathering&>(*ws.packed);
  const BlockedShape out = BlockedShape::of(outputs[0].shape());
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t vectors_in_block = kBlock / kernels.lanes;
  for_each_plane(out, ws.threads, [&](std::int64_t plane, Range rows) {
    const std::int64_t n = plane / out.blocks, first = rows.begin * out.width * kBlock;
    const std::int64_t pixels = (rows.end - rows.begin) * out.width;
    for (std::int64_t i = 0; i < vectors_in_block; ++i) {
      const std::int64_t v = plane % out.blocks * vectors_in_block + i;
      const auto& pieces = gathering.vectors[static_cast<std::size_t>(v)].pieces;
      float* const to = y + plane * out.plane() + first + i * kernels.lanes;
      if (pieces.empty()) {  // beyond the last channel: nothing that was never written is looked at
        for (std::int64_t p = 0; p < pixels; ++p) std::fill_n(to + p * kBlock, kernels.lanes, 0.0f);
        continue;
      }
      std::vector<const float*> from;
      for (const ChannelPiece& piece : pieces) {
        const BlockedShape in = BlockedShape::of(call.in(piece.input).shape());
        from.push_back(call.in(piece.input).data<float>().data() + n * in.image() + first +
                       vector_offset(piece.vector, kernels.lanes, in.plane()));
      }
      kernels.gather_channels(pieces.data(), from.data(), static_cast<int>(pieces.size()), to,
                              pixels);
    }
  });
  return {};
}

}  // namespace commensal::kernels::cpu
