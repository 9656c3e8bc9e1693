// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/worker/cancelling.hpp>
#include <commensal/serve/worker/messages.hpp>
#include <commensal/serve/worker/process.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <optional>
#include <stop_token>
#include <type_traits>

namespace commensal::worker {

/// One worker, from its start to its end, as its parent sees it. It is stopped while nothing is
/// asked of it, and ended where it has more threads then than it is meant to have. After an error
/// of any call it has been ended, and only says why. Thread-safety: one thread.
class LivingWorker {
 public:
  /// `options` outlive it.
  static core::Result<std::unique_ptr<LivingWorker>> start(Starter& starter,
                                                           const ProcessOptions& options);

  bool is_alive() const { return process_.is_alive(); }
  /// What one exchange is held to.
  struct Task {
    std::uint32_t number = 0;
    std::stop_token cancel = {};
    std::int64_t cpu_ms_max = 0;
  };
  /// Sends by `ask` and reads by `hear` under the watch; either may fail. Errors: why it was ended.
  template <class Ask, class Hear>
  auto exchange(const Task& task, const Ask& ask, const Hear& hear)
      -> std::invoke_result_t<Hear, Channel&>;

 private:
  LivingWorker(const ProcessOptions& options, core::SharedMemory memory, core::Descriptor socket,
               Process process);
  SharedPages& pages() const { return *reinterpret_cast<SharedPages*>(memory_.bytes().data()); }
  void begin(const Task& task);
  core::Result<void> watch();
  core::Result<void> watch_cancel(std::int64_t now_ms);
  core::Result<void> watch_work(std::int64_t now_ms);
  /// Nothing is asked of it for now.
  void rest();
  /// Ends it; why, in the caller's words.
  core::Error end(const core::Error& error);

  const ProcessOptions& options_;
  core::SystemClock clock_;
  core::SharedMemory memory_;
  Process process_;
  std::optional<Channel> channel_;
  std::optional<core::Error> verdict_;  // of the watch
  // Of the present task.
  Task task_;
  std::int64_t looked_ms_ = 0;
  std::int64_t cpu_begin_ns_ = 0;
  std::int64_t cpu_ns_ = 0;
  std::int64_t moved_ms_ = 0;              // when cpu_ns_ last grew, or nobody might work
  std::optional<std::int64_t> stop_ms_{};  // when it was seen that the task is cancelled
};

template <class Ask, class Hear>
auto LivingWorker::exchange(const Task& task, const Ask& ask, const Hear& hear)
    -> std::invoke_result_t<Hear, Channel&> {
  begin(task);
  const std::stop_callback tell(task.cancel, [this] { worker::cancel(pages(), task_.number); });
  if (const auto asked = ask(*channel_); !asked) return tl::unexpected(end(asked.error()));
  channel_->flush();
  auto heard = hear(*channel_);
  if (options_.tell_rest) options_.tell_rest(false);
  if (!heard) return tl::unexpected(end(heard.error()));
  rest();
  return heard;
}

}  // namespace commensal::worker
