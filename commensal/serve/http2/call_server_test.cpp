// SPDX-License-Identifier: Apache-2.0
// Clients by hand (RFC 9113) that no library would be.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/http2/call_server.hpp>
#include <future>
#include <thread>

namespace commensal::http2 {
namespace {

using namespace std::chrono_literals;

std::string frame(char kind, char flags, int stream, const std::string& content) {
  return std::string("\0", 1) + static_cast<char>(content.size() >> 8) +
         static_cast<char>(content.size()) + kind + flags + std::string("\0", 1) +
         static_cast<char>(stream >> 16) + static_cast<char>(stream >> 8) +
         static_cast<char>(stream) + content;
}
/// `method` is an entry of HPACK's table: 2 is GET, 3 POST. `timeout`: grpc-timeout, or "".
std::string head(int stream, char method, const std::string& timeout = "", char flags = 5) {
  std::string lines = static_cast<char>('\x80' | method) + std::string("\x86\x84\x01\x01x") +
                      "\x0f\x10\x10" + "application/grpc";
  if (!timeout.empty())
    lines += std::string("\0\x0cgrpc-timeout", 14) + static_cast<char>(timeout.size()) + timeout;
  return frame(1, flags, stream, lines);
}
const std::string kPing = frame(6, 0, 0, "12345678");
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

constexpr std::size_t kFloodBytes = 16 << 20;

std::string times(int count, const std::string& text) {
  std::string made;
  for (int i = 0; i < count; ++i) made += text;
  return made;
}

/// What a server has said.
class Frames {
 public:
  explicit Frames(const core::Descriptor& socket) : socket_(socket) {}
  /// By how much a stream's window has grown since; waits so long for something.
  std::int64_t widened(int stream, std::chrono::milliseconds wait) {
    std::int64_t more = 0;
    std::array<char, 4096> heard{};
    pollfd one{socket_.get(), POLLIN, 0};
    while (more == 0 && ::poll(&one, 1, static_cast<int>(wait.count())) == 1) {
      const ssize_t size = ::recv(socket_.get(), heard.data(), heard.size(), 0);
      if (size <= 0) return more;
      unread_.append(heard.data(), static_cast<std::size_t>(size));
      for (; unread_.size() >= 9 && unread_.size() >= 9 + number(0, 3);
           unread_.erase(0, 9 + number(0, 3))) {
        if (unread_[3] == 8 && std::cmp_equal(number(5, 4), stream))
          more += static_cast<std::int64_t>(number(9, 4));
      }
    }
    return more;
  }

 private:
  std::size_t number(std::size_t at, std::size_t size) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(unread_[at + i]);
    return value;
  }
  const core::Descriptor& socket_;
  std::string unread_;
};

/// Reads one message.
class Lavish final : public Call {
 public:
  explicit Lavish(std::promise<End>& ended) : ended_(ended) {}
  bool on_coming(std::int64_t /*bytes*/) override { return true; }
  void on_message(std::optional<Message> /*message*/) override {}
  void on_written() override {}
  void on_end(End how) override { ended_.set_value(how); }

