// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/proxy_header.hpp>

namespace commensal::core {
namespace {

using State = ProxyHeader::State;

constexpr std::string_view kWord = "a secret of sixteen bytes or more";

sockaddr_storage address(const char* host, const char* port) {
  sockaddr_storage made{};
  EXPECT_TRUE(read_address(host, port, made));
  return made;
}

Bytes header(const sockaddr_storage& from, const sockaddr_storage& to,
             std::string_view secret = kWord) {
  return proxy_header(reinterpret_cast<const sockaddr*>(&from),
                      reinterpret_cast<const sockaddr*>(&to), secret);
}

std::string connection(const sockaddr_storage& at) {
  return connection_of(reinterpret_cast<const sockaddr*>(&at));
}

// haproxy's doc/proxy-protocol.txt, 2.2.
TEST(ProxyHeader, HasTheBytesOfTheProtocol) {
  const Bytes made = header(address("1.2.3.4", "258"), address("5.6.7.8", "443"), "ab");
  const Bytes expected = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54,
                          0x0A, 0x21, 0x11, 0,    17,   1,    2,    3,    4,    5,    6,
                          7,    8,    1,    2,    1,    187,  0xE0, 0,    2,    'a',  'b'};
  EXPECT_EQ(made, expected);
}

TEST(ProxyHeader, IsReadOnceItIsWhole) {
  for (const char* host : {"1.2.3.4", "2001:db8::1"}) {
    const auto from = address(host, "258");
    Bytes front = header(from, address(host, "443"));
    for (std::size_t size = 0; size < front.size(); ++size) {
      EXPECT_EQ(read_proxy_header(ByteView(front).first(size), kWord).state, State::kPartial);
    }
    const std::size_t bytes = front.size();
    front.push_back('x');
    const ProxyHeader read = read_proxy_header(front, kWord);
    EXPECT_EQ(read.state, State::kWhole);
    EXPECT_EQ(read.bytes, bytes);
    EXPECT_EQ(connection(read.from), connection(from));
  }
}

TEST(ProxyHeader, NobodyIsBelievedWithoutTheSecret) {
  const auto from = address("1.2.3.4", "1"), to = address("5.6.7.8", "2");
  for (const char* word : {"", "a", "a secret of sixteen bytes or morE"}) {
    EXPECT_EQ(read_proxy_header(header(from, to, word), kWord).state, State::kWrong);
  }
  Bytes none = header(from, to);
  none[28] = 0xE1;  // another field
  EXPECT_EQ(read_proxy_header(none, kWord).state, State::kWrong);
  Bytes cut = header(from, to);
  cut[30] = 200;  // a field beyond the end
  EXPECT_EQ(read_proxy_header(cut, kWord).state, State::kWrong);
  Bytes large = header(from, to);
  large[14] = 1;
  EXPECT_EQ(read_proxy_header(large, kWord).state, State::kWrong);
  Bytes local = header(from, to);
  local[12] = 0x20;
  EXPECT_EQ(read_proxy_header(local, kWord).state, State::kWrong);
  Bytes short_one = header(from, to);
  short_one[15] = 3;
  EXPECT_EQ(read_proxy_header(short_one, kWord).state, State::kWrong);
}

TEST(ProxyHeader, WhatBeginsOtherwiseIsLeftThere) {
  for (const std::string_view front : {"GET / HTTP/1.1\r\n", "PRI * HTTP/2.0", "\x16\x03\x01"}) {
    EXPECT_EQ(read_proxy_header(as_bytes(front), kWord).state, State::kNone);
  }
  EXPECT_TRUE(header(address("1.2.3.4", "1"), address("::1", "1")).empty());
  EXPECT_TRUE(header(address("::1", "1"), address("::1", "1"), std::string(300, 'x')).empty());
}

TEST(ProxyHeader, IsTakenOffASocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const Descriptor a(ends[0]), b(ends[1]);
  EXPECT_EQ(take_proxy_header(b.get(), kWord).state, State::kPartial);
  Bytes said = header(address("1.2.3.4", "1"), address("5.6.7.8", "2"));
  said.push_back('x');
  ASSERT_EQ(::write(a.get(), said.data(), 20), 20);
  EXPECT_EQ(take_proxy_header(b.get(), kWord).state, State::kPartial);
  ASSERT_GT(::write(a.get(), said.data() + 20, said.size() - 20), 0);
  EXPECT_EQ(take_proxy_header(b.get(), "").state, State::kNone);
  EXPECT_EQ(take_proxy_header(b.get(), kWord).state, State::kWhole);
  char next = 0;
  EXPECT_EQ(::read(b.get(), &next, 1), 1);
  EXPECT_EQ(next, 'x');
}

}  // namespace
}  // namespace commensal::core
