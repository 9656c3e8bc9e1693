// SPDX-License-Identifier: Apache-2.0
// Event files, beside what is published of their format, and of CRC-32C.
#include <gtest/gtest.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/train/tensorboard.hpp>
#include <cstring>
#include <filesystem>

namespace commensal::train {
namespace {

using core::Bytes;

TEST(TrainingEvents, ChecksumsAreThePublishedOnes) {
  EXPECT_EQ(crc32c(core::as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(Bytes(32, 0)), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(Bytes(32, 0xff)), 0x62a8ab43U);
  Bytes rising, falling;
  for (std::uint8_t i = 0; i < 32; ++i) {
    rising.push_back(i);
    falling.push_back(static_cast<std::uint8_t>(31 - i));
  }
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
  EXPECT_EQ(crc32c(falling), 0x113fdb5cU);
}

TEST(TrainingEvents, AreWrittenAsDescribed) {
  // Event{wall_time: 1.0, file_version: "brain.Event:2"}
  const Bytes version = {9,   0,   0,   0,   0,   0,   0,   0xf0, 0x3f, 26,  13,  'b',
                         'r', 'a', 'i', 'n', '.', 'E', 'v', 'e',  'n',  't', ':', '2'};
  EXPECT_EQ(version_event(1.0), version);
  // Event{wall_time: 1.0, step: 300, summary{value{tag: "loss", simple_value: 0.5}}}
  const Bytes scalar = {9,  0,  0,  0, 0,   0,   0,   0xf0, 0x3f, 16, 0xac, 2, 42,  13,
                        10, 11, 10, 4, 'l', 'o', 's', 's',  21,   0,  0,    0, 0x3f};
  EXPECT_EQ(scalars_event(1.0, 300, {{"loss", 0.5f}}), scalar);
}

TEST(TrainingEvents, FilesAreRecordsOneAfterAnother) {
  const auto folder = core::TemporaryFolder::make("commensal-events");
  ASSERT_TRUE(folder);
  const core::Path place = folder->path() / "run" / "one";
  auto file = EventFile::create(place, 1e9);
  ASSERT_TRUE(file) << file.error().message;
  auto second = EventFile::create(place, 1e9);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(second->path(), file->path());
  ASSERT_TRUE(file->add(1e9 + 1, 1, {{"loss/train", 2.5f}}));
  ASSERT_TRUE(file->add(1e9 + 2, 2, {{"loss/train", 1.5f}, {"accuracy/held_out", 0.5f}}));
  const auto bytes = *core::read_file(file->path());  // while it is open
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
    return value;
  };
  const auto unmasked = [](std::uint64_t masked) {
    const auto turned = static_cast<std::uint32_t>(masked) - 0xa282ead8U;
    return (turned >> 17) | (turned << 15);
  };
  std::size_t records = 0;
  for (std::size_t at = 0; at < bytes.size(); ++records) {
    const std::uint64_t length = number(at, 8);
    ASSERT_LE(at + 16 + length, bytes.size());
    EXPECT_EQ(unmasked(number(at + 8, 4)), crc32c(core::ByteView(bytes).subspan(at, 8)));
    EXPECT_EQ(unmasked(number(at + 12 + length, 4)),
              crc32c(core::ByteView(bytes).subspan(at + 12, length)));
    at += 16 + length;
  }
  EXPECT_EQ(records, 3U);
}

TEST(TrainingEvents, AFolderThatCannotBeIsOneLine) {
  const auto made = EventFile::create("/proc/none", 1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message.find("cannot write events to '/proc/none/events.out"), 0U);
}

}  // namespace
}  // namespace commensal::train
