// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <commensal/serve/worker/living_worker.hpp>
#include <commensal/serve/worker/sandbox.hpp>
#include <cstring>

namespace commensal::worker {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

/// Beside those that compute, of which one is the first: who hears that a run is cancelled.
#if defined(__SANITIZE_THREAD__)
constexpr int kThreadsBeside = 2;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int kThreadsBeside = 2;  // the sanitizer's own
#else
constexpr int kThreadsBeside = 1;
#endif
#else
constexpr int kThreadsBeside = 1;
#endif

Result<std::array<core::Descriptor, 2>> make_sockets() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot start a worker: no sockets: {}",
                std::strerror(errno));
  }
  return std::array<core::Descriptor, 2>{core::Descriptor(ends[0]), core::Descriptor(ends[1])};
}

}  // namespace

LivingWorker::LivingWorker(const ProcessOptions& options, core::SharedMemory memory,
                           core::Descriptor socket, Process process)
    : options_(options), memory_(std::move(memory)), process_(std::move(process)) {
  channel_.emplace(pages(), std::move(socket), Channel::Side::kParent);
  channel_->watch_by([this] { return watch(); });
}

Result<std::unique_ptr<LivingWorker>> LivingWorker::start(Starter& starter,
                                                          const ProcessOptions& options) {
  COMMENSAL_ASSIGN(auto memory, core::SharedMemory::create(sizeof(SharedPages)));
  COMMENSAL_ASSIGN(auto sockets, make_sockets());
  std::vector<int> files{sockets[1].get(), memory.descriptor()};
  core::Descriptor pace;
  if (options.pace != nullptr) {
    COMMENSAL_ASSIGN(pace, options.pace->for_readers());
    files.push_back(pace.get());
  }
  COMMENSAL_ASSIGN(Process process, starter.start(options.program, files));
  return std::unique_ptr<LivingWorker>(
      new LivingWorker(options, std::move(memory), std::move(sockets[0]), std::move(process)));
}

void LivingWorker::begin(const Task& task) {
  task_ = task;
  looked_ms_ = clock_.monotonic_ns() / kNsPerMs;
  moved_ms_ = looked_ms_;
  cpu_begin_ns_ = -1;  // asking costs more than a small run: once it is worth it
  stop_ms_.reset();
  process_.release();
}

Result<void> LivingWorker::watch() {
  const std::int64_t now_ms = clock_.monotonic_ns() / kNsPerMs;
  if (now_ms - looked_ms_ < Channel::kTickMs) return {};
  looked_ms_ = now_ms;
  auto seen = watch_cancel(now_ms);
  if (seen) seen = watch_work(now_ms);
  if (!seen) verdict_ = seen.error();
  return seen;
}

Result<void> LivingWorker::watch_cancel(std::int64_t now_ms) {
  if (!task_.cancel.stop_requested()) return {};
  if (!stop_ms_) stop_ms_ = now_ms;
  if (now_ms - *stop_ms_ < options_.cancel_ms) return {};
  return fail(ErrorCode::kCancelled, "cancelled; its worker had not ended it after {} ms",
              options_.cancel_ms);
}

Result<void> LivingWorker::watch_work(std::int64_t now_ms) {
  if (options_.tell_rest) options_.tell_rest(pages().resting.load() > 0);
  const std::int64_t cpu_ns = process_.cpu_ns();
  if (cpu_begin_ns_ < 0) cpu_begin_ns_ = cpu_ns;
  if (cpu_ns - cpu_begin_ns_ > task_.cpu_ms_max * kNsPerMs) {
    return fail(ErrorCode::kDeadlineExceeded,
                "it has taken more than {} ms of processor time: its worker was ended",
                task_.cpu_ms_max);
  }
  if (process_.threads() > kThreadsMax) {
    return fail(ErrorCode::kResourceExhausted, "more than {} threads: its worker was ended",
                kThreadsMax);
  }
  const bool is_held = options_.is_held && options_.is_held();
  if (cpu_ns != cpu_ns_ || is_held) moved_ms_ = now_ms;
  cpu_ns_ = cpu_ns;
  if (now_ms - moved_ms_ < options_.still_ms_max) return {};
  return fail(ErrorCode::kDeadlineExceeded, "the worker has done nothing for {} ms: it was ended",
              options_.still_ms_max);
}

// Threads that a model has left behind, beyond as many as are allowed, see no other request.
void LivingWorker::rest() {
  const bool has_others = process_.threads() > options_.session.threads + kThreadsBeside;
  if (has_others) {
    process_.end();
  } else {
    process_.hold();
  }
}

core::Error LivingWorker::end(const core::Error& error) {
  if (options_.tell_rest) options_.tell_rest(false);
  const std::string how = process_.end();
  if (verdict_) return *verdict_;
  if (pages().out_of_memory.load() != 0) {
    return {ErrorCode::kResourceExhausted, "the model takes more memory than its worker may have"};
  }
  if (error.code == ErrorCode::kResourceExhausted) return error;
  if (error.code == ErrorCode::kUnavailable) {
    return {ErrorCode::kInternal, fmt::format("the worker that computed was lost: {}", how)};
  }
  return {ErrorCode::kInternal,
          fmt::format("the worker that computed has broken the rules: {}", error.message)};
}

}  // namespace commensal::worker
