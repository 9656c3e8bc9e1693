// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/guest/memory.hpp>
#include <limits>

namespace commensal::guest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNow = 1.8e9;

template <class AMemory>
core::Result<void> keep(AMemory&& memory, std::string_view guest, const governor::Carried& carried,
                        double now_s) {
  memory.note(guest, carried, now_s);
  return memory.save(memory.text());
}

class MemoryTest : public testing::Test {
 protected:
  std::string text(const Memory& memory) const {
    return std::string(core::as_text(core::read_file(memory.path()).value()));
  }
  void write(const Memory& memory, std::string_view bytes) const {
    const core::ByteView parts[] = {core::as_bytes(bytes)};
    ASSERT_TRUE(core::replace_file(memory.path(), parts));
  }
  Memory memory(const std::string& about = "xmrig:http://127.0.0.1:4067 here") const {
    return {made_.path() / "hosts", about};
  }

  const governor::Carried carried_{governor::Learnt{0.01, 0.001, 0.002, 0.0005, -0.5, 1e-4, 0.5},
                                   {3, 4, 200, 2},
                                   1000,
                                   1.5,
                                   200,
                                   60};
  const governor::Rules rules_;

 private:
  core::TemporaryFolder made_ = core::TemporaryFolder::make("memory").value();
};

TEST_F(MemoryTest, OutlivesARestartWithinTheHour) {
  ASSERT_TRUE(keep(memory(), "a on 2", carried_, kNow));
  Memory next = memory();
  ASSERT_TRUE(next.read());
  const auto known = next.recall("a on 2", kNow + 60, rules_);
  EXPECT_EQ(known.hour_s, 1060);
  EXPECT_EQ(known.hour.lost_s, 3);
  EXPECT_EQ(known.hour.variance, 4);
  EXPECT_EQ(known.hour.run_s, 200);
  EXPECT_EQ(known.hour.explored_s, 2);
  EXPECT_EQ(known.rest_s, 140);
  EXPECT_EQ(known.back_off_s, 60);
  EXPECT_EQ(known.minute_run_s, 0);
  EXPECT_EQ(next.recall("a on 2", kNow + 30, rules_).minute_run_s, 1.5);
  EXPECT_EQ(known.learnt->cost, 0.01);
  EXPECT_GE(known.learnt->cost_sd, 0.001);
  EXPECT_LT(known.learnt->correlation, -0.3);
  EXPECT_EQ(known.learnt->level_tried, 0.5);
  // What another guest costs is not known, but the hour is the host's.
  const auto other = next.recall("a on 4", kNow + 60, rules_);
  EXPECT_FALSE(other.learnt);
  EXPECT_EQ(other.hour.run_s, 200);
  const auto tomorrow = next.recall("a on 2", kNow + 86'400, rules_);
  EXPECT_EQ(tomorrow.hour.run_s, 0);
  EXPECT_GT(tomorrow.learnt->cost_sd, known.learnt->cost_sd);
  // A clock that goes back makes nothing younger.
  EXPECT_EQ(next.recall("a on 2", kNow - 60, rules_).hour_s, 1000);
}

TEST_F(MemoryTest, KnowsEachGuestByItself) {
  Memory one = memory();
  for (int i = 0; i < 40; ++i) {
    governor::Carried carried = carried_;
    carried.learnt->cost = 0.01 * i;
    ASSERT_TRUE(keep(one, "guest " + std::to_string(i), carried, kNow + i));
  }
  Memory next = memory();
  ASSERT_TRUE(next.read());
  EXPECT_FALSE(next.recall("guest 7", kNow, rules_).learnt);
  EXPECT_DOUBLE_EQ(next.recall("guest 8", kNow, rules_).learnt->cost, 0.08);
  EXPECT_DOUBLE_EQ(next.recall("guest 39", kNow, rules_).learnt->cost, 0.39);
}

TEST_F(MemoryTest, BeginsAnewWithWhatIsDamagedOrAnothers) {
  Memory memory = this->memory();
  EXPECT_TRUE(memory.read());  // there is none yet
  ASSERT_TRUE(keep(memory, "a", carried_, kNow));
  const std::string good = text(memory);
  Memory other = this->memory("process:miner here");
  EXPECT_NE(other.path(), memory.path());
  ASSERT_TRUE(keep(other, "a", {}, kNow));
  for (const std::string& bad :
       {std::string(), std::string("null"), good.substr(0, good.size() / 2), text(other),
        std::string(limits::kGovernorMemoryBytesMax + 1, ' '), std::string("{\"about\":1}")}) {
    write(memory, bad);
    const auto read = memory.read();
    ASSERT_FALSE(read) << bad;
    EXPECT_THAT(read.error().message, HasSubstr("learnt anew"));
    EXPECT_THAT(read.error().message, Not(HasSubstr("\n")));
    EXPECT_FALSE(memory.recall("a", kNow, rules_).learnt);
    EXPECT_EQ(memory.recall("a", kNow, rules_).hour.run_s, 0);
  }
  // Any byte: an error, or numbers within their bounds.
  core::CounterRng rng(5);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    bytes[rng.next_u64() % bytes.size()] = static_cast<char>(rng.next_u64());
    write(memory, bytes);
    if (!memory.read()) continue;
    const auto known = memory.recall("a", kNow, rules_);
    EXPECT_GE(known.hour.run_s, 0);
    EXPECT_LE(known.hour_s, 3600);
    if (known.learnt) {
      EXPECT_GE(known.learnt->cost_sd, 0);
      EXPECT_LE(known.learnt->level_tried, 1);
    }
  }
}

