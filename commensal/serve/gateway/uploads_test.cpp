// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/uploads.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <fstream>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using store::testing::Fault;
using ::testing::HasSubstr;
using ::testing::Not;

core::Bytes bytes_of(std::uint64_t seed, std::size_t size) {
  core::Bytes bytes(size);
  core::CounterRng(seed).fill(bytes);
  return bytes;
}

/// A gateway's uploads, which can be started anew on the same disk.
struct Life {
  Life(core::Store& store, const core::Path& folder, const core::Clock& clock, core::Rng& rng,
       const ModelBounds& bounds = {})
      : hub(store, folder / "models", clock, bounds),
        uploads(store, folder / "uploads", clock, rng, hub) {
    const auto opened = uploads.open();
    EXPECT_TRUE(opened) << opened.error().message;
  }
  core::Result<Upload> send(const Upload& upload, std::int64_t offset, core::ByteView piece) {
    const auto size = static_cast<std::int64_t>(piece.size());
    COMMENSAL_ASSIGN(const Upload at, uploads.begin_piece(upload.owner, upload.id, offset, size));
    return uploads.end_piece(at, size, Uploads::write(uploads.path_of(at.id), offset, piece));
  }
  ModelHub hub;
  Uploads uploads;
};

class UploadsOf : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = core::Path(::testing::TempDir()) / (std::string("commensal_uploads_") + test->name());
    std::filesystem::remove_all(folder_);
    live();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void live(const ModelBounds& bounds = {}) {
    life_.reset();
    life_.emplace(store_, folder_, clock_, rng_, bounds);
  }
  core::Result<Upload> create(const core::Bytes& bytes, const std::string& model = "alice/m") {
    return life_->uploads.create(alice_, model, {}, crypto::sha256(bytes),
                                 static_cast<std::int64_t>(bytes.size()));
  }
  std::size_t files() const {
    std::error_code missing;
    std::filesystem::directory_iterator at(folder_ / "uploads", missing), end;
    return missing ? 0 : static_cast<std::size_t>(std::distance(at, end));
  }
  Uploads& uploads() { return life_->uploads; }

  const Account alice_{"alice", Role::kConsumer}, bob_{"bob", Role::kConsumer};
  core::ManualClock clock_;
  core::CounterRng rng_{1};
  core::Path folder_;
  store::MemoryStore store_;
  std::optional<Life> life_;
};

// Random pieces; now and then the gateway is killed, perhaps within a write, and the sender asks
// how far it was. What was acknowledged is there, and in the end all of it.
TEST_F(UploadsOf, ComeInAnyPiecesAcrossKills) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    core::CounterRng dice(seed, 7);
    const core::Bytes bytes = bytes_of(seed, 1 + dice.next_u32() % 5'000);
    Upload upload = *create(bytes);
    while (!upload.is_whole()) {
      const auto at = static_cast<std::size_t>(upload.received);
      const std::size_t size = std::min<std::size_t>(dice.next_u32() % 900, bytes.size() - at);
      const core::ByteView piece = core::ByteView(bytes).subspan(at, size);
      const std::uint32_t fate = dice.next_u32() % 6;
      if (fate == 0) {  // killed within the write: some of the piece lies there, or rubbish does
        const auto torn = bytes_of(seed + 1'000, size);
        ASSERT_TRUE(Uploads::write(uploads().path_of(upload.id), upload.received, torn));
        live();
      } else if (fate == 1) {  // ... before it
        live();
      } else {
        const auto longer = life_->send(upload, upload.received, piece);
        ASSERT_TRUE(longer) << longer.error().message << " seed " << seed;
        EXPECT_EQ(longer->received, upload.received + static_cast<std::int64_t>(size));
        upload = *longer;
      }
      const auto known = uploads().find("alice", upload.id);
      ASSERT_TRUE(known) << known.error().message;
      ASSERT_EQ(known->received, upload.received) << "seed " << seed;
    }
    EXPECT_EQ(*core::read_file(uploads().path_of(upload.id)), bytes) << "seed " << seed;
    EXPECT_TRUE(Uploads::check(uploads().path_of(upload.id), upload)) << "seed " << seed;
    ASSERT_TRUE(uploads().end_push(*uploads().begin_push(alice_, upload.id), true));
    EXPECT_EQ(files(), 0u);
    EXPECT_FALSE(uploads().find("alice", upload.id));
  }
}

