// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/handshakes.hpp>

namespace commensal::http {
namespace {

constexpr std::chrono::milliseconds kLook{2};  // for the next that may be begun
constexpr std::size_t kLinesMax = 4096;
constexpr std::int64_t kForgottenNs = 10'000'000'000;  // who had one so long ago is as new

}  // namespace

Handshakes::Handshakes(boost::asio::io_context& io, const core::Clock& clock)
    : clock_(clock),
      rate_(limits::kHttpHandshakesPerSecond,
            limits::kHttpHandshakesAtOnce / limits::kHttpHandshakesPerSecond),
      timer_(io) {}

void Handshakes::wait(const std::string& network, Begin begin) {
  const std::lock_guard lock(mutex_);
  Line& line = lines_[network];
  if (line.served_ns < clock_.monotonic_ns() - kForgottenNs) line.served_ns = 0;
  if (line.waiting.empty()) due_.emplace(line.served_ns, last_number_ + 1, network);
  line.waiting.push_back({++last_number_, std::move(begin)});
  serve_locked();
}

void Handshakes::serve_locked() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  bool may_begin = false;
  while (!due_.empty()) {
    may_begin = may_begin || rate_.take({}, now_ns);
    if (!may_begin) break;
    const std::string network = std::get<2>(due_.extract(due_.begin()).value());
    Line& line = lines_.at(network);
    if (line.waiting.front().begin()) {
      may_begin = false;
      line.served_ns = now_ns;
    }
    line.waiting.pop_front();
    if (!line.waiting.empty()) {
      due_.emplace(line.served_ns, line.waiting.front().number, network);
    }
  }
  if (lines_.size() > kLinesMax) forget_locked(now_ns);
  if (due_.empty() || is_waiting_) return;
  is_waiting_ = true;
  timer_.expires_after(kLook);
  timer_.async_wait([this](const boost::system::error_code&) {
    const std::lock_guard lock(mutex_);
    is_waiting_ = false;
    serve_locked();
  });
}

void Handshakes::forget_locked(std::int64_t now_ns) {
  std::erase_if(lines_, [&](const auto& one) {
    return one.second.waiting.empty() && one.second.served_ns < now_ns - kForgottenNs;
  });
}

}  // namespace commensal::http