// Whatever was learnt, of an hour however long, and however a host is called.
TEST_F(MemoryTest, ReadsWhatItHasWritten) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string name = "log:/var/\xe9\xff.log#(\\d+)";
  for (const double cost : {57.0, -1e9, infinity}) {
    governor::Carried carried = carried_;
    carried.learnt->cost = cost;
    carried.learnt->cost_sd = 60;
    carried.hour.lost_s = 1e6;
    carried.hour_s = 3'700;
    ASSERT_TRUE(keep(memory(name), "net\xc3", carried, kNow));
    Memory again = memory(name);
    const auto read = again.read();
    ASSERT_TRUE(read) << cost << read.error().message;
    const auto known = again.recall("net\xc3", kNow, rules_);
    ASSERT_TRUE(known.learnt) << cost;
    EXPECT_EQ(known.hour.lost_s, 0) << "that hour is over";
  }
}

TEST_F(MemoryTest, KeepsNothingWithoutAFolder) {
  Memory memory({}, "x");
  ASSERT_TRUE(memory.read());
  ASSERT_TRUE(keep(memory, "a", carried_, kNow));
  EXPECT_EQ(memory.recall("a", kNow, rules_).hour.run_s, 200);
  EXPECT_TRUE(memory.path().empty());
}

TEST(LastingName, HoldsNoSecretAndNoNumberOfAProcess) {
  EXPECT_EQ(lasting_name("xmrig:http://hush@127.0.0.1:4067"), "xmrig:http://127.0.0.1:4067");
  EXPECT_EQ(lasting_name("xmrig:http://127.0.0.1:4067"), "xmrig:http://127.0.0.1:4067");
  EXPECT_EQ(lasting_name("prometheus:http://a@b@[::1]:9/metrics#x{y=\"p@q\"}"),
            "prometheus:http://[::1]:9/metrics#x{y=\"p@q\"}");
  EXPECT_EQ(lasting_name("prometheus:http://[::1]:9/m@n#x"), "prometheus:http://[::1]:9/m@n#x");
  EXPECT_EQ(lasting_name("log:/var/log/a@b#at http://x@y (\\d+)"),
            "log:/var/log/a@b#at http://x@y (\\d+)");
  EXPECT_EQ(lasting_name("process:" + std::to_string(::getpid())).substr(0, 18),
            "process:commensal_");
  EXPECT_EQ(lasting_name("process:0"), "process:?");
  EXPECT_EQ(lasting_name("xmrig:http://127.0.0.1:4067@listener"), "xmrig:http://127.0.0.1:4067");
  EXPECT_EQ(lasting_name("lolminer:http://hush@127.0.0.1:4444@1234"),
            "lolminer:http://127.0.0.1:4444");
  EXPECT_EQ(lasting_name("counter:/run/x@1234"), "counter:/run/x");
}

}  // namespace
}  // namespace commensal::guest