TEST_F(UploadsOf, AKillBetweenRowAndFileLeavesNeitherAlone) {
  const core::Bytes bytes = bytes_of(1, 100);
  for (const Fault fault :
       {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
    for (std::uint64_t at = 0; at < 3; ++at) {
      store::MemoryStore disk;
      store::testing::FaultStore breaking(disk, at, fault);
      std::int64_t acknowledged = 0;
      std::string id;
      bool is_dropped = false;
      {
        Life life(breaking, folder_, clock_, rng_);
        const auto made = life.uploads.create(alice_, "alice/m", {}, crypto::sha256(bytes), 100);
        if (made) {
          id = made->id;
          const auto sent = life.send(*made, 0, core::ByteView(bytes).first(60));
          if (sent) acknowledged = 60;
          is_dropped = life.uploads.drop("alice", id).has_value();
        }
      }
      Life life(disk, folder_, clock_, rng_);
      const auto all = life.uploads.list("alice");
      EXPECT_LE(all.size(), 1u);
      EXPECT_LE(files(), all.size());
      if (is_dropped) EXPECT_TRUE(all.empty());
      for (const Upload& one : all) {
        EXPECT_GE(one.received, one.id == id ? acknowledged : 0);
        EXPECT_TRUE(life.send(one, one.received, core::ByteView(bytes).subspan(one.received)));
        EXPECT_TRUE(Uploads::check(life.uploads.path_of(one.id), one));
        EXPECT_TRUE(life.uploads.drop("alice", one.id));
      }
      EXPECT_EQ(files(), 0u);
    }
  }
}

// A file that is gone is sent anew.
TEST_F(UploadsOf, WhoseFileIsLostBeginsAgain) {
  const core::Bytes bytes = bytes_of(2, 100);
  const Upload upload = *create(bytes);
  ASSERT_TRUE(life_->send(upload, 0, core::ByteView(bytes).first(50)));
  std::filesystem::remove(uploads().path_of(upload.id));
  const auto lost = life_->send(upload, 50, core::ByteView(bytes).subspan(50));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(lost.error().message, HasSubstr("upload '" + upload.id + "' has 0 bytes"));
  EXPECT_THAT(lost.error().message, Not(HasSubstr("/")));
  EXPECT_EQ(uploads().find("alice", upload.id)->received, 0);
  live();
  EXPECT_EQ(uploads().find("alice", upload.id)->received, 0);
  ASSERT_TRUE(life_->send(upload, 0, bytes));
  // Likewise of one that is whole, which a push finds out.
  const Upload pushed = *uploads().begin_push(alice_, upload.id);
  std::filesystem::resize_file(uploads().path_of(upload.id), 70);
  const auto checked = Uploads::check(uploads().path_of(upload.id), pushed);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("upload '" + upload.id + "' has 70 bytes"));
  EXPECT_THAT(checked.error().message, Not(HasSubstr("/")));
  ASSERT_TRUE(uploads().end_push(pushed, false));
  EXPECT_EQ(uploads().find("alice", upload.id)->received, 70);
  EXPECT_EQ(uploads().begin_push(alice_, upload.id).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(life_->send(upload, 70, core::ByteView(bytes).subspan(70))->is_whole());
}

TEST_F(UploadsOf, WhoseWriteFailsNameNoFolder) {
  const core::Bytes bytes = bytes_of(2, 10);
  const Upload upload = *create(bytes);
  std::filesystem::create_directories(uploads().path_of(upload.id));  // no file can be there
  const auto sent = life_->send(upload, 0, bytes);
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message, HasSubstr("cannot open upload '" + upload.id + "'"));
  EXPECT_THAT(sent.error().message, Not(HasSubstr("/")));
  std::filesystem::remove(uploads().path_of(upload.id));
  EXPECT_TRUE(life_->send(upload, 0, bytes));
}

