// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <hosts/equihash/hashes.hpp>
#include <hosts/equihash/miner.hpp>
#include <hosts/equihash/solver.hpp>
#include <hosts/equihash/testing/join.hpp>
#include <hosts/equihash/verifier.hpp>
#include <map>
#include <sstream>

namespace hosts::equihash {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Found solve(const Params& params, std::span<const std::uint8_t> input, unsigned spare) {
  std::atomic<std::uint64_t> passes{0};
  const std::atomic<bool> stop{false};
  Solver solver(params, spare);
  Found found = solver.solve(input, {passes, stop});
  EXPECT_EQ(passes.load(), solver.passes_a_run()) << "work is counted alike in every run";
  return found;
}

TEST(Hashes, EqualLibsodiumForEveryLengthOfInput) {
  const Params params = *make_params(200, 9);
  std::vector<std::uint8_t> input;
  for (std::size_t size = 0; size <= 400; ++size) {
    if (Hashes::fits(size)) {
      Hashes::Block block;
      Hashes(params, input).compute(0x01020300, block);
      for (unsigned lane = 0; lane < Hashes::kLanes; lane += 3) {
        for (unsigned part = 0; part < 2; ++part) {
          const auto expected = string_of(params, input, 2 * (0x01020300 + lane) + part);
          const std::uint8_t* begin = block[lane].data() + 25 * part;
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << size;
        }
      }
    }
    input.push_back(static_cast<std::uint8_t>(31 * size + 7));
  }
}

TEST(Solver, FindsWhatTheDefinitionFinds) {
  std::size_t found_in_all = 0;
  std::size_t compared = 0;
  const std::pair<unsigned, unsigned> sizes[] = {{48, 5}, {40, 4}, {32, 3}, {24, 3}, {16, 3}};
  for (const auto& [n, k] : sizes) {
    const Params params = *make_params(n, k);
    for (std::uint64_t nonce = 0; nonce < 24; ++nonce) {
      const Input input = input_of(5, 0, nonce);
      const Found found = solve(params, input, 64);
      if (found.rows_dropped > 0) continue;  // rare: rows that multiply
      const auto expected = testing::all_solutions(params, input);
      ASSERT_EQ(found.solutions, expected) << n << "," << k << " nonce " << nonce;
      found_in_all += expected.size();
      ++compared;
    }
  }
  EXPECT_GT(compared, 100U);
  EXPECT_GT(found_in_all, 80U);
}

TEST(Solver, FindsAboutAsManyAsExpected) {
  const Params params = *make_params(96, 5);
  std::size_t solutions = 0;
  for (std::uint64_t nonce = 0; nonce < 40; ++nonce)
    solutions += solve(params, input_of(9, 1, nonce), 1).solutions.size();
  EXPECT_GT(solutions, 40U);  // 2 a run on average: 80, with a deviation of 9
  EXPECT_LT(solutions, 130U);
}

/// tests/vectors/equihash/zcash.txt: lines "n k nonce text" and, for each, its solutions.
struct Vector {
  Params params;
  std::vector<std::uint8_t> input;
  std::vector<Indices> solutions;
};

std::vector<Vector> vectors() {
  std::ifstream file(std::string(COMMENSAL_SOURCE_DIR) + "/tests/vectors/equihash/zcash.txt");
  std::vector<Vector> read;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    if (line[0] == '=') {
      unsigned n = 0, k = 0, nonce = 0;
      std::string mark, text;
      words >> mark >> n >> k >> nonce >> std::ws;
      std::getline(words, text);
      Vector vector{*make_params(n, k), {text.begin(), text.end()}, {}};
      vector.input.resize(text.size() + 32);  // the nonce: 32 bytes, least significant first
      vector.input[text.size()] = static_cast<std::uint8_t>(nonce);
      vector.input[text.size() + 1] = static_cast<std::uint8_t>(nonce >> 8);
      read.push_back(std::move(vector));
    } else {
      Indices indices;
      for (std::uint32_t index = 0; words >> index;) indices.push_back(index);
      read.back().solutions.push_back(std::move(indices));
    }
  }
  return read;
}

