// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::rollout::testing {
namespace {

/// Parties in the middle of a rollout.
class Parties : public RolloutTest {
 protected:
  void SetUp() override {
    auto client = ClientJob::start(client_deps(client_store_), record_);
    ASSERT_TRUE(client) << client.error().message;
    client_.emplace(*std::move(client));
    provider_.emplace(provider_deps(provider_store_), record_);
  }
  void make(int steps) {
    for (int i = 0; i < steps; ++i) {
      const auto made = make_step(*client_, *provider_, *engine_);
      ASSERT_TRUE(made) << made.error().message;
    }
  }
  noise::NoisySession auditor() { return *noise::NoisySession::create(graph_, {}, kFeeds); }

  std::optional<ClientJob> client_;
  std::optional<ProviderJob> provider_;
};

TEST_F(Parties, EveryStepFollowsFromTheOneBefore) {
  make(kSteps);
  EXPECT_TRUE(client_->is_finished());
  EXPECT_EQ(refusal(client_->begin()), "all 5 steps are delivered");
  // By hand, from the inputs on.
  auto session = auditor();
  auto noises = noise_chain(noise_key_, kSteps);
  receipt::Values state = {record_.inputs[0].value, record_.inputs[1].value};
  for (std::uint64_t i = 1; i <= kSteps; ++i) {
    const core::Digest seed = noise::seed_of(*noises.reveal(i), client_->job_id(), i);
    state = *session.run(state, noise::Noise{seed, 12});
  }
  EXPECT_EQ(receipt::outputs_root(*graph_, client_->outputs()),
            receipt::outputs_root(*graph_, state));
}

TEST_F(Parties, AuditsReproduceEveryStepAndItsReceiptVerifies) {
  make(kSteps);
  auto session = auditor();
  const auto roots = receipt::model_roots(*graph_);
  for (std::uint64_t i = 1; i <= kSteps; ++i) {
    const auto shown = client_->opening(i);
    ASSERT_TRUE(shown);
    const auto decoded = protocol::decode<receipt::StepTask>(*protocol::encode_stored(shown->task));
    ASSERT_TRUE(decoded) << decoded.error().message;
    const auto root = receipt::replay(*decoded, session, roots);
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(protocol::commit_step(client_->job_id(), i, *root, shown->output_salt),
              client_->receipt(i)->commitment);
    const auto receipt = client_->receipt(i);
    ASSERT_TRUE(receipt);
    EXPECT_TRUE(protocol::verify_receipt(*receipt));
    EXPECT_EQ(receipt->round, 7u);
  }
}

TEST_F(Parties, RefuseWhatIsOutOfOrder) {
  make(1);
  EXPECT_EQ(refusal(provider_->begin({client_->job_id(), 3, {}}, *engine_, 7)),
            "step 3 is begun where step 1 of 5 is countersigned");
  EXPECT_EQ(refusal(provider_->begin({client_->job_id(), 2, rng_.next_digest()}, *engine_, 7)),
            "step 2: the noise's value does not lead to the one before");
  EXPECT_EQ(refusal(provider_->countersign({client_->job_id(), 2, {}})),
            "step 2 is countersigned where step 1 is countersigned");
  EXPECT_EQ(refusal(client_->on_commit({client_->job_id(), 2, {}, 7, {}})),
            "a commitment to step 2 that was not begun");
  EXPECT_EQ(refusal(client_->on_deliver({client_->job_id(), 2, {}, {}})),
            "a delivery of step 2 that is not awaited");
  const auto begin = client_->begin();
  ASSERT_TRUE(begin);
  auto commit = *provider_->begin(*begin, *engine_, 7);
  EXPECT_THAT(refusal(provider_->countersign({client_->job_id(), 2, commit.signature})),
              ::testing::StartsWith("client signature: "));
  auto forged = commit;
  forged.round = 8;
  EXPECT_NE(refusal(client_->on_commit(forged)), "accepted");
  const auto signature = client_->on_commit(commit);
  ASSERT_TRUE(signature);
  EXPECT_EQ(refusal(client_->begin()), "step 2 is countersigned and not delivered");
  EXPECT_EQ(refusal(client_->on_commit(commit)), "a commitment to step 2 that was not begun");
  auto delivery = *provider_->countersign(*signature);
  auto bent = delivery;
  bent.output_salt[0] ^= 1;
  EXPECT_EQ(refusal(client_->on_deliver(bent)),
            "step 2: the delivered output is not what was committed to");
  bent = delivery;
  bent.outputs.pop_back();
  EXPECT_EQ(refusal(client_->on_deliver(bent)), "1 outputs, expected 2");
  // Nothing of it has changed anything.
  EXPECT_TRUE(client_->on_deliver(delivery));
  make(3);
  EXPECT_TRUE(client_->is_finished());
}

TEST_F(Parties, RepeatedQuestionsHaveTheSameAnswer) {
  make(1);
  const auto begin = *client_->begin();
  const auto first = *provider_->begin(begin, *engine_, 7),
             again = *provider_->begin(begin, *engine_, 7);
  EXPECT_EQ(first.commitment, again.commitment);
  EXPECT_EQ(first.signature, again.signature);
  const auto signature = *client_->on_commit(first);
  const auto one = *provider_->countersign(signature), two = *provider_->countersign(signature);
  EXPECT_EQ(one.output_salt, two.output_salt);
  EXPECT_TRUE(client_->on_deliver(two));
}

TEST_F(Parties, TasksThatAreNotWhatBothSignedAreRefused) {
  make(3);
  auto session = auditor();
  const auto roots = receipt::model_roots(*graph_);
  const receipt::StepTask good = client_->opening(3)->task;
  const auto bent = [&](const std::function<void(receipt::StepTask&)>& bend) {
    receipt::StepTask task = good;
    bend(task);
    return refusal(receipt::replay(task, session, roots));
  };
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.value[0] ^= 1; }),
            "step 3: the noise's value does not lead to its anchor");
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.input_salt[0] ^= 1; }),
            "step 3: the inputs do not open c_0");
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.salt_before[0] ^= 1; }),
            "step 3: the state before does not open c_2");
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.before.reset(); }),
            "step 3: the task lacks the step before it");
  EXPECT_THAT(
      bent([](receipt::StepTask& task) { std::swap(task.before->provider, task.before->client); }),
      ::testing::StartsWith("receipt: provider signature: "));
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.step = 6; }), "step 6, expected 1 to 5");
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.step = 1; }),
            "step 1: the noise's value does not lead to its anchor");
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.job.weight_root[0] ^= 1; }),
            "the model is not the one that the job names");
  EXPECT_EQ(bent([](receipt::StepTask& task) { task.job.feeds.pop_back(); }),
            "the session feeds back other outputs");
}

