// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/serve/rpc/asio_loop.hpp>
#include <thread>
#include <vector>

namespace commensal::rpc {
namespace {

namespace asio = boost::asio;

/// An io_context that one thread serves until it is stopped, with or without tasks.
struct Queue {
  asio::io_context context;  // no hint: hints of one thread let tasks overtake others
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(context);
};

/// Offloaded work returns to the loop with its `done`, so that whatever either captured is
/// destroyed on the loop.
struct Errand {
  core::Loop::Task work;
  core::Loop::Task done;
};

}  // namespace

struct AsioLoop::State {
  // Above the queues: tasks that are destroyed with them may still post.
  std::atomic<bool> stopped = false;
  bool used = false;
  TurnWatch watch;
  Queue tasks;
  std::array<Queue, kLanes> errands;
  std::thread runner;

  void turn(const Task& task) const {
    if (!watch.on_long) return task();
    std::int64_t cpu_ns = 0;
    {
      const core::CpuMeter meter(cpu_ns);
      task();
    }
    if (cpu_ns > watch.cpu_ns_max) watch.on_long(cpu_ns);
  }
};

AsioLoop::AsioLoop(TurnWatch watch) : state_(std::make_unique<State>()) {
  state_->watch = std::move(watch);
}

AsioLoop::~AsioLoop() {
  stop();
  join();
}

void AsioLoop::run() {
  core::check(!state_->used, "a loop runs once");
  state_->used = true;
  std::vector<std::thread> lanes;
  for (Queue& lane : state_->errands) lanes.emplace_back([&lane] { lane.context.run(); });
  state_->tasks.context.run();
  for (std::thread& lane : lanes) lane.join();
}

void AsioLoop::start() {
  core::check(!state_->runner.joinable(), "a loop starts once");
  state_->runner = std::thread([this] { run(); });
}

void AsioLoop::stop() {
  state_->stopped = true;
  state_->tasks.context.stop();
  for (Queue& lane : state_->errands) lane.context.stop();
}

void AsioLoop::join() {
  if (state_->runner.joinable()) state_->runner.join();
}

void AsioLoop::post(Task task) {
  if (state_->stopped) return;
  asio::post(state_->tasks.context,
             [state = state_.get(), task = std::move(task)] { state->turn(task); });
}

void AsioLoop::after(std::int64_t delay_ms, Task task) {
  if (state_->stopped) return;
  auto timer = std::make_shared<asio::steady_timer>(state_->tasks.context,
                                                    std::chrono::milliseconds(delay_ms));
  timer->async_wait([state = state_.get(), timer,
                     task = std::move(task)](const boost::system::error_code& error) {
    if (!error) state->turn(task);
  });
}

void AsioLoop::offload(Lane lane, Task work, Task done) {
  if (state_->stopped) return;
  auto errand = std::make_shared<Errand>(Errand{std::move(work), std::move(done)});
  Queue& queue = state_->errands[static_cast<std::size_t>(lane)];
  asio::post(queue.context, [this, errand = std::move(errand)]() mutable {
    errand->work();
    post([errand = std::move(errand)] { errand->done(); });
  });
}

}  // namespace commensal::rpc
