// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/crypto/hmac.hpp>
#include <commensal/base/crypto/proxy_header.hpp>

namespace commensal::crypto {
namespace {

using core::Bytes;
using core::ByteView;
using core::RelaySecrets;
using State = ProxyHeader::State;

constexpr const char* kWord = "a secret of sixteen bytes or more";
constexpr std::int64_t kNowMs = 1'800'000'000'000, kAgeMs = limits::kProxyHeaderAgeMsMax;

sockaddr_storage address(const char* host, const char* port) {
  sockaddr_storage made{};
  EXPECT_TRUE(core::read_address(host, port, made));
  return made;
}

Bytes header(const sockaddr_storage& from, const sockaddr_storage& to,
             std::string_view secret = kWord) {
  return proxy_header(reinterpret_cast<const sockaddr*>(&from),
                      reinterpret_cast<const sockaddr*>(&to), secret, kNowMs);
}

ProxyHeader read(ByteView front, const RelaySecrets& secrets = {.current = kWord},
                 std::int64_t now_ms = kNowMs) {
  return read_proxy_header(front, secrets, now_ms);
}

std::string connection(const sockaddr_storage& at) {
  return core::connection_of(reinterpret_cast<const sockaddr*>(&at));
}

// haproxy's doc/proxy-protocol.txt, 2.2.
TEST(ProxyHeader, HasTheBytesOfTheProtocol) {
  const Bytes made = header(address("1.2.3.4", "258"), address("5.6.7.8", "443"), "ab");
  Bytes expected = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49,
                    0x54, 0x0A, 0x21, 0x11, 0,    55,   1,    2,    3,    4,
                    5,    6,    7,    8,    1,    2,    1,    187};
  Bytes text;
  for (const char letter : std::string_view("commensal/relay/v1")) {
    text.push_back(static_cast<std::uint8_t>(letter));
  }
  text.insert(text.end(), expected.begin(), expected.end());
  const Bytes time = {0x00, 0x00, 0x01, 0xA3, 0x18, 0x5C, 0x50, 0x00};
  text.insert(text.end(), time.begin(), time.end());
  const Digest proof = hmac_sha256(core::as_bytes("ab"), text);
  expected.insert(expected.end(), {0xE0, 0, 40});
  expected.insert(expected.end(), time.begin(), time.end());
  expected.insert(expected.end(), proof.begin(), proof.end());
  EXPECT_EQ(made, expected);
}

TEST(ProxyHeader, IsReadOnceItIsWhole) {
  for (const char* host : {"1.2.3.4", "2001:db8::1"}) {
    const auto from = address(host, "258");
    Bytes front = header(from, address(host, "443"));
    for (std::size_t size = 0; size < front.size(); ++size) {
      EXPECT_EQ(read(ByteView(front).first(size)).state, State::kPartial);
    }
    const std::size_t bytes = front.size();
    front.push_back('x');
    const ProxyHeader whole = read(front);
    EXPECT_EQ(whole.state, State::kWhole);
    EXPECT_EQ(whole.bytes, bytes);
    EXPECT_EQ(connection(whole.from), connection(from));
  }
}

TEST(ProxyHeader, NobodyIsBelievedWithoutTheSecret) {
  const auto from = address("1.2.3.4", "1"), to = address("5.6.7.8", "2");
  for (const char* word : {"", "a", "a secret of sixteen bytes or morE"}) {
    EXPECT_EQ(read(header(from, to, word)).state, State::kWrong);
  }
  EXPECT_EQ(read(header(from, to, ""), {}).state, State::kWrong);
  // Whichever byte of one that was overheard is changed: above all, another address.
  const Bytes heard = header(from, to);
  for (std::size_t i = 12; i < heard.size(); ++i) {
    Bytes changed = heard;
    changed[i] ^= 1;
    changed.resize(limits::kProxyHeaderBytesMax);  // however long it says it is
    EXPECT_EQ(read(changed).state, State::kWrong) << i;
  }
  Bytes more = heard;  // a field that nobody vouches for
  more[15] += 3;
  more.insert(more.end(), {0xE1, 0, 0});
  EXPECT_EQ(read(more).state, State::kWrong);
  Bytes short_one = heard;
  short_one[15] = 3;
  EXPECT_EQ(read(short_one).state, State::kWrong);
}

// The fault: who had overheard one header knew the secret, and could say any address for ever.
TEST(ProxyHeader, TheSecretIsNotInIt) {
  const Bytes made = header(address("1.2.3.4", "1"), address("5.6.7.8", "2"));
  const ByteView secret = core::as_bytes(kWord);
  EXPECT_TRUE(std::ranges::search(made, secret).empty());
}

TEST(ProxyHeader, IsBelievedForAWhile) {
  const Bytes made = header(address("1.2.3.4", "1"), address("5.6.7.8", "2"));
  const auto state_at = [&](std::int64_t ms) {
    return read(made, {.current = kWord}, kNowMs + ms).state;
  };
  EXPECT_EQ(state_at(kAgeMs), State::kWhole);
  EXPECT_EQ(state_at(-kAgeMs), State::kWhole) << "clocks differ";
  EXPECT_EQ(state_at(kAgeMs + 1), State::kWrong);
  EXPECT_EQ(state_at(-kAgeMs - 1), State::kWrong);
}

TEST(ProxyHeader, TheFormerSecretIsGoodForAWhile) {
  const Bytes made = header(address("1.2.3.4", "1"), address("5.6.7.8", "2"), "former");
  const RelaySecrets secrets{
      .current = kWord, .former = "former", .former_until_ms = kNowMs + 1'000};
  EXPECT_EQ(read(made, secrets, kNowMs + 999).state, State::kWhole);
  EXPECT_EQ(read(made, secrets, kNowMs + 1'000).state, State::kWrong);
}

TEST(ProxyHeader, WhatBeginsOtherwiseIsLeftThere) {
  for (const std::string_view front : {"GET / HTTP/1.1\r\n", "PRI * HTTP/2.0", "\x16\x03\x01"}) {
    EXPECT_EQ(read(core::as_bytes(front)).state, State::kNone);
  }
  EXPECT_TRUE(header(address("1.2.3.4", "1"), address("::1", "1")).empty());
}

TEST(ProxyHeader, IsTakenOffASocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const core::Descriptor a(ends[0]), b(ends[1]);
  const auto take = [&](const RelaySecrets& secrets = {.current = kWord}) {
    return take_proxy_header(b.get(), secrets, kNowMs).state;
  };
  EXPECT_EQ(take(), State::kPartial);
  Bytes said = header(address("1.2.3.4", "1"), address("5.6.7.8", "2"));
  said.push_back('x');
  ASSERT_EQ(::write(a.get(), said.data(), 20), 20);
  EXPECT_EQ(take(), State::kPartial);
  ASSERT_GT(::write(a.get(), said.data() + 20, said.size() - 20), 0);
  EXPECT_EQ(take({}), State::kNone);
  EXPECT_EQ(take(), State::kWhole);
  char next = 0;
  EXPECT_EQ(::read(b.get(), &next, 1), 1);
  EXPECT_EQ(next, 'x');
}

}  // namespace
}  // namespace commensal::crypto
