// SPDX-License-Identifier: Apache-2.0
// Who audits what, and in which order: steps of a rollout of the letter network.
#include <unistd.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::gateway {
namespace {

const char* const kLetters = COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx";

/// Has no workers, so often.
class Troubled final : public rollout::EngineFactory {
 public:
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path& model,
                                                      const std::vector<protocol::Feed>& feeds,
                                                      const std::stop_token& cancel) override {
    if (troubles-- > 0) {
      if (clock != nullptr) clock->advance_ms(30'000);
      return core::fail(code, "no worker");
    }
    if (at_work) std::exchange(at_work, nullptr)(cancel);
    if (cancel.stop_requested()) return core::fail(core::ErrorCode::kCancelled, "stopped");
    return honest_.load(model, feeds, cancel);
  }
  int troubles = 0;
  core::ErrorCode code = core::ErrorCode::kUnavailable;
  core::ManualClock* clock = nullptr;  // passes meanwhile
  std::function<void(const std::stop_token&)> at_work;

 private:
  rollout::SessionEngineFactory honest_{graph::SessionOptions{}};
};

class AuditorOf : public rollout::testing::RolloutTest {
 protected:
  using Steps = std::vector<std::uint64_t>;

  AuditorOf() {
    std::filesystem::create_directories(folder_);
    std::filesystem::copy_file(kLetters, hub_.path_of(kContent));
    graph_ = *graph::onnx::import_file(kLetters);
    engine_ = rollout::testing::engine_of(graph_);
    const std::vector<std::int64_t> letter = {20};
    const std::vector<float> state(160, 0);
    record_.inputs = {{"letter", tensor::Tensor::of<std::int64_t>({1}, letter)},
                      {"state", tensor::Tensor::of<float>({1, 160}, state)}};
    protocol::Job& job = record_.job;
    job.graph_root = engine_->roots().graph;
    job.weight_root = engine_->roots().weights;
    job.input_commitment =
        protocol::commit_input(receipt::state_root(record_.inputs), record_.input_salt);
  }
  ~AuditorOf() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    ASSERT_TRUE(book_.open());
    auto client = *rollout::ClientJob::start(client_deps(client_store_), record_);
    rollout::ProviderJob provider(provider_deps(provider_store_), record_);
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      const auto made = rollout::testing::make_step(client, provider, *engine_);
      ASSERT_TRUE(made) << made.error().message;
      keep(*client.receipt(step));
    }
  }
  void keep(const protocol::Receipt& receipt) {
    ReceiptRecord record;
    record.receipt = receipt;
    record.model_content = kContent;
    record.audit = AuditState::kDrawn;
    std::vector<ReceiptRecord> records = {record};
    ASSERT_TRUE(book_.append(records));
    steps_[record.id()] = receipt.step;
    receipts_[receipt.step] = record.id();
  }
  /// A step whose rollout is not in the store.
  core::Digest keep_lost() {
    protocol::Receipt receipt = book_.find(receipts_.at(1))->receipt;
    receipt.job.steps += 1;
    receipt.step = kSteps + 1;
    keep(receipt);
    return receipts_.at(receipt.step);
  }
  void request(const Steps& steps) {
    for (const std::uint64_t step : steps) auditor_.request(receipts_.at(step));
  }
  /// An auditor elsewhere asks for work; 0: there is none.
  std::uint64_t take() {
    const auto taken = auditor_.take(auditor_key_.address());
    if (!taken) return 0;
    auto session = *noise::NoisySession::create(graph_, {}, record_.job.feeds);
    root_ = *receipt::replay(taken->task, session, engine_->roots());
    return steps_.at(protocol::receipt_id(taken->receipt.body()));
  }
  void answer(std::uint64_t step) {
    ASSERT_TRUE(
        auditor_.answer(protocol::sign_report(auditor_key_, {receipts_.at(step), root_, {}, {}})));
  }
  void handle(const event::Any& event) {
    failures_ += std::holds_alternative<event::Failed>(event) ? 1 : 0;
    if (const auto* lost = std::get_if<event::Unaudited>(&event))
      given_up_.push_back(lost->receipt);
    const auto* const audited = std::get_if<event::Audited>(&event);
    if (audited == nullptr) return;
    EXPECT_EQ(audited->verdict.outcome, protocol::Outcome::kMatch);
    audited_.push_back(steps_.at(audited->receipt));
  }

  static constexpr core::Digest kContent{7};
  const crypto::SecretKey auditor_key_ = *crypto::SecretKey::from_bytes(core::Digest{8});
  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("auditor-{}", ::getpid());
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  ModelHub hub_{client_store_, folder_, clock_};
  ReceiptBook book_{client_store_};
  EventQueue events_{loop_, [this](const event::Any& event) { handle(event); }, [] {}};
  std::shared_ptr<Troubled> engines_ = std::make_shared<Troubled>();
  core::CounterRng dice_{1};
  Auditor auditor_{{loop_, clock_, client_key_, hub_, book_, events_, engines_, dice_, 0}};
  std::map<core::Digest, std::uint64_t> steps_;
  std::map<std::uint64_t, core::Digest> receipts_;
  core::Digest root_{};  // of what was taken last
  Steps audited_;        // in this order
  int failures_ = 0;
  std::vector<core::Digest> given_up_;
};

