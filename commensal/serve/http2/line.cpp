// SPDX-License-Identifier: Apache-2.0
#include <boost/asio/post.hpp>
#include <commensal/serve/http2/session.hpp>

namespace commensal::http2 {

void Gate::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (io_ == nullptr) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) asio::post(*io_, [this] { run(); });
}

void Gate::run() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task();
}

void Gate::close() {
  const std::lock_guard lock(mutex_);
  io_ = nullptr;
}

Line::Line(std::shared_ptr<Gate> gate, std::weak_ptr<Session> session, std::int32_t stream)
    : gate_(std::move(gate)), session_(std::move(session)), stream_(stream) {}

template <class Act>
void Line::act(Act act) const {
  gate_->post([session = session_, stream = stream_, act = std::move(act)]() mutable {
    if (const auto it = session.lock()) act(*it, stream);
  });
}

void Line::read() const {
  act([](Session& session, std::int32_t stream) { session.read(stream); });
}

void Line::write(Message message) const {
  act([message = std::move(message)](Session& session, std::int32_t stream) mutable {
    session.write(stream, std::move(message));
  });
}

void Line::finish(Status status) const {
  act([status = std::move(status)](Session& session, std::int32_t stream) mutable {
    session.finish(stream, std::move(status));
  });
}

void Line::cancel() const {
  act([](Session& session, std::int32_t stream) { session.cancel(stream, End::kCancelled); });
}

}  // namespace commensal::http2
