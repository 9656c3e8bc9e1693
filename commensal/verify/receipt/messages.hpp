// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/compute/tensor/named.hpp>

/// What client and provider tell each other of one step, in this order. Each may be repeated after
/// a crash of either side: the same question has the same answer. `job` is protocol::job_id().
namespace commensal::receipt {

/// Client: compute this step, with the noise that this value makes.
struct Begin {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kBegin;

  core::Digest job{};
  std::uint64_t step = 0;
  core::Digest value{};  // of the noise chain; zero without noise

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("value", self.value);
  }
};
/// Provider: it led to this commitment.
struct Commit {
  core::Digest job{};
  std::uint64_t step = 0;
  core::Digest commitment{};
  std::uint64_t round = protocol::kNoDraw;  // of the beacon that draws its ticket
  protocol::BatchSignature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("commitment", self.commitment);
    archive.field("round", self.round);
    archive.field("signature", self.signature);
  }
};
/// Client: agreed, unseen.
struct Countersign {
  core::Digest job{};
  std::uint64_t step = 0;
  protocol::BatchSignature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("signature", self.signature);
  }
};
/// Provider: this is what the commitment hides.
struct Deliver {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kDeliver;

  core::Digest job{};
  std::uint64_t step = 0;
  core::Digest output_salt{};
  tensor::NamedTensors outputs;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("output_salt", self.output_salt);
    archive.field("outputs", self.outputs);
  }
};

}  // namespace commensal::receipt