TEST_F(Parties, EncodingsHaveOneForm) {
  make(2);
  const core::Bytes task = *protocol::encode_stored(client_->opening(2)->task);
  EXPECT_EQ(*protocol::encode_stored(*protocol::decode<receipt::StepTask>(task)), task);
  const core::Bytes record = *protocol::encode_stored(*provider_->step(2));
  EXPECT_EQ(*protocol::encode_stored(*protocol::decode<StepRecord>(record)), record);
  const core::Bytes rollout = *protocol::encode_stored(record_);
  EXPECT_EQ(*protocol::encode_stored(*protocol::decode<JobRecord>(rollout)), rollout);
  for (std::size_t size = 0; size < task.size(); ++size) {
    EXPECT_FALSE(protocol::decode<receipt::StepTask>(core::ByteView(task).first(size)));
  }
}

TEST_F(Parties, ALyingStepIsLocatedToItsOperator) {
  // Other gates: MatMul is the first operator that gives something else.
  engine_ = engine_of(recurrent(0.75f));
  auto honest = engine_of(graph_);
  struct Liar final : Engine {
    Engine &truth, &lie;
    Liar(Engine& t, Engine& l) : truth(t), lie(l) {}
    const receipt::ModelRoots& roots() const override { return truth.roots(); }
    const graph::Graph& graph() const override { return truth.graph(); }
    core::Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                                      const std::optional<noise::Noise>& noise,
                                      const graph::RunOptions& options) override {
      return (step == 2 ? lie : truth).run(step, inputs, noise, options);
    }
  } liar(*honest, *engine_);
  store::MemoryStore store;
  provider_.emplace(provider_deps(store), record_);
  for (int i = 0; i < kSteps; ++i) {
    const auto made = make_step(*client_, *provider_, liar);
    ASSERT_TRUE(made) << made.error().message;
  }
  auto session = auditor();
  const auto roots = receipt::model_roots(*graph_);
  for (std::uint64_t i = 1; i <= kSteps; ++i) {
    const auto shown = *client_->opening(i);
    NodeRoots ours;
    const auto root = receipt::replay(shown.task, session, roots, {.tracer = &ours});
    ASSERT_TRUE(root);
    const bool matches = protocol::commit_step(client_->job_id(), i, *root, shown.output_salt) ==
                         client_->receipt(i)->commitment;
    EXPECT_EQ(matches, i != 2) << i;
    const auto place = first_difference(ours.roots(), *provider_->trace(i, liar));
    EXPECT_EQ(place.has_value(), i == 2);
    if (place) {
      EXPECT_EQ(ours.roots()[*place].node, "MatMul_1");
    }
  }
}