 private:
  std::promise<End>& ended_;
};

class CallServerTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    server_.reset();
    auto opened = CallServer::open("127.0.0.1:0", nullptr,
                                   {.calls_max = 8, .idle_ms = 60'000, .write_ms = 300},
                                   {.stranger_bytes_max = 8 << 20});
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = *std::move(opened);
    server_->begin([this](const Head& /*head*/, const Line& line) -> Begun {
      line.read();
      if (answers_) line.write({.pieces = {std::string(64 << 20, 'a')}});  // whoever reads them
      return {std::make_shared<Lavish>(ended_)};
    });
  }
  core::Descriptor dial() const {
    core::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(server_->door()->port()));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(made.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    return made;
  }
  static bool say(const core::Descriptor& socket, const std::string& text) {
    return ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  std::atomic<bool> answers_ = true;
  std::promise<End> ended_;
  std::unique_ptr<CallServer> server_;  // last: it tells the other
};

// The fault: what ends a call cannot be said either, and pings showed a connection alive: it, its
// calls and their answers stayed for as long as the client liked.
TEST_F(CallServerTest, WhoTakesNothingIsNotWaitedForWhateverItSays) {
  auto ended = ended_.get_future();
  const core::Descriptor socket = dial();
  const std::string windows = frame(4, 0, 0, std::string("\0\4\x7f\xff\xff\xff", 6)) +
                              frame(8, 0, 0, std::string("\x3f\xff\xff\xff", 4));
  ASSERT_TRUE(say(socket, kPreface + windows + head(1, 3)));
  for (int i = 0; i < 100 && ended.wait_for(100ms) != std::future_status::ready; ++i)
    say(socket, kPing);
  ASSERT_EQ(ended.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(ended.get(), End::kLost);
}

// The faults: frames that reach nobody, refused calls among them, were read as fast as they came,
// and what refuses them waited for a client that reads nothing.
TEST_F(CallServerTest, WhoSendsWhatIsNoCallsIsCutOff) {
  const std::string unknown = frame('\xfa', 0, 0, ""), window = frame(8, 0, 0, {"\0\0\0\1", 4}),
                    acknowledged = frame(6, 1, 0, "12345678");
  const auto sent = [this](const auto& part) {
    open();
    const core::Descriptor socket = dial();
    say(socket, kPreface + frame(4, 0, 0, ""));
    std::size_t sent = 0;
    for (int i = 0; sent < kFloodBytes; ++i) {
      const std::string text = part(i);
      if (!say(socket, text)) break;
      sent += text.size();
    }
    return sent;
  };
  for (const std::string& one : {unknown, window, acknowledged}) {
    EXPECT_LT(sent([&](int) { return times(500, one); }), kFloodBytes) << int{one[3]};
  }
  EXPECT_LT(sent([](int i) {
              std::string text;
              for (int k = 0; k < 500; ++k) text += frame(1, 5, 2 * (500 * i + k) + 1, "\x82");
              return text;
            }),
            kFloodBytes)
      << "calls that are none";
}

// The fault: after one long message as much as for it was let come of the next ones, which nobody
// had asked for and no account's memory held.
TEST_F(CallServerTest, NoMoreComesAheadThanOfTheMessageThatIsRead) {
  answers_ = false;
  const core::Descriptor socket = dial();
  constexpr int kMessage = 3 << 20;
  const std::string prefix = std::string("\0\0\x30\0\0", 5);
  ASSERT_TRUE(say(socket, kPreface + frame(4, 0, 0, "") + head(1, 3, "", 4)));
  ASSERT_TRUE(say(socket, frame(0, 0, 1, prefix)));
  std::int64_t may = 65'535 - 5, left = kMessage;
  Frames frames(socket);
  while (left > 0) {
    const std::int64_t part = std::min<std::int64_t>({may, left, 16'384});
    if (part > 0) {
      ASSERT_TRUE(say(socket, frame(0, 0, 1, std::string(static_cast<std::size_t>(part), 'x'))));
      may -= part;
      left -= part;
    }
    const std::int64_t more = frames.widened(1, part > 0 ? 0ms : 5'000ms);
    ASSERT_TRUE(part > 0 || more > 0);
    may += more;
    ASSERT_LE(may, std::max<std::int64_t>(left, 0) + 65'535);
  }
  may += frames.widened(1, 500ms);
  EXPECT_LE(may, 65'535);
}

// The fault: a call that was not answered in its client's time counted as taken back, however long
// that time was, and who has too many of those is cut off.
TEST_F(CallServerTest, WhoHasWaitedForAWhileIsNotSaidToHaveTakenItsCallBack) {
  answers_ = false;
  const auto end_of = [this](const std::string& timeout) {
    ended_ = std::promise<End>();
    auto ended = ended_.get_future();
    const core::Descriptor socket = dial();
    say(socket, kPreface + frame(4, 0, 0, "") + head(1, 3, timeout));
    const bool is_over = ended.wait_for(10s) == std::future_status::ready;
    return is_over ? std::optional(ended.get()) : std::nullopt;
  };
  EXPECT_EQ(end_of("20m"), End::kTakenBack);
  EXPECT_EQ(end_of(std::to_string(limits::kGrpcHastyMs) + "m"), End::kLate);
}

// The fault: what is no call of gRPC's was answered as often as one liked.
TEST_F(CallServerTest, WhoSpeaksNoGrpcIsCutOffAfterAWhile) {
  const core::Descriptor socket = dial();
  say(socket, kPreface + frame(4, 0, 0, ""));
  bool is_over = false;
  std::array<char, 4096> heard{};
  for (int i = 0; i < 2'000 && !is_over; ++i) {
    is_over = !say(socket, head(2 * i + 1, 2));
    pollfd one{socket.get(), POLLIN, 0};
    while (!is_over && ::poll(&one, 1, 2) == 1)
      is_over = ::recv(socket.get(), heard.data(), heard.size(), 0) <= 0;
  }
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace commensal::http2
