// SPDX-License-Identifier: Apache-2.0
// What only the twin on a server can get wrong: who writes, and what a lost connection has done.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <commensal/base/core/limits_store.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <commensal/base/store/testing/cutting_proxy.hpp>
#include <commensal/base/store/testing/postgres_server.hpp>
#include <mutex>
#include <thread>

namespace commensal::store {
namespace {

using namespace testing;
using core::Bytes;
using core::ByteView;
using core::ErrorCode;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint8_t kKeys = 5;
constexpr const char* kTakenOver = "database: another gateway has taken over";

Bytes number(std::uint32_t i) {
  return {static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
}

/// Batch i stands under all keys of "last" or under none, and adds a row to "all".
core::Store::Batch batch_of(std::uint32_t i) {
  core::Store::Batch batch;
  for (std::uint8_t key = 0; key < kKeys; ++key) batch.push_back({"last", {key}, number(i)});
  batch.push_back({"all", number(i), Bytes(3000)});
  return batch;
}

class PostgresStoreTest : public ::testing::Test {
 protected:
  using Opened = core::Result<std::unique_ptr<PostgresStore>>;

  void SetUp() override {
    if (const auto missing = PostgresServer::missing_package()) GTEST_SKIP() << *missing;
    server_.emplace();
  }
  Opened open(PostgresOptions options = {}) {
    if (options.owner.empty()) options.owner = "first";
    // A busy machine is not to be taken for a silent server.
    if (options.silence_ms == PostgresOptions().silence_ms) options.silence_ms = 120'000;
    return open_postgres_store(url_.empty() ? server_->url() : url_, options, clock_);
  }
  std::string refusal(const std::string& url) {
    const auto opened = open_postgres_store(url, {.owner = "first"}, clock_);
    EXPECT_FALSE(opened);
    const std::string said = opened ? "" : opened.error().message;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_THAT(said, Not(HasSubstr(PostgresServer::kPassword)));
    return said;
  }
  /// From now on connections go through a proxy.
  CuttingProxy& proxy() {
    if (!proxy_) proxy_.emplace(server_->folder());
    url_ = fmt::format("postgresql://gateway:{}@/postgres?host={}", PostgresServer::kPassword,
                       proxy_->folder().string());
    return *proxy_;
  }
  /// Each batch that a server commits leaves a row.
  void log_batches() {
    server_->psql(
        "CREATE TABLE log(token bigint, batch bigint);"
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO log VALUES(NEW.token, NEW.batch); RETURN NEW; END';"
        "CREATE TRIGGER note AFTER UPDATE OF batch ON commensal_writer FOR EACH ROW"
        " WHEN (NEW.batch > 0) EXECUTE FUNCTION note()");
  }
  std::string written_twice() {
    return server_->psql("SELECT token, batch FROM log GROUP BY 1, 2 HAVING count(*) > 1");
  }
  static std::uint32_t last_of(core::Store& store) {
    const auto last = store.get("last", Bytes{0});
    EXPECT_TRUE(last.has_value()) << last.error().message;
    if (!last || !*last) return 0;
    for (std::uint8_t key = 1; key < kKeys; ++key) {
      const auto other = store.get("last", Bytes{key});
      EXPECT_TRUE(other && *other == *last);
    }
    return (**last)[0] * 256u + (**last)[1];
  }
  static std::uint32_t count_of(core::Store& store) {
    std::uint32_t count = 0;
    EXPECT_TRUE(store.scan("all", {}, [&](ByteView, ByteView) { return ++count > 0; }));
    return count;
  }

  core::SystemClock clock_;
  std::string url_;  // "": the server's own
  std::optional<PostgresServer> server_;
  std::optional<CuttingProxy> proxy_;
};

TEST_F(PostgresStoreTest, SaysInOneLineWhatIsWrong) {
  const core::Path nowhere = server_->folder() / "nowhere";
  EXPECT_THAT(refusal(server_->url("s3cret-wrong")), HasSubstr("password authentication failed"));
  EXPECT_EQ(open_postgres_store(server_->url("wrong"), {.owner = "a"}, clock_).error().code,
            ErrorCode::kPermissionDenied);
  EXPECT_THAT(refusal(server_->url(PostgresServer::kPassword, "none")),
              HasSubstr("database \"none\" does not exist"));
  EXPECT_THAT(refusal("postgresql://a:s3cret-word@/b?host=" + nowhere.string()),
              HasSubstr("No such file or directory"));
  for (const char* url : {"", "host=/tmp password=s3cret-word", "postgresql://a:s3cret-word@/b?c=d",
                          "http://a:s3cret-word@b/c", "postgresql://a:x@s3cret-word@b/c"}) {
    EXPECT_THAT(refusal(url), HasSubstr("expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE"));
  }
  ASSERT_TRUE(open());
  server_->psql("UPDATE commensal_writer SET schema = 2");
  EXPECT_EQ(refusal(server_->url()),
            "database: another version of commensal wrote it (schema 2, expected 1): use a new "
            "database");
  server_->psql("ALTER SYSTEM SET fsync = off");
  server_->psql("SELECT pg_reload_conf()");
  std::string said;
  for (int tries = 0; tries < 100 && said.find("fsync") == said.npos; ++tries, ::usleep(20'000))
    said = refusal(server_->url());
  EXPECT_THAT(said, HasSubstr("expected fsync=on"));
}

TEST_F(PostgresStoreTest, ABatchOfSeveralStatementsIsOne) {
  const auto store = *open();
  const std::size_t third = limits::kStatementBytesMax / 3 * 2;
  ASSERT_TRUE(store->apply({{"a", {1}, Bytes(third, 1)},
                            {"a", {9}, Bytes{9}},
                            {"a", {2}, Bytes(third, 2)},
                            {"a", {3}, Bytes(third, 3)},
                            {"a", {9}, std::nullopt}}));
  std::vector<std::size_t> sizes;
  ASSERT_TRUE(store->scan("a", {}, [&](ByteView key, ByteView value) {
    EXPECT_EQ(key[0], value[0]);
    sizes.push_back(value.size());
    return true;
  }));
  EXPECT_EQ(sizes, std::vector<std::size_t>(3, third));
  core::Store::Batch many;
  for (std::uint32_t i = 0; i < limits::kStatementRowsMax + 10; ++i) {
    many.push_back({"all", number(i), Bytes{}});
  }
  ASSERT_TRUE(store->apply(many));
  EXPECT_EQ(count_of(*store), many.size());
  for (auto& write : many) write.value = std::nullopt;
  ASSERT_TRUE(store->apply(many));
  EXPECT_EQ(count_of(*store), 0u);
}

// Wherever a connection ends: what is acknowledged is there, once, and nothing else.
TEST_F(PostgresStoreTest, ALostConnectionLosesNothingAndRepeatsNothing) {
  proxy();
  const auto store = *open({.lease_ms = 600'000});
  log_batches();
  std::uint32_t next = 1;
  for (const Cut cut : {Cut::kBefore, Cut::kDuring, Cut::kAfter}) {
    for (int at = 0; at < 4; ++at) {
      proxy().arm(at, cut);
      for (int tries = 0; tries < 100 && !proxy().has_cut(); ++tries, ++next) {
        const auto applied = store->apply(batch_of(next));
        ASSERT_TRUE(applied.has_value()) << applied.error().message;
        ASSERT_EQ(last_of(*store), next);
      }
      ASSERT_TRUE(proxy().has_cut());
      ASSERT_EQ(count_of(*store), next - 1);
    }
  }
  EXPECT_EQ(written_twice(), "");
}

// Likewise where the server itself goes, and comes again.
TEST_F(PostgresStoreTest, AKilledServerHasAllThatWasAcknowledged) {
  proxy();
  std::uint32_t next = 1;
  ASSERT_TRUE(open());
  log_batches();
  for (const Cut cut : {Cut::kBefore, Cut::kDuring, Cut::kAfter}) {
    for (const int at : {1, 2}) {  // 0 prepares the first
      auto opened = open({.lease_ms = 600'000, .redial_ms = 60'000});
      ASSERT_TRUE(opened.has_value()) << opened.error().message;
      const auto store = *std::move(opened);
      std::atomic<bool> is_killed = false, has_ended = false;
      proxy().arm(at, cut, [&] {
        server_->kill();
        is_killed = true;
      });
      std::jthread writes([&] {
        for (bool is_last = false; !is_last; ++next) {
          is_last = is_killed;
          const auto applied = store->apply(batch_of(next));
          EXPECT_TRUE(applied.has_value()) << applied.error().message;
          if (!applied) break;
        }
        has_ended = true;
      });
      while (!is_killed && !has_ended) ::usleep(1'000);
      ASSERT_TRUE(is_killed);
      server_->start();
      writes.join();
      ASSERT_EQ(last_of(*store), next - 1);
      ASSERT_EQ(count_of(*store), next - 1);
    }
  }
  EXPECT_EQ(written_twice(), "");
}

TEST_F(PostgresStoreTest, WhatNobodyCanKnowIsSaid) {
  proxy();
  std::uint32_t next = 1;
  for (const Cut cut : {Cut::kBefore, Cut::kAfter}) {
    auto store = open({.lease_ms = 600'000, .redial_ms = 50});
    ASSERT_TRUE(store.has_value()) << store.error().message;
    ASSERT_TRUE((*store)->apply(batch_of(next)));
    proxy().arm(0, cut, [&] { server_->kill(); });
    const auto failed = (*store)->apply(batch_of(next + 1));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(failed.error().message,
                HasSubstr("whether the last batch was written is not known"));
    const auto later = (*store)->apply(batch_of(next + 1));
    EXPECT_EQ(later.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(later.error().message, Not(HasSubstr("not known"))) << "it was never sent";
    EXPECT_EQ((*store)->get("last", Bytes{0}).error().code, ErrorCode::kUnavailable);
    server_->start();
    const bool was_written = last_of(**store) == next + 1;
    EXPECT_EQ(was_written, cut == Cut::kAfter);
    ASSERT_EQ(count_of(**store), was_written ? next + 1 : next);
    next += was_written ? 2 : 1;
  }
}

TEST_F(PostgresStoreTest, ASilentServerIsGivenUp) {
  const auto store = *open({.silence_ms = 300, .redial_ms = 300});
  log_batches();
  ASSERT_TRUE(store->apply(batch_of(1)));
  server_->pause();
  const std::int64_t begin_ns = clock_.monotonic_ns();
  const auto failed = store->apply(batch_of(2));
  EXPECT_LT(clock_.monotonic_ns() - begin_ns, 3'000'000'000);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().message,
            "database: the server said nothing for 300 ms; whether the last batch was written is "
            "not known");
  server_->resume();
  // On a busy machine it may be found silent once more.
  auto applied = store->apply(batch_of(3));
  for (int tries = 0; tries < 50 && !applied; ++tries) applied = store->apply(batch_of(3));
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_EQ(last_of(*store), 3u);
  EXPECT_EQ(written_twice(), "");
}

TEST_F(PostgresStoreTest, AStandbyWaitsUntilTheLeaseIsGivenBack) {
  auto first = *open({.lease_ms = 600'000});
  ASSERT_TRUE(first->apply(batch_of(1)));
  std::atomic<bool> is_open = false;
  std::string holder;
  std::atomic<int> told = 0;
  std::jthread standby([&] {
    const auto second =
        open({.owner = "second", .lease_ms = 600'000, .on_wait = [&](const auto& owner) {
                holder = owner;
                ++told;
              }});
    ASSERT_TRUE(second.has_value()) << second.error().message;
    is_open = true;
    EXPECT_EQ(last_of(**second), 2u);
    EXPECT_TRUE((*second)->apply(batch_of(3)));
  });
  while (told == 0) ::usleep(1'000);
  ::usleep(700'000);  // it has looked again
  EXPECT_EQ(holder, "first");
  EXPECT_FALSE(is_open);
  ASSERT_TRUE(first->apply(batch_of(2)));
  EXPECT_FALSE(first->taken_over());
  first.reset();
  standby.join();
  EXPECT_EQ(told, 1);
}

TEST_F(PostgresStoreTest, AStandbyHearsWhereTheWriterListens) {
  const auto first = *open();
  std::mutex mutex;
  std::optional<Writer> seen;
  std::stop_source stopping;
  std::jthread waits([&] {
    const auto second = open({.owner = "second",
                              .on_writer =
                                  [&](const Writer& writer) {
                                    const std::lock_guard lock(mutex);
                                    seen = writer;
                                  },
                              .stop = stopping.get_token()});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kCancelled);
  });
  const auto hears = [&](const std::string& addresses) {
    for (int tries = 0; tries < 500; ++tries, ::usleep(20'000)) {
      const std::lock_guard lock(mutex);
      if (seen && seen->addresses == addresses) return true;
    }
    return false;
  };
  EXPECT_TRUE(hears(""));
  first->publish("a:1 b:2");
  EXPECT_TRUE(hears("a:1 b:2"));
  EXPECT_EQ(seen->secret, first->secret());
  EXPECT_EQ(first->secret().size(), 36u);
  server_->psql("UPDATE commensal_writer SET token = token + 1");  // by who knows of no addresses
  EXPECT_TRUE(hears("")) << "they are not its own";
  stopping.request_stop();
}

TEST_F(PostgresStoreTest, EachThatTakesOverHasANewSecretAndKnowsTheFormer) {
  std::string before;
  for (int i = 0; i < 3; ++i) {
    const auto store = *open();
    EXPECT_TRUE(i == 0 || store->former_secret() == before) << i;
    EXPECT_NE(store->secret(), before);
    before = store->secret();
  }
  // So has whoever comes to tables that the first version made.
  ASSERT_TRUE((*open())->apply(batch_of(1)));
  server_->psql(
      "ALTER TABLE commensal_writer DROP addresses, DROP addresses_of, DROP secret, DROP former");
  const auto store = *open();
  EXPECT_EQ(last_of(*store), 1u);
  EXPECT_TRUE(store->apply(batch_of(2)));
  EXPECT_EQ(store->secret().size(), 36u);
}

/// A writer in a process of its own, which can be put to sleep; "1" when it has written.
class Sleeper {
 public:
  explicit Sleeper(const std::string& url) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) ::_exit(work(url, ends[1]));
    char word = 0;
    EXPECT_EQ(::read(ends[0], &word, 1), 1);
  }
  void signal(int number) const { ::kill(pid_, number); }
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  /// Writes until it may no more; 0: it was told why, again and again.
  static int work(const std::string& url, int out) {
    const core::SystemClock clock;
    const auto store = open_postgres_store(url, {.owner = "sleeper", .lease_ms = 300}, clock);
    if (!store || !(*store)->apply(batch_of(1))) return 1;
    if (::write(out, "1", 1) != 1) return 2;
    while (true) {
      const auto applied = (*store)->apply(batch_of(1));
      if (applied) continue;
      const auto again = (*store)->apply(batch_of(1));
      const bool is_told = applied.error().message.starts_with(kTakenOver) && !again &&
                           again.error().code == ErrorCode::kFailedPrecondition &&
                           again.error().message == kTakenOver && (*store)->taken_over();
      return is_told ? 0 : 3;
    }
  }
  pid_t pid_ = 0;
};

TEST_F(PostgresStoreTest, AWriterThatWasAsleepWritesNoMore) {
  const Sleeper sleeper(server_->url());
  sleeper.signal(SIGSTOP);
  const auto second = open({.owner = "second", .lease_ms = 300});
  ASSERT_TRUE(second.has_value()) << second.error().message;
  ASSERT_TRUE((*second)->apply(batch_of(2)));
  sleeper.signal(SIGCONT);
  EXPECT_EQ(sleeper.wait(), 0);
  EXPECT_EQ(last_of(**second), 2u);
  EXPECT_TRUE((*second)->apply(batch_of(3)));
  EXPECT_FALSE((*second)->taken_over());
}

TEST_F(PostgresStoreTest, AKilledWriterIsTakenOverFromWhenItsLeaseHasRunOut) {
  const Sleeper sleeper(server_->url());
  sleeper.signal(SIGKILL);
  EXPECT_EQ(sleeper.wait(), -1);
  const auto second = open({.owner = "second"});
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(last_of(**second), 1u);
}

}  // namespace
}  // namespace commensal::store