TEST_F(AuditorOf, WhatCannotBeShownHoldsUpNoOtherAudit) {
  const core::Digest lost = keep_lost();
  EXPECT_EQ(take(), 0u);
  auditor_.request(lost);
  request({2, 3});
  EXPECT_EQ(take(), 2u);
  answer(2);
  EXPECT_EQ(take(), 3u);
  answer(3);
  loop_.run_until_idle();
  EXPECT_EQ(audited_, (Steps{2, 3}));
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(auditor_.pending(), 1u);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{});
  loop_.advance_ms(120'000);  // it is tried twice again
  EXPECT_EQ(failures_, 3);
  EXPECT_EQ(auditor_.pending(), 0u);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{lost});
}

TEST(AuditLines, WhoseReplaysTakeLongDelaysItsOwnMost) {
  AuditLines lines;
  const crypto::Address slow{{1}}, quick{{2}};
  for (std::uint8_t i = 1; i <= 2; ++i) lines.push_back(slow, core::Digest{i});
  for (std::uint8_t i = 11; i <= 13; ++i) lines.push_back(quick, core::Digest{i});
  lines.push_front(slow, core::Digest{3});
  std::vector<int> order;
  while (const auto receipt = lines.pop()) {
    const int number = (*receipt)[0];
    order.push_back(number);
    lines.spend(number < 10 ? slow : quick, number < 10 ? 60'000 : 10);
  }
  EXPECT_EQ(order, (std::vector{3, 11, 12, 13, 1, 2}));
}

// The fault: each fresh key began with nothing spent, and was before everybody until it had as
// much.
TEST(AuditLines, AFreshKeyIsNotBeforeEverybody) {
  AuditLines lines;
  const crypto::Address old{{1}}, fresh{{2}};
  for (std::uint8_t i = 1; i <= 8; ++i) lines.push_back(old, core::Digest{i});
  std::vector<int> order;
  for (int turn = 0; turn < 10; ++turn) {
    if (turn == 4) {
      for (std::uint8_t i = 11; i <= 14; ++i) lines.push_back(fresh, core::Digest{i});
    }
    const int number = (*lines.pop())[0];
    order.push_back(number);
    lines.spend(number < 10 ? old : fresh, 1'000);
  }
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 11, 5, 12, 6, 13, 7}));
}

TEST_F(AuditorOf, LateAuditsGoFirst) {
  request({1, 2, 3});  // no auditor is elsewhere: the first is under way
  auditor_.request_here(receipts_.at(4));
  loop_.run_until_idle();
  EXPECT_EQ(audited_, (Steps{1, 4, 2, 3}));
  EXPECT_EQ(failures_, 0);
}

