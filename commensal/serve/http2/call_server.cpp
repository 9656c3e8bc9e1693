// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <commensal/serve/http2/session.hpp>
#include <condition_variable>
#include <set>
#include <thread>

namespace commensal::http2 {
namespace {

constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::milliseconds kNotice{
    100};  // in which a client hears that no calls are taken

}  // namespace

struct CallServer::State {
  State(std::shared_ptr<rpc::Door> opened, std::shared_ptr<const tls::Identity> identity,
        const Terms& terms)
      : gate(std::make_shared<Gate>(io)),
        shared{clock, std::move(opened), std::move(identity), terms, gate, {}} {}

  void take(int accepted);
  void look_later();
  void each(const std::function<void(Session&)>& act);
  bool wait_until_gone(std::int64_t ms);

  const core::SystemClock clock{};
  asio::io_context io{1};
  const std::shared_ptr<Gate> gate;
  Shared shared;
  asio::steady_timer timer{io};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::shared_ptr<Session>> sessions;  // guarded by mutex; changed by the thread alone
  bool is_stopping = false;                     // the thread's
  std::thread thread;
};

void CallServer::State::take(int accepted) {
  Session::Socket socket(io);
  boost::system::error_code error;
  socket.assign(asio::ip::tcp::v4(), accepted, error);  // a family for what it opens: nothing
  if (error || is_stopping) {
    if (error) ::close(accepted);
    return;
  }
  const auto session = std::make_shared<Session>(std::move(socket), shared,
                                                 [this](const std::shared_ptr<Session>& gone) {
                                                   const std::lock_guard lock(mutex);
                                                   sessions.erase(gone);
                                                   changed.notify_all();
                                                 });
  {
    const std::lock_guard lock(mutex);
    sessions.insert(session);
  }
  session->start();
}

void CallServer::State::each(const std::function<void(Session&)>& act) {
  for (const auto& one : std::set(sessions)) act(*one);
}

void CallServer::State::look_later() {
  timer.expires_after(kLook);
  timer.async_wait([this](boost::system::error_code error) {
    if (error || is_stopping) return;  // it may have been due before it was cancelled
    const std::int64_t now_ns = clock.monotonic_ns();
    each([&](Session& one) { one.look(now_ns); });
    look_later();
  });
}

bool CallServer::State::wait_until_gone(std::int64_t ms) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::milliseconds(ms), [this] { return sessions.empty(); });
}

core::Result<std::unique_ptr<CallServer>> CallServer::open(
    const std::string& address, std::shared_ptr<const tls::Identity> identity, const Terms& terms,
    const rpc::DoorBounds& bounds, const core::Listener* listening) {
  COMMENSAL_ASSIGN(std::shared_ptr<rpc::Door> door, rpc::Door::open(address, bounds, listening));
  return std::unique_ptr<CallServer>(
      new CallServer(std::make_unique<State>(std::move(door), std::move(identity), terms)));
}

CallServer::CallServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

CallServer::~CallServer() { stop(); }

void CallServer::begin(Begin begin) {
  state_->shared.begin = std::move(begin);
  state_->work.emplace(state_->io.get_executor());
  state_->look_later();
  state_->thread = std::thread([this] { state_->io.run(); });
  state_->shared.door->begin([state = state_.get()](int, int accepted) {
    asio::post(state->io, [state, accepted] { state->take(accepted); });
  });
}

const std::shared_ptr<rpc::Door>& CallServer::door() const { return state_->shared.door; }

void CallServer::drain(std::int64_t grace_ms) {
  State& state = *state_;
  state.shared.door->stop();
  if (!state.thread.joinable()) return;
  const std::int64_t end_ns = state.clock.monotonic_ns() + grace_ms * 1'000'000;
  const auto all = [&](bool is_last_word) {
    asio::post(state.io, [&state, is_last_word] {
      state.each([&](Session& one) { one.leave(is_last_word); });
    });
  };
  all(false);
  if (!state.wait_until_gone(std::min<std::int64_t>(kNotice.count(), grace_ms))) {
    all(true);
    const std::int64_t left_ns = end_ns - state.clock.monotonic_ns();
    state.wait_until_gone(std::max<std::int64_t>(left_ns / 1'000'000, 0));
  }
  stop();
}

void CallServer::stop() {
  State& state = *state_;
  state.shared.door->stop();
  if (!state.thread.joinable()) return;
  asio::post(state.io, [&state] {
    state.is_stopping = true;
    state.timer.cancel();
    state.each([](Session& one) { one.close(); });
    state.work.reset();
  });
  state.thread.join();
  state.gate->close();
}

}  // namespace commensal::http2
