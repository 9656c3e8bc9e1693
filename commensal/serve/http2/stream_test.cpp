// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/http2/stream.hpp>

namespace commensal::http2 {
namespace {

/// Takes what comes, up to so many bytes.
class Taker : public Call {
 public:
  explicit Taker(std::int64_t most = 1 << 30) : most_(most) {}
  bool on_coming(std::int64_t bytes) override { return bytes <= most_; }
  void on_message(std::optional<Message> /*message*/) override {}
  void on_written() override {}
  void on_end(End /*how*/) override {}

 private:
  const std::int64_t most_;
};

std::string joined(const Message& message) {
  std::string whole;
  for (const std::string& piece : message.pieces) whole += piece;
  return whole;
}

std::string wire_of(const std::vector<Message>& messages) {
  Outgoing out;
  for (const Message& message : messages) out.add(message);
  std::string wire;
  EXPECT_EQ(out.move(wire, static_cast<std::size_t>(out.bytes())), std::ssize(messages));
  EXPECT_EQ(out.bytes(), 0);
  return wire;
}

TEST(Stream, MessagesComeAsTheyWereSentHoweverTheyAreCut) {
  core::CounterRng rng(7);
  const auto below = [&](std::uint64_t most) { return rng.next_u64() % most; };
  for (int round = 0; round < 200; ++round) {
    std::vector<Message> sent;
    for (std::uint64_t i = below(5) + 1; i > 0; --i) {
      Message& one = sent.emplace_back();
      one.is_compressed = below(2) == 1;
      for (std::uint64_t piece = below(4); piece > 0; --piece)
        one.pieces.emplace_back(below(round % 10 == 0 ? 600'000 : 60),
                                static_cast<char>(below(256)));
    }
    const std::string wire = wire_of(sent);
    Taker taker;
    Incoming in;
    std::vector<Message> come;
    std::string_view left = wire;
    while (!left.empty()) {
      std::string_view part = left.substr(0, below(round % 3 == 0 ? 9 : 90'000) + 1);
      left.remove_prefix(part.size());
      while (!part.empty()) {
        const Incoming::Taken taken = in.take(part, taker);
        ASSERT_GT(taken.bytes, 0U);
        part.remove_prefix(taken.bytes);
        if (taken.state == Incoming::State::kWhole) come.push_back(in.release());
      }
    }
    EXPECT_TRUE(in.is_between());
    ASSERT_EQ(come.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(joined(come[i]), joined(sent[i]));
      EXPECT_EQ(come[i].is_compressed, sent[i].is_compressed);
    }
  }
}

TEST(Stream, WhatIsTooLargeIsRefusedBeforeItComes) {
  const std::string head("\0\x7f\xff\xff\xff", 5);
  Taker few(0x7ffffffe), many(0x7fffffff);
  EXPECT_EQ(Incoming().take(head, few).state, Incoming::State::kRefused);
  Incoming in;
  EXPECT_EQ(in.take(head, many).state, Incoming::State::kPartial);
  EXPECT_EQ(in.left(), 0x7fffffff);
}

TEST(Stream, AMessageBeginsWithAFlag) {
  Taker taker;
  Incoming in;
  EXPECT_EQ(in.take(std::string("\2\0\0\0\0", 5), taker).state, Incoming::State::kBroken);
}

TEST(Stream, MovesInPieces) {
  Outgoing out;
  out.add({.pieces = {std::string(10'000, 'a'), std::string(10'000, 'b')}});
  out.add({.pieces = {}});
  std::string moved;
  EXPECT_EQ(out.move(moved, 5), 0);
  EXPECT_EQ(moved, std::string("\0\0\0\x4e\x20", 5));
  EXPECT_EQ(out.move(moved, 19'999), 0);
  EXPECT_EQ(out.move(moved, 1), 1);
  EXPECT_EQ(out.bytes(), 5);
  EXPECT_EQ(out.move(moved, 5), 1);
}

TEST(Stream, ReadsTimeouts) {
  EXPECT_EQ(read_timeout_ns("100m"), 100'000'000);
  EXPECT_EQ(read_timeout_ns("2S"), 2'000'000'000);
  EXPECT_EQ(read_timeout_ns("5n"), 5);
  EXPECT_EQ(read_timeout_ns("1H"), 3'600'000'000'000);
  EXPECT_GT(read_timeout_ns("99999999H"), 0) << "a longer one is a year";
  for (const char* none : {"", "m", "1", "-1S", "0S", "1x", "123456789S", "1.5S"})
    EXPECT_EQ(read_timeout_ns(none), 0) << none;
}

TEST(Stream, EncodesTextsForHeads) {
  EXPECT_EQ(percent_encoded("100 % \xc3\xa4\n"), "100 %25 %C3%A4%0A");
}

}  // namespace
}  // namespace commensal::http2
