// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/pack_folder.hpp>
#include <commensal/serve/worker/messages.hpp>

/// Packed weights that workers share by mapping: the parent has the folder, a worker asks it.
namespace commensal::worker {

/// Worker's: while a message of the parent's is being answered. Thread-safety: the channel's.
class RemotePacks final : public graph::PackFiles {
 public:
  explicit RemotePacks(Channel& channel) : channel_(channel) {}
  std::optional<File> open(const core::Digest& name) override;
  void keep(const core::Digest& name, std::span<const core::ByteView> parts) override;

 private:
  Channel& channel_;
};

/// Parent's, for the workers of one model: none can give packed weights to another model.
class PackServer {
 public:
  /// All that is kept until the next worker begins is at most `bytes_max`; the rest is passed over.
  PackServer(const graph::PackFolder& packs, const core::Digest& model, std::uint64_t bytes_max)
      : packs_(packs.files(), model), bytes_max_(bytes_max) {}
  /// There is a new worker.
  void begin() { kept_bytes_ = 0; }
  /// Errors: the channel's; kDataLoss (not one of these messages, or too large).
  core::Result<void> serve(Channel& channel, const Message& message);

 private:
  graph::PackFilesOfModel packs_;
  std::uint64_t bytes_max_;
  std::uint64_t kept_bytes_ = 0;
};

/// Parent's: the next message that is not about packed weights, which are served by `packs` if it
/// has any. Errors: the channel's, PackServer's.
core::Result<Message> receive(Channel& channel, PackServer* packs);

}  // namespace commensal::worker