TEST_F(AuditorOf, NothingWaitsForBusyAuditorsForLong) {
  EXPECT_EQ(take(), 0u);
  loop_.advance_ms(1'000);
  request({1, 2, 3, 4, 5});
  for (std::uint64_t step = 1; step <= 3; ++step) {  // one every four seconds
    EXPECT_EQ(take(), step);
    answer(step);
    loop_.advance_ms(step < 3 ? 4'000 : 1'999);
  }
  EXPECT_EQ(audited_, (Steps{1, 2, 3}));
  loop_.advance_ms(1);  // ten seconds after they were asked for
  EXPECT_EQ(audited_, (Steps{1, 2, 3, 4, 5}));
  EXPECT_EQ(take(), 0u);
}

// Whom nobody here has found right yet is not believed on somebody's word, nor is who was not given
// the audit.
TEST_F(AuditorOf, FirstMatchesAreComputedHereToo) {
  EXPECT_EQ(take(), 0u);
  request({1});
  const auto stranger = *crypto::SecretKey::from_bytes(core::Digest{9});
  ASSERT_EQ(take(), 1u);
  const protocol::AuditReport said{receipts_.at(1), root_, {}, {}};
  EXPECT_EQ(auditor_.answer(protocol::sign_report(stranger, said)).error().code,
            core::ErrorCode::kNotFound);
  engines_->troubles = 1;  // so that what is done here shows
  answer(1);
  loop_.run_until_idle();
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(audited_, Steps{});
  EXPECT_FALSE(auditor_.answer(protocol::sign_report(auditor_key_, said))) << "once only";
  loop_.advance_ms(120'000);
  EXPECT_EQ(audited_, Steps{1});
  EXPECT_EQ(take(), 0u);  // it is there again
  request({2});
  ASSERT_EQ(take(), 2u);
  engines_->troubles = 1;
  answer(2);
  loop_.run_until_idle();
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(audited_, (Steps{1, 2}));
  EXPECT_EQ(book_.find(receipts_.at(2))->report->auditor, auditor_key_.address());
}

TEST_F(AuditorOf, WhoTakesAnAuditAndIsSilentLosesIt) {
  EXPECT_EQ(take(), 0u);
  request({1});
  EXPECT_EQ(take(), 1u);
  loop_.advance_ms(4'999);
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(audited_, Steps{});
  loop_.advance_ms(1);  // nobody else is there
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(audited_, Steps{1});
}

class AuditorOfATraining : public AuditorOf {
 protected:
  AuditorOfATraining() { record_.job.states = protocol::StateRule::kFinite; }
};

// The fault: five seconds, less than its computing takes, so that all who were honest were late.
TEST_F(AuditorOfATraining, HasAMinuteForASegment) {
  EXPECT_EQ(take(), 0u);
  request({1});
  EXPECT_EQ(take(), 1u);
  loop_.advance_ms(59'000);
  answer(1);
  loop_.run_until_idle();
  EXPECT_EQ(audited_, Steps{1});
}

/// The fault: whoever asked first had the next audit, so a provider's friend that asked all the
/// time had most of that provider's.
TEST_F(AuditorOf, WhoseAuditItIsIsDrawnByStake) {
  const crypto::Address slow{{1}}, eager{{2}};
  std::map<crypto::Address, int> taken;
  for (std::uint64_t round = 0; round < 60; ++round) {
    for (const auto& one : {slow, eager}) EXPECT_FALSE(auditor_.take(one));
    request({1 + round % kSteps});
    // The eager one asks, and asks again, before the other does.
    for (const auto& one : {eager, eager, eager, slow}) taken[one] += auditor_.take(one) ? 1 : 0;
    loop_.advance_ms(5'000);  // both are silent in the end
    loop_.advance_ms(5'000);
  }
  EXPECT_EQ(taken[slow] + taken[eager], 60);
  EXPECT_GT(taken[slow], 15);
  EXPECT_GT(taken[eager], 15);
}

TEST_F(AuditorOf, WhoDoesNotComeIsPassedOver) {
  const crypto::Address away{{1}}, there{{2}};
  int late = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (const auto& one : {away, there}) EXPECT_FALSE(auditor_.take(one));
    request({1 + round % kSteps});
    const bool at_once = auditor_.take(there).has_value();
    late += at_once ? 0 : 1;
    if (!at_once) {
      loop_.advance_ms(999);
      EXPECT_FALSE(auditor_.take(there));
      loop_.advance_ms(1);
      EXPECT_TRUE(auditor_.take(there));
    }
    loop_.advance_ms(20'000);
  }
  EXPECT_GT(late, 3);
}

// The fault: a gateway that could start no worker for two minutes paid without an audit.
TEST_F(AuditorOf, WhatTheMachineHereLacksEndsNoAudit) {
  engines_->troubles = 8;
  request({1});
  loop_.advance_ms(3'600'000);
  EXPECT_EQ(audited_, Steps{1});
  EXPECT_EQ(failures_, 8);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{});
}

// The fault: a model that brought its worker down three times in two minutes was audited no more.
TEST_F(AuditorOf, AWorkerThatIsLostEndsNoAudit) {
  engines_->troubles = 8;
  engines_->code = core::ErrorCode::kInternal;
  request({1});
  loop_.advance_ms(3'600'000);
  EXPECT_EQ(audited_, Steps{1});
  EXPECT_EQ(given_up_, std::vector<core::Digest>{});
}

TEST_F(AuditorOf, AWorkerThatIsLostSlowlyIsTriedLessOften) {
  engines_->troubles = 8;
  engines_->code = core::ErrorCode::kInternal;
  engines_->clock = &clock_;
  request({1});
  loop_.advance_ms(3'600'000);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{receipts_.at(1)});
  EXPECT_EQ(failures_, 4);
}

// The fault: each left a timer of twenty minutes, and what it held, a hundred times a second.
TEST_F(AuditorOf, ReplaysShareOneTimer) {
  for (const auto& [step, receipt] : receipts_) auditor_.request_here(receipt);
  loop_.run_until_idle();
  EXPECT_EQ(audited_.size(), receipts_.size());
  EXPECT_EQ(loop_.timers(), 1u);
  loop_.advance_ms(limits::kAtWorkMsMax);
  EXPECT_EQ(loop_.timers(), 0u);
}

TEST_F(AuditorOf, AReplayIsStoppedAtItsOwnTimeNotAtThatOfTheOneBefore) {
  engines_->troubles = 1;  // the one before, seconds ago
  bool is_early = true, is_late = false;
  engines_->at_work = [&](const std::stop_token& cancel) {
    loop_.advance_ms(limits::kAtWorkMsMax - 1);
    is_early = cancel.stop_requested();
    loop_.advance_ms(1);
    is_late = cancel.stop_requested();
  };
  auditor_.request_here(receipts_.at(1));
  loop_.advance_ms(limits::kAtWorkMsMax / 2);
  EXPECT_FALSE(is_early);
  EXPECT_TRUE(is_late);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{receipts_.at(1)});
}

TEST_F(AuditorOf, WhatTakesMoreThanAReplayMayAccusesNobodyAndIsTriedOnce) {
  engines_->troubles = 8;
  engines_->code = core::ErrorCode::kOverBudget;
  request({1});
  loop_.advance_ms(3'600'000);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{receipts_.at(1)});
  EXPECT_EQ(failures_, 1);
}

TEST_F(AuditorOf, ButNotForEver) {
  engines_->troubles = 1'000'000;
  engines_->code = core::ErrorCode::kResourceExhausted;
  request({1});
  loop_.advance_ms(24 * 3'600'000);
  EXPECT_EQ(auditor_.pending(), 1u);
  loop_.advance_ms(3'600'000);
  EXPECT_EQ(given_up_, std::vector<core::Digest>{receipts_.at(1)});
  EXPECT_LT(failures_, 200);
}

}  // namespace
}  // namespace commensal::gateway
