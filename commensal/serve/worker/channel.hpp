// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/shared_memory.hpp>
#include <commensal/serve/worker/ring.hpp>
#include <deque>
#include <functional>

namespace commensal::worker {

/// What parent and worker share. The worker is not believed: what it writes here can harm itself
/// only, or be mistaken for its answer.
struct SharedPages {
  Ring to_worker;
  Ring to_parent;
  alignas(64) std::atomic<std::uint32_t> cancelled{0};  // the number of the run that is to end
  std::atomic<std::int32_t> resting{0};                 // threads that the pacer holds now
  std::atomic<std::uint32_t> out_of_memory{0};          // said by the worker before it ends
};

/// One end of the way between a parent and its worker: bytes through the rings, as many as there
/// may be; a socket wakes who sleeps, says that the other is gone, and brings descriptors.
/// Thread-safety: one thread.
class Channel {
 public:
  enum class Side { kParent, kWorker };
  /// Called often, and every `kTickMs` while nothing comes; its error ends the call. None: waits
  /// for ever.
  using Watch = std::function<core::Result<void>()>;
  static constexpr int kTickMs = 20;

  /// `pages` outlive the channel.
  Channel(SharedPages& pages, core::Descriptor socket, Side side);
  void watch_by(Watch watch) { watch_ = std::move(watch); }

  /// Returns when all is in the ring, for the other to see at the next flush(). Errors:
  /// kUnavailable (the other is gone), kDataLoss (it breaks the rules), the watch's.
  core::Result<void> send(core::ByteView bytes);
  void flush() { wake(out_.other_sleeps()); }
  /// Fills all of `bytes`. Errors: as send.
  core::Result<void> receive(std::span<std::uint8_t> bytes);
  /// Parent's: the descriptor arrives in the order of those that are sent. Error: kUnavailable.
  core::Result<void> send_descriptor(const core::Descriptor& file);
  /// Worker's: waits for one. Errors: as receive().
  core::Result<core::Descriptor> receive_descriptor();

 private:
  template <class Ready>
  core::Result<void> wait(std::atomic<std::uint32_t>& sleeps, const Ready& ready);
  void wake(std::atomic<std::uint32_t>& other_sleeps);
  core::Result<void> sleep();
  core::Result<void> hear();

  RingWriter out_;
  RingReader in_;
  core::Descriptor socket_;
  Side side_;
  Watch watch_;
  std::deque<core::Descriptor> files_;  // that have come
};

}  // namespace commensal::worker
