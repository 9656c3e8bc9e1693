// SPDX-License-Identifier: Apache-2.0
// A training that ends anywhere, on disks that end anywhere, goes on from its last good checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <commensal/compute/train/testing/small_training.hpp>
#include <csignal>
#include <filesystem>
#include <functional>

namespace commensal::train {
namespace {

using testing::digest_after;
using ::testing::HasSubstr;
using testing::refusal;
using testing::run;
using testing::SmallTraining;
using testing::trainer_of;

constexpr const char* kHow =
    "steps: 12\noptimiser: {kind: adamw, rate: 0.01}\n"
    "schedule: {kind: cosine, warmup: 3}\n";

/// What a process of its own comes to: its exit status, or minus the signal that ended it.
int outcome_of(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::int64_t steps_kept(const SmallTraining& training, const std::string& name = "at.ckpt") {
  const auto bytes = core::read_file(training.file(name));
  if (!bytes) return -1;
  const auto read = decode(*bytes);
  EXPECT_TRUE(read) << read.error().message;
  return read ? read->step : -1;
}

std::size_t files_beside(const SmallTraining& training) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(training.plan().parent_path()))
    count += entry.path().filename().string().starts_with("at.ckpt.") ? 1 : 0;
  return count;
}

TEST(EqualityTrainingCheckpoint, ATrainingMayEndAfterAnyStep) {
  const std::string expected = digest_after(SmallTraining(kHow), 12);
  ASSERT_EQ(expected.size(), 64U);
  const SmallTraining parts(std::string(kHow) + "checkpoint: {file: at.ckpt, every: 1}\n");
  for (int step = 0; step < 12; ++step) {  // a trainer of its own for each
    auto trainer = trainer_of(parts, {.threads = 1 + step % 3});
    ASSERT_TRUE(trainer) << trainer.error().message;
    ASSERT_EQ(trainer->done(), step);
    ASSERT_EQ(run(*trainer, 1), "");
    if (step == 11) {
      EXPECT_EQ(core::to_hex(trainer->weights_digest()), expected);
    }
  }
  for (int first = 1; first < 12; first += 3) {
    std::filesystem::remove(parts.file("at.ckpt"));
    digest_after(parts, first);
    EXPECT_EQ(digest_after(parts, 12 - first), expected) << first;
  }
}

TEST(TrainingCheckpoint, AProcessThatDiesWhileItWritesLeavesTheLastOne) {
  const SmallTraining training(std::string(kHow) + "checkpoint: {file: at.ckpt, every: 2}\n");
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_EQ(run(*trainer, 3), "");
  const auto size = std::filesystem::file_size(training.file("at.ckpt"));
  ASSERT_EQ(steps_kept(training), 2);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{40}, size / 2, size - 1, size}) {
    const int died = outcome_of([&] {
      const rlimit limit = {bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const rlimit none = {0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      ::signal(SIGXFSZ, SIG_DFL);
      return trainer->save() ? 0 : 1;
    });
    EXPECT_EQ(died, -SIGXFSZ) << bytes;
    EXPECT_EQ(steps_kept(training), 2) << bytes;
  }
  auto resumed = trainer_of(training);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(run(*resumed, 10), "");
  EXPECT_EQ(core::to_hex(resumed->weights_digest()), digest_after(SmallTraining(kHow), 12));
}

TEST(TrainingCheckpoint, AWriteThatFailsIsOneLineAndLeavesTheLastOne) {
  const SmallTraining training(std::string(kHow) + "checkpoint: {file: at.ckpt, every: 2}\n");
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_EQ(run(*trainer, 3), "");
  const int told = outcome_of([&] {
    const rlimit limit = {100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    const auto done = trainer->save();
    return !done && done.error().message.find("at.ckpt': File too large") != std::string::npos &&
                   done.error().message.find('\n') == std::string::npos
               ? 0
               : 1;
  });
  EXPECT_EQ(told, 0);
  EXPECT_EQ(steps_kept(training), 2);
  EXPECT_EQ(files_beside(training), 0U);
}

constexpr int kNoMount = 77;

/// A small disk over `folder`, seen by this process alone.
bool mount_small(const core::Path& folder, const char* size) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, size) == 0;
}

