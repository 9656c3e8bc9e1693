// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <commensal/serve/worker/channel.hpp>
#include <cstring>

namespace commensal::worker {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr int kWakeUpsAtOnce = 16;

tl::unexpected<core::Error> gone() { return fail(ErrorCode::kUnavailable, "the other is gone"); }
tl::unexpected<core::Error> broken() {
  return fail(ErrorCode::kDataLoss, "the ring of the channel is broken");
}

/// Room for one descriptor beside a byte of data.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

}  // namespace

Channel::Channel(SharedPages& pages, core::Descriptor socket, Side side)
    : out_(side == Side::kParent ? pages.to_worker : pages.to_parent),
      in_(side == Side::kParent ? pages.to_parent : pages.to_worker),
      socket_(std::move(socket)),
      side_(side) {}

/// Whoever sleeps has said so before it looked once more, so that nobody sleeps through a change.
void Channel::wake(std::atomic<std::uint32_t>& other_sleeps) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (other_sleeps.load(std::memory_order_relaxed) == 0) return;
  other_sleeps.store(0, std::memory_order_relaxed);
  const char ring = 0;
  // A full socket wakes as well; that the other is gone is seen when something is waited for.
  (void)::send(socket_.get(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

template <class Ready>
Result<void> Channel::wait(std::atomic<std::uint32_t>& sleeps, const Ready& ready) {
  while (true) {
    sleeps.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool is_ready = ready();
    const auto slept = is_ready ? Result<void>() : sleep();
    sleeps.store(0, std::memory_order_relaxed);
    if (is_ready) return {};
    if (!slept && ready()) return {};  // its last words
    COMMENSAL_TRY(slept);
    if (watch_) COMMENSAL_TRY(watch_());
  }
}

Result<void> Channel::sleep() {
  pollfd file{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const int found = ::poll(&file, 1, watch_ ? kTickMs : -1);
  if (found < 0 && errno != EINTR) return gone();
  return found > 0 ? hear() : Result<void>();
}

/// Takes what has come through the socket: wake-ups, and for a worker descriptors. Not all of it
/// where the other never ends: what is watched for comes first.
Result<void> Channel::hear() {
  for (int i = 0; i < kWakeUpsAtOnce; ++i) {
    std::array<char, 64> bytes{};
    iovec part{bytes.data(), side_ == Side::kWorker ? 1 : bytes.size()};
    Control control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (side_ == Side::kWorker) {  // a parent takes none: the kernel closes them
      message.msg_control = control.bytes.data();
      message.msg_controllen = control.bytes.size();
    }
    const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size <= 0) return gone();
    const cmsghdr* const head = CMSG_FIRSTHDR(&message);
    if (head == nullptr || head->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    files_.emplace_back(fd);
  }
  return {};
}

Result<void> Channel::send(core::ByteView bytes) {
  while (true) {
    bytes = bytes.subspan(out_.write(bytes));
    if (bytes.empty()) return {};
    flush();
    COMMENSAL_TRY(wait(out_.sleeps(), [&] { return out_.has_room() || out_.is_broken(); }));
    if (out_.is_broken()) return broken();
  }
}

Result<void> Channel::receive(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    if (const std::size_t size = in_.read(bytes); size > 0) {
      bytes = bytes.subspan(size);
      wake(in_.other_sleeps());
      // Who never makes us wait is watched as well.
      if (watch_) COMMENSAL_TRY(watch_());
      continue;
    }
    if (in_.is_broken()) return broken();
    COMMENSAL_TRY(wait(in_.sleeps(), [&] { return in_.has_bytes() || in_.is_broken(); }));
  }
  return {};
}

Result<void> Channel::send_descriptor(const core::Descriptor& file) {
  char byte = 1;
  iovec part{&byte, 1};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.get();
  std::memcpy(CMSG_DATA(head), &fd, sizeof(fd));
  // The socket has room: a worker asks for one descriptor at a time, and wake-ups are few.
  if (::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) return {};
  return gone();
}

Result<core::Descriptor> Channel::receive_descriptor() {
  while (files_.empty()) COMMENSAL_TRY(sleep());
  core::Descriptor file = std::move(files_.front());
  files_.pop_front();
  return file;
}

}  // namespace commensal::worker
