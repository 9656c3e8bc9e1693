// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/pages.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace commensal::core {
namespace {

// Known-answer vectors of Random123 1.14 (kat_vectors, philox4x32 10).
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterRng, AnyElementIsComputedAlone) {
  CounterRng rng(7, 3);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const float expected =
        static_cast<float>(static_cast<std::int32_t>(rng.next_u32() >> 8) - (1 << 23)) * 0x1p-23f;
    EXPECT_EQ(counter_symmetric_f32(7, 3, i), expected);
  }
}

TEST(Hex, ReadsWhatItWritesAndRefusesTheRest) {
  const Bytes bytes = {0x00, 0x7f, 0xff};
  EXPECT_EQ(to_hex(bytes), "007fff");
  EXPECT_EQ(*from_hex("0x007FfF"), bytes);
  EXPECT_FALSE(from_hex("abc"));
  EXPECT_FALSE(from_hex("zz"));
  EXPECT_FALSE(digest_from_hex("00"));
}

TEST(Pages, AreZeroedAlignedAndWritable) {
  for (const std::size_t bytes : {std::size_t{1}, kPagesBytesMin, (std::size_t{5} << 20) + 123}) {
    const Pages pages = allocate_pages(bytes);
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.get()) % 4096, 0u);
    EXPECT_TRUE(std::all_of(pages.get(), pages.get() + bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
    pages.get()[bytes - 1] = std::byte{1};
  }
}

/// Whether the system was told to take large pages where `at` lies, as /proc/self/smaps says.
bool prefers_large_pages(const void* at) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(at);
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> first >> dash >> end && dash == '-')
      is_here = first <= wanted && wanted < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST(Pages, OfTheHeapAreLargeWhereThatIsPreferred) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP();
  constexpr std::size_t kBytes = std::size_t{10} << 20, kSmall = std::size_t{1} << 20;
  std::vector<char> large, small;
  large.reserve(kBytes);
  small.reserve(kSmall);
  prefer_large_pages(large.data(), kBytes);
  prefer_large_pages(small.data(), kSmall);  // is none: nothing happens
  EXPECT_TRUE(prefers_large_pages(large.data() + kBytes / 2));
  large.assign(kBytes, 'x');
  EXPECT_EQ(std::ranges::count(large, 'x'), kBytes);
}

TEST(Pages, OfZerosAreThereWhateverTheirSize) {
  constexpr std::size_t kMuch = std::size_t{1} << 40;  // more than there is
  const Pages pages = zero_pages(kMuch);
  ASSERT_NE(pages, nullptr);
  for (const std::size_t i : {std::size_t{0}, kMuch / 2, kMuch - 1}) {
    EXPECT_EQ(pages.get()[i], std::byte{0});
  }
}

TEST(File, SavedForAPersonKeepsItsModeAndWhatIsNoFile) {
  const auto folder = *TemporaryFolder::make("commensal-save");
  const Path file = folder.path() / "file", link = folder.path() / "link";
  const auto mode_of = [](const Path& path) { return std::filesystem::status(path).permissions(); };
  const auto bytes = [](std::string_view text) { return as_bytes(text); };
  ASSERT_TRUE(save_for_user(file, bytes("one"), 0600));
  EXPECT_EQ(mode_of(file), std::filesystem::perms{0600});
  std::filesystem::create_symlink(file, link);
  std::filesystem::permissions(file, std::filesystem::perms{0640});
  ASSERT_TRUE(save_for_user(link, bytes("two")));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(mode_of(file), std::filesystem::perms{0640});
  EXPECT_EQ(as_text(*read_file(file)), "two");
  const auto full = save_for_user("/dev/full", bytes("three"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "cannot write '/dev/full': No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(File, ComesBackAfterItsPagesWereForgotten) {
  const Path path = Path(::testing::TempDir()) / "commensal_core_forget_test";
  Bytes bytes(3 << 16);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 / 5);
  ASSERT_TRUE(write_file_atomically(path, bytes));
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  const ByteView all = (*file)->bytes();
  for (const ByteView part : {all, all.subspan(5, 1), all.subspan(100, 70000), all.first(0)}) {
    EXPECT_TRUE(std::equal(all.begin(), all.end(), bytes.begin()));
    (*file)->forget(part);
  }
  EXPECT_TRUE(std::equal(all.begin(), all.end(), bytes.begin()));
}

// Of whole blocks, of none, of some and a rest; where the file system has such a way, and where
// not.
TEST(File, ThatIsReadSeldomHasTheSameBytes) {
  for (const char* folder : {".", "/dev/shm"}) {
    const auto made = TemporaryFolder::make("seldom", folder);
    ASSERT_TRUE(made) << made.error().message;
    const Path path = made->path() / "file";
    for (const std::size_t size : {0, 1, 4095, 4096, 4097, (2 << 20) + 4096, (5 << 20) + 5}) {
      Bytes bytes(size);
      for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 131 >> 7);
      const auto written = write_file_atomically(path, bytes, 0600, ReadAgain::kSeldom);
      ASSERT_TRUE(written) << written.error().message;
      EXPECT_TRUE(read_file(path).value() == bytes) << folder << ", " << size;
    }
  }
}

TEST(TemporaryFolder, IsTheOwnersAndGoesWithTheObject) {
  Path first;
  {
    auto made = TemporaryFolder::make("commensal-core");
    ASSERT_TRUE(made) << made.error().message;
    const TemporaryFolder folder = *std::move(made);
    first = folder.path();
    EXPECT_EQ(first.parent_path(), std::filesystem::temp_directory_path());
    EXPECT_EQ(std::filesystem::status(first).permissions(), std::filesystem::perms::owner_all);
    const auto inner = TemporaryFolder::make("inner", first);
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->path().parent_path(), first);
    ASSERT_TRUE(write_file_atomically(inner->path() / "file", Bytes{1}));
  }
  EXPECT_FALSE(std::filesystem::exists(first));
  const auto refused = TemporaryFolder::make("commensal-core", first);
  EXPECT_NE(refused.error().message.find("No such file"), std::string::npos);
}

TEST(File, IsReplacedAtomicallyAndMapped) {
  const Path path = Path(::testing::TempDir()) / "commensal_core_file_test";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("one")));
  ASSERT_TRUE(write_file_atomically(path, as_bytes("two"), 0600));
  EXPECT_EQ(as_text(*read_file(path)), "two");
  EXPECT_EQ(read_file(path, 2).error().code, ErrorCode::kResourceExhausted);
  std::filesystem::remove(path);
  EXPECT_EQ(read_file(path).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file(::testing::TempDir()).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace commensal::core