TEST(Solver, FindsTheSolutionsThatZcashPublished) {
  const auto all = vectors();
  ASSERT_THAT(all, SizeIs(6));
  for (const Vector& vector : all) {
    const Found found = solve(vector.params, vector.input, 2);
    EXPECT_EQ(found.rows_dropped, 0U);
    EXPECT_EQ(found.solutions, vector.solutions);
    for (const Indices& solution : vector.solutions)
      EXPECT_EQ(verify(vector.params, vector.input, solution), std::nullopt);
  }
}

TEST(Verifier, RefusesWhatIsBent) {
  const Vector vector = vectors()[0];
  const Indices good = vector.solutions.at(0);
  const auto refusal = [&](const Indices& bent) {
    return verify(vector.params, vector.input, bent).value_or("accepted");
  };
  EXPECT_EQ(refusal(good), "accepted");
  for (std::size_t i = 0; i < good.size(); ++i) {  // another index anywhere
    Indices bent = good;
    bent[i] ^= 1;
    EXPECT_NE(refusal(bent), "accepted") << i;
  }
  for (std::size_t width = 1; width < good.size(); width *= 2) {  // halves of any subtree swapped
    for (std::size_t at = 0; at < good.size(); at += 2 * width) {
      Indices bent = good;
      std::swap_ranges(bent.begin() + static_cast<std::ptrdiff_t>(at),
                       bent.begin() + static_cast<std::ptrdiff_t>(at + width),
                       bent.begin() + static_cast<std::ptrdiff_t>(at + width));
      EXPECT_THAT(refusal(bent), HasSubstr("wrong order"));
    }
  }
  Indices sorted = good;
  std::ranges::sort(sorted);
  EXPECT_THAT(refusal(sorted), HasSubstr("zero bits"));
  Indices twice = good;
  std::copy(good.begin(), good.begin() + 16, twice.begin() + 16);
  EXPECT_THAT(refusal(twice), HasSubstr("twice"));
  Indices large = good;
  large[3] = vector.params.strings();
  EXPECT_THAT(refusal(large), HasSubstr("too large"));
  EXPECT_THAT(refusal(Indices(good.begin(), good.end() - 1)), HasSubstr("32 indices"));
  auto other = vector.input;
  other.back() ^= 1;
  EXPECT_TRUE(verify(vector.params, other, good)) << "a solution is one of its own input only";
}

TEST(Params, RefuseWhatIsNoEquihash) {
  const struct {
    unsigned n, k;
    const char* why;
  } cases[] = {{0, 9, "multiple of 8"}, {201, 9, "multiple of 8"},     {1024, 7, "from 8 to 512"},
               {200, 0, "k must be"},   {200, 8, "multiple of k + 1"}, {144, 5, "4 to 20 bits"},
               {24, 7, "4 to 20 bits"}, {200, 60, "k must be"}};
  for (const auto& c : cases) {
    const auto made = make_params(c.n, c.k);
    ASSERT_FALSE(made) << c.n;
    EXPECT_THAT(made.error(), HasSubstr(c.why)) << c.n;
  }
}

TEST(Miner, CountsAndStops) {
  Miner miner({*make_params(48, 5), 2, 3});
  MinerCounts before = miner.counts();
  while (miner.counts().solutions < 20) {
    const MinerCounts now = miner.counts();
    ASSERT_GE(now.passes, before.passes);
    before = now;
  }
  miner.stop();
  const MinerCounts after = miner.counts();
  EXPECT_EQ(after.invalid, 0U);
  EXPECT_GT(after.runs, 2U);
  EXPECT_EQ(miner.counts().passes, after.passes) << "nobody works any more";
}

}  // namespace
}  // namespace hosts::equihash