TEST(TrainingCheckpoint, AFullDiskIsOneLineAndLeavesTheLastOne) {
  const SmallTraining training(std::string(kHow) + "checkpoint: {file: disk/at.ckpt, every: 2}\n");
  std::filesystem::create_directory(training.file("disk"));
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  const int outcome = outcome_of([&] {
    // Room for one checkpoint, not for the next beside it.
    if (!mount_small(training.file("disk"), "size=12k")) return kNoMount;
    if (!run(*trainer, 3).empty()) return 1;
    const auto done = trainer->save();
    if (done) return 2;
    if (done.error().message.find("at.ckpt': No space left on device") == std::string::npos)
      return 3;
    if (std::filesystem::file_size(training.file("disk/at.ckpt")) < 4096) return 4;
    return steps_kept(training, "disk/at.ckpt") == 2 ? 0 : 5;
  });
  if (outcome == kNoMount) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(outcome, 0);
}

TEST(TrainingCheckpoint, CutOffAnywhereIsRefused) {
  const SmallTraining training(std::string(kHow) + "checkpoint: {file: at.ckpt, every: 1}\n");
  digest_after(training, 1);
  const auto good = *core::read_file(training.file("at.ckpt"));
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto read = decode(core::ByteView(good).first(length));
    ASSERT_FALSE(read) << length;
    ASSERT_EQ(read.error().message.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(decode(good));
}

/// The model with one weight in a file of its own.
void write_with_external(const SmallTraining& training, float first) {
  const core::Bytes model = testing::small_model();
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromArray(model.data(), static_cast<int>(model.size())));
  for (auto& each : *proto.mutable_graph()->mutable_initializer()) {
    if (each.name() != "fc.w") continue;
    std::vector<float> values(each.float_data().begin(), each.float_data().end());
    values[0] = first;
    training.write("fc.bin", {reinterpret_cast<const std::uint8_t*>(values.data()),
                              values.size() * sizeof(float)});
    each.clear_float_data();
    each.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto& place = *each.add_external_data();
    place.set_key("location");
    place.set_value("fc.bin");
  }
  const std::string text = proto.SerializeAsString();
  training.write("model.onnx", core::as_bytes(text));
}

TEST(TrainingCheckpoint, WeightsInAnotherFileAreOfTheTrainingToo) {
  const SmallTraining training(std::string(kHow) + "checkpoint: {file: at.ckpt, every: 1}\n");
  write_with_external(training, 0.25f);
  digest_after(training, 2);
  EXPECT_EQ(refusal(training), "accepted");
  write_with_external(training, 0.5f);
  EXPECT_THAT(refusal(training), HasSubstr("of another training"));
  write_with_external(training, 0.25f);
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  EXPECT_EQ(trainer->done(), 2);
  EXPECT_THAT(trainer->exported().error().message, HasSubstr("in another file"));
}

TEST(TrainingCheckpoint, WhatChangesNoBitMayChangeBetweenTwoStarts) {
  const std::string kept = "checkpoint: {file: at.ckpt, every: 1}\n";
  const SmallTraining training(kHow + kept);
  digest_after(training, 2);
  training.write_plan(kHow + kept + "recompute: true\n");
  EXPECT_EQ(refusal(training), "accepted");
  training.write_plan(kHow + kept + "evaluate: {data: {x: x.npy, target: y.npy}}\n");
  EXPECT_EQ(refusal(training), "accepted");
  for (const char* const other :
       {"accumulate: 2\n", "seed: 2\n", "weights: [fc.w]\n", "adapters: {rank: 1}\n"}) {
    training.write_plan(kHow + kept + other);
    EXPECT_THAT(refusal(training), HasSubstr("of another training")) << other;
  }
}

}  // namespace
}  // namespace commensal::train