TEST_F(UploadsOf, RefusesWhatDoesNotFit) {
  const core::Bytes bytes = bytes_of(3, 100);
  const core::ByteView all = bytes;
  const Upload upload = *create(bytes);
  ASSERT_TRUE(life_->send(upload, 0, all.first(10)));
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{9}, std::int64_t{11},
                                    std::int64_t{-1}, std::int64_t{1} << 62}) {
    const auto sent = life_->send(upload, offset, all.first(1));
    ASSERT_FALSE(sent) << offset;
    EXPECT_EQ(sent.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(sent.error().message, HasSubstr("expected 10"));
  }
  EXPECT_EQ(life_->send(upload, 10, all.first(91)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(uploads().begin_push(alice_, upload.id).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(life_->send(upload, 10, {}));  // nothing is nothing
  EXPECT_TRUE(life_->send(upload, 10, all.subspan(10)));
  // Another's is unknown, whatever is asked.
  EXPECT_EQ(uploads().find("bob", upload.id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(uploads().drop("bob", upload.id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(uploads().begin_push(bob_, upload.id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(uploads().begin_piece("bob", upload.id, 100, 0).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(uploads().list("bob").empty());
  EXPECT_EQ(uploads().create(bob_, "alice/m", {}, {}, 1).error().code,
            ErrorCode::kPermissionDenied);
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 40}) {
    EXPECT_EQ(uploads().create(alice_, "alice/m", {}, {}, size).error().code,
              ErrorCode::kInvalidArgument);
  }
}

TEST_F(UploadsOf, AnotherHashThanAnnouncedIsFoundOut) {
  const core::Bytes bytes = bytes_of(4, 5'000);
  core::Bytes other = bytes;
  other.back() ^= 1;
  const Upload upload = *create(bytes);
  ASSERT_TRUE(life_->send(upload, 0, other));
  const Upload pushed = *uploads().begin_push(alice_, upload.id);
  const auto checked = Uploads::check(uploads().path_of(upload.id), pushed);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(checked.error().message, HasSubstr("another SHA-256"));
  // Meanwhile nobody else changes it; then it can be pushed again, or not.
  EXPECT_EQ(uploads().drop("alice", upload.id).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(uploads().begin_push(alice_, upload.id).error().code, ErrorCode::kFailedPrecondition);
  ASSERT_TRUE(uploads().end_push(pushed, false));
  const auto soon = uploads().begin_push(alice_, upload.id);
  ASSERT_FALSE(soon);
  EXPECT_EQ(soon.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(soon.error().message, HasSubstr("failed a moment ago"));
  clock_.advance_ms(limits::kUploadRetryMs - 1);
  EXPECT_FALSE(uploads().begin_push(alice_, upload.id));
  EXPECT_EQ(uploads().retry_s("alice", upload.id), 1);
  EXPECT_EQ(uploads().retry_s("bob", upload.id), 0) << "it is not his to know of";
  clock_.advance_ms(1);
  EXPECT_EQ(uploads().retry_s("alice", upload.id), 0);
  ASSERT_TRUE(uploads().end_push(*uploads().begin_push(alice_, upload.id), true));
  EXPECT_EQ(files(), 0u);
}

TEST_F(UploadsOf, AnAccountHasSoManyAndTheyCountInItsBounds) {
  const ModelBounds bounds{.models_max = 256, .bytes_max = 1'000};
  live(bounds);
  const core::Bytes bytes = bytes_of(5, 100);
  std::vector<Upload> all;
  for (std::size_t i = 0; i < limits::kUploadsMax; ++i) all.push_back(*create(bytes));
  EXPECT_EQ(create(bytes).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(uploads().create(bob_, "bob/m", {}, {}, 100));
  EXPECT_FALSE(life_->hub.reserve(alice_, "alice/n", 201));
  live(bounds);
  EXPECT_FALSE(life_->hub.reserve(alice_, "alice/n", 201));
  ASSERT_TRUE(life_->hub.reserve(alice_, "alice/n", 200));
  ASSERT_TRUE(uploads().drop("alice", all[0].id));
  EXPECT_EQ(create(bytes_of(5, 101)).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(create(bytes));
}

// The fault: who began one and filled its model with versions kept the gateway from ever starting.
TEST_F(UploadsOf, OfAModelThatHasFilledSinceLetTheGatewayStart) {
  const core::Bytes bytes =
      *core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
  const Upload upload = *create(bytes);
  ASSERT_TRUE(life_->send(upload, 0, bytes));
  const ModelFile file = *life_->hub.stage(bytes);
  for (std::size_t i = 0; i < limits::kModelVersionsMax; ++i) {
    const PushOptions options{.is_private = i % 2 == 1, .allowed_providers = {}};
    ASSERT_TRUE(life_->hub.push(alice_, "alice/m", file, options));
  }
  live({.models_max = 1, .bytes_max = 1});  // bounds that were lowered keep nobody from it either
  EXPECT_TRUE(uploads().find("alice", upload.id));
  live();
  const auto pushed = uploads().begin_push(alice_, upload.id);
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(uploads().drop("alice", upload.id));
  ASSERT_TRUE(create(bytes, "alice/n"));
  clock_.advance_ms(limits::kUploadMsMax);
  live();
  EXPECT_TRUE(uploads().empty());
  EXPECT_EQ(files(), 0u);
}

TEST_F(UploadsOf, ThatAreNeverFinishedEndByThemselves) {
  live({.models_max = 1, .bytes_max = 1'000});
  const core::Bytes bytes = bytes_of(6, 1'000);
  const Upload upload = *create(bytes);
  ASSERT_TRUE(life_->send(upload, 0, core::ByteView(bytes).first(999)));
  EXPECT_FALSE(life_->hub.reserve(alice_, "alice/m", 1));
  clock_.advance_ms(limits::kUploadMsMax - 1);
  ASSERT_TRUE(uploads().expire());
  EXPECT_TRUE(uploads().find("alice", upload.id));
  clock_.advance_ms(1);
  EXPECT_EQ(life_->send(upload, 999, core::ByteView(bytes).last(1)).error().code,
            ErrorCode::kNotFound);
  EXPECT_TRUE(uploads().list("alice").empty());
  live({.models_max = 1, .bytes_max = 1'000});  // a start does it too
  EXPECT_TRUE(uploads().empty());
  EXPECT_EQ(files(), 0u);
  EXPECT_TRUE(life_->hub.reserve(alice_, "alice/m", 1'000));
}

TEST_F(UploadsOf, EndWithTheirAccount) {
  ASSERT_TRUE(create(bytes_of(7, 10)));
  ASSERT_TRUE(create(bytes_of(8, 10)));
  ASSERT_TRUE(uploads().create(bob_, "bob/m", {}, {}, 1));
  ASSERT_TRUE(uploads().drop_all("alice"));
  EXPECT_TRUE(uploads().list("alice").empty());
  EXPECT_EQ(uploads().list("bob").size(), 1u);
}

}  // namespace
}  // namespace commensal::gateway
