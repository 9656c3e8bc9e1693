// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <tests/e2e/collector.hpp>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;

bool is_readable(int socket) {
  pollfd one{socket, POLLIN, 0};
  return ::poll(&one, 1, 20) == 1;
}

}  // namespace

Collector::Collector(std::uint16_t port)
    : listener_(*core::listen_on({"127.0.0.1", port})),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Collector::~Collector() = default;

void Collector::set(Mood mood) {
  const std::lock_guard lock(mutex_);
  mood_ = mood;
}

std::size_t Collector::bodies() const {
  const std::lock_guard lock(mutex_);
  return bodies_;
}

std::vector<Json> Collector::spans(const std::string& trace_id) const {
  const std::lock_guard lock(mutex_);
  std::vector<Json> found;
  for (const Json& span : spans_)
    if (span["traceId"] == trace_id) found.push_back(span);
  return found;
}

std::string Collector::head() const {
  const std::lock_guard lock(mutex_);
  return head_;
}

void Collector::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!is_readable(listener_.socket.get())) continue;
    const core::Descriptor socket(::accept(listener_.socket.get(), nullptr, nullptr));
    if (socket.valid()) serve(socket.get(), stop);
  }
}

void Collector::serve(int socket, const std::stop_token& stop) {
  std::string buffer;
  const std::string kLength = "Content-Length: ";
  while (!stop.stop_requested()) {
    if (!is_readable(socket)) continue;
    std::array<char, 65'536> piece{};
    const ssize_t size = ::recv(socket, piece.data(), piece.size(), 0);
    if (size <= 0) return;
    buffer.append(piece.data(), static_cast<std::size_t>(size));
    const std::size_t end = buffer.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    const std::string head = buffer.substr(0, end);
    const std::size_t length = std::stoul(head.substr(head.find(kLength) + kLength.size()));
    if (buffer.size() < end + 4 + length) continue;
    std::string answer;
    if (take(head, buffer.substr(end + 4, length), answer))
      ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
    buffer.erase(0, end + 4 + length);
  }
}

bool Collector::take(const std::string& head, const std::string& body, std::string& answer) {
  const std::lock_guard lock(mutex_);
  ++bodies_;
  head_ = head;
  if (mood_ == Mood::kHangs) return false;
  answer = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
  if (mood_ == Mood::kFails) return true;
  const Json sent = Json::parse(body);
  for (const Json& span : sent["resourceSpans"][0]["scopeSpans"][0]["spans"])
    spans_.push_back(span);
  answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
  return true;
}

}  // namespace commensal::e2e
