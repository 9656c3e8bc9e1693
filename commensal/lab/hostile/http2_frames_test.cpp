// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/lab/hostile/http2_frames.hpp>

namespace commensal::lab::hostile::http2 {
namespace {

using namespace std::string_view_literals;

TEST(Http2Frames, AreWrittenAsTheRfcHasThem) {
  EXPECT_EQ(encode({Kind::kPing, kAck, 0, "12345678"}),
            "\x00\x00\x08\x06\x01\x00\x00\x00\x00"
            "12345678"sv);
  EXPECT_EQ(reset(0x01020305), "\x00\x00\x04\x03\x00\x01\x02\x03\x05\x00\x00\x00\x08"sv);
  EXPECT_EQ(preface(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"sv);
}

// Numbers of names: RFC 7541, appendix A.
TEST(Http2Frames, ACallNamesItsPathAndWhatGrpcAsksFor) {
  EXPECT_EQ(call(3, "/x"),
            "\x00\x00\x29\x01\x04\x00\x00\x00\x03"
            "\x83\x86\x04\x02/x\x01\x01x\x0f\x10\x10"
            "application/grpc\x00\x02te\x08trailers"sv);
}

TEST(Http2Frames, HeadsAreAsLongAsTheyAre) {
  EXPECT_EQ(header("x", "ab"),
            "\x00\x01x\x02"
            "ab"sv);
  // RFC 7541, 5.1: 127 + 58 + 9 * 128.
  EXPECT_EQ(header("x", std::string(1'337, 'a')),
            std::string("\x00\x01x\x7f\xba\x09"sv) + std::string(1'337, 'a'));
  const std::string made = call(3, "/x", header("x", std::string(20'000, 'a')));
  Reader reader;
  reader.feed(made);
  const auto head = reader.next(), rest = reader.next();
  ASSERT_TRUE(head && rest);
  EXPECT_EQ(head->content.size(), kContentBytes);
  EXPECT_FALSE(head->has(kEndHeaders));
  EXPECT_EQ(rest->kind, Kind::kContinuation);
  EXPECT_EQ(rest->stream, 3U);
  EXPECT_TRUE(rest->has(kEndHeaders));
}

TEST(Http2Frames, RoomIsMadeOrRefused) {
  EXPECT_EQ(window(3, 0x0102), "\x00\x00\x04\x08\x00\x00\x00\x00\x03\x00\x00\x01\x02"sv);
  EXPECT_EQ(no_window(), "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"sv);
  EXPECT_EQ(message("ab"),
            "\x00\x00\x00\x00\x02"
            "ab"sv);
}

TEST(Http2Frames, AreReadHoweverTheyAreCut) {
  const Frame frames[] = {{Kind::kData, kEndStream, 5, std::string(300, 'a')},
                          {Kind::kSettings, kAck, 0, ""},
                          {Kind::kReset, 0, 7, number(4, 8)}};
  std::string bytes;
  for (const Frame& frame : frames) bytes += encode(frame);
  for (const std::size_t step : {1U, 8U, 10U, 1'000U}) {
    Reader reader;
    std::size_t heard = 0;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      while (const auto frame = reader.next()) EXPECT_EQ(*frame, frames[heard++]);
    }
    EXPECT_EQ(heard, std::size(frames)) << step;
  }
}

TEST(Http2Frames, NoMoreIsSentThanWindowsLeave) {
  Windows windows;
  EXPECT_EQ(windows.take(1, 10), 0U) << "nobody opened it";
  windows.open(1);
  windows.open(3);
  EXPECT_EQ(windows.take(1, 60'000), 60'000U);
  EXPECT_EQ(windows.take(3, 60'000), 5'535U) << "of the connection's";
  windows.hear({Kind::kWindow, 0, 0, number(4, 100'000)});
  EXPECT_EQ(windows.take(1, 60'000), 5'535U) << "of the stream's";
  windows.hear({Kind::kWindow, 0, 1, number(4, 7)});
  EXPECT_EQ(windows.take(1, 60'000), 7U);
  windows.hear({Kind::kSettings, 0, 0, number(2, 4) + number(4, 65'545)});
  EXPECT_EQ(windows.take(1, 60'000), 10U) << "open streams' windows grow with the first";
  windows.hear({Kind::kSettings, 0, 0, number(2, 4) + number(4, 0)});
  EXPECT_EQ(windows.take(1, 1), 0U) << "or sink below none";
}

}  // namespace
}  // namespace commensal::lab::hostile::http2