TEST_F(Parties, AForbiddenStateIsToldFromWhatBreaksTheRulesOtherwise) {
  const auto begin = client_->begin();
  ASSERT_TRUE(begin) << begin.error().message;
  const std::vector<std::int64_t> letter = {0};
  const std::vector<float> state = {0, 1, 5000, -1};
  auto outputs = receipt::name_tensors(
      *graph_, graph_->outputs,
      {Tensor::of<std::int64_t>({1}, letter), Tensor::of<float>({1, 4}, state)});
  const core::Digest root = receipt::state_root(outputs);
  provider_->hold({*begin, std::move(outputs), root});  // an honest one refuses it
  const protocol::ReceiptBody body = provider_->body(7);
  const auto commit = provider_->commit(
      7, protocol::sign_batch(provider_key_, protocol::Role::kProvider, {&body, 1})[0]);
  ASSERT_TRUE(commit) << commit.error().message;
  const auto pending = client_->on_commit(*commit);
  ASSERT_TRUE(pending) << pending.error().message;
  const auto delivery = provider_->countersign(*pending);
  ASSERT_TRUE(delivery) << delivery.error().message;
  auto broken = *delivery;
  broken.outputs.pop_back();
  EXPECT_EQ(refusal(client_->check(broken)), "1 outputs, expected 2");
  const auto checked = client_->check(*delivery);
  ASSERT_TRUE(checked) << checked.error().message;
  const std::string why = "step 1: element 2 of state 'v7' is not below 2^12, where noise moves it";
  EXPECT_EQ(refusal(client_->check_state(*checked)), why);
  EXPECT_EQ(refusal(client_->on_deliver(*delivery)), why);
}

TEST_F(RolloutTest, StatesThatSwallowNoiseAreRefused) {
  const auto state_of = [](float x) {
    const std::vector<std::int64_t> letter = {0};
    const std::vector<float> state = {0, 1, x, -1};
    return receipt::Values{Tensor::of<std::int64_t>({1}, letter), Tensor::of<float>({1, 4}, state)};
  };
  protocol::Job job = record_.job;
  EXPECT_TRUE(receipt::check_state(job, *graph_, 3, state_of(4095)));
  EXPECT_EQ(refusal(receipt::check_state(job, *graph_, 3, state_of(-4096))),
            "step 3: element 2 of state 'v7' is not below 2^12, where noise moves it");
  job.states = protocol::StateRule::kFinite;
  EXPECT_TRUE(receipt::check_state(job, *graph_, 3, state_of(-4096)));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(receipt::check_state(job, *graph_, 3, state_of(nan))),
            "step 3: element 2 of state 'v7' is not finite");
  EXPECT_EQ(refusal(receipt::check_state(job, *graph_, 3,
                                         state_of(-std::numeric_limits<float>::infinity()))),
            "step 3: element 2 of state 'v7' is not finite");
  job.states = protocol::StateRule::kAny;
  EXPECT_TRUE(receipt::check_state(job, *graph_, 3, state_of(nan)));
}

TEST_F(RolloutTest, JobsThatDoNotFitAreRefused) {
  auto noises = noise_chain(noise_key_, kSteps);
  const auto started = [&](const std::function<void(JobRecord&)>& bend) {
    JobRecord record = record_;
    bend(record);
    store::MemoryStore store;
    ProviderJob job(provider_deps(store), record);
    return refusal(job.compute({job.job_id(), 1, *noises.reveal(1)}, *engine_));
  };
  EXPECT_EQ(started([](JobRecord&) {}), "accepted");
  EXPECT_EQ(started([](JobRecord& r) { r.job.graph_root[0] ^= 1; }),
            "the model is not the one that the job names");
  EXPECT_EQ(started([](JobRecord& r) { r.input_salt[0] ^= 1; }),
            "the inputs are not those that the job was made with");
  EXPECT_EQ(started([](JobRecord& r) { r.job.steps = (1 << 20) + 1; }),
            "a rollout of 1048577 steps, at most 1048576 are accepted");
  EXPECT_EQ(started([](JobRecord& r) {
              r.job.feeds = {{1, 0}};
            }),
            "output 'v7' is float32[1,4] and cannot be input 'x0', which is int64[1]");
  ClientJob::Dependencies other = client_deps(client_store_);
  other.noise_key[0] ^= 1;
  EXPECT_EQ(refusal(ClientJob::start(other, record_)),
            "the noise key is not the one of the job's anchor");
}

// Made by tests/vectors/noise/generate.py, an implementation of its own.
TEST(NoiseOfSteps, IsMadeOfTheirRolloutAsInTheVectors) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/noise/noise.json");
  const auto vector = nlohmann::json::parse(file);
  const auto digest = [&](const char* name) {
    return *core::digest_from_hex(vector[name].get<std::string>());
  };
  auto hash_chain = noise_chain(digest("key"), 8);
  EXPECT_EQ(core::to_hex(hash_chain.anchor()), vector["anchor"]);
  protocol::Job job;
  job.noise = protocol::NoisePolicy::kCalibrated;
  for (const auto& [step, seed] : vector["seeds"].items()) {
    const std::uint64_t i = std::stoull(step);
    const auto noise = receipt::noise_of_step(job, digest("job"), i, *hash_chain.reveal(i));
    EXPECT_EQ(core::to_hex(noise->seed), seed) << step;
  }
}

}  // namespace
}  // namespace commensal::rollout::testing
