// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::receipt {
namespace {

using tensor::Tensor;

Tensor floats(const tensor::Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}

/// y = relu(x + bias).
std::shared_ptr<graph::Graph> small_graph(const std::string& inner_name, float bias) {
  auto graph = std::make_shared<graph::Graph>();
  const graph::Declared port{tensor::DType::kFloat32, true, {-1, 2}, {"N", ""}};
  graph->values = {{"x", port}, {"bias", {}}, {inner_name, {}}, {"y", port}};
  graph->inputs = {0};
  graph->outputs = {3};
  graph->initialisers[1] = floats({2}, {bias, -bias});
  const auto* add = *kernels::find_operator("", "Add", 13);
  const auto* relu = *kernels::find_operator("", "Relu", 13);
  graph->nodes.push_back({"add", add, 13, {}, {0, 1}, {2}});
  graph->nodes.push_back({"relu", relu, 13, {}, {2}, {3}});
  return graph;
}

TEST(Roots, DoNotDependOnInnerNamesButOnEverythingElse) {
  const ModelRoots roots = model_roots(*small_graph("sum", 0.5f));
  EXPECT_EQ(model_roots(*small_graph("another name", 0.5f)), roots);
  EXPECT_NE(model_roots(*small_graph("sum", 0.25f)).weights, roots.weights);
  EXPECT_EQ(model_roots(*small_graph("sum", 0.25f)).graph, roots.graph);
  auto swapped = small_graph("sum", 0.5f);
  swapped->nodes[0].inputs = {1, 0};
  EXPECT_NE(model_roots(*swapped).graph, roots.graph);
}

TEST(Roots, BindNameTypeShapeAndEveryBit) {
  const core::Digest root = state_root({{"x", floats({2, 2}, {1, 2, 3, 4})}});
  EXPECT_NE(state_root({{"z", floats({2, 2}, {1, 2, 3, 4})}}), root);
  EXPECT_NE(state_root({{"x", floats({4}, {1, 2, 3, 4})}}), root);
  EXPECT_NE(state_root({{"x", floats({2, 2}, {1, 2, 3, 4.0000005f})}}), root);
  EXPECT_NE(tensor_root(floats({1}, {0.0f})), tensor_root(floats({1}, {-0.0f})));
  const std::int32_t zero = 0;
  EXPECT_NE(tensor_root(floats({1}, {0.0f})),
            tensor_root(Tensor::of<std::int32_t>({1}, {&zero, 1})));
}

TEST(Roots, BindWhereStringsEnd) {
  EXPECT_NE(tensor_root(Tensor::of_strings({2}, {"ab", "c"})),
            tensor_root(Tensor::of_strings({2}, {"a", "bc"})));
}

/// y = relu(x), and a branch over small_graph that takes x and has a weight of its own.
std::shared_ptr<graph::Graph> outer_graph(float inner_bias, bool captures_y) {
  auto graph = small_graph("sum", 0.5f);
  graph::Node branch = graph->nodes[1];
  branch.subgraphs = {{"then_branch", small_graph("sum", inner_bias), {captures_y ? 2 : 0}}};
  graph->nodes[1] = branch;
  return graph;
}

TEST(Roots, ReachIntoTheGraphsInside) {
  const ModelRoots roots = model_roots(*outer_graph(0.5f, false));
  EXPECT_EQ(model_roots(*outer_graph(0.5f, false)), roots);
  EXPECT_NE(model_roots(*outer_graph(0.25f, false)).graph, roots.graph);
  EXPECT_NE(model_roots(*outer_graph(0.5f, true)).graph, roots.graph);
  EXPECT_NE(model_roots(*small_graph("sum", 0.5f)).graph, roots.graph);
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    graph_ = small_graph("sum", 0.5f);
    roots_ = model_roots(*graph_);
    StepTask& task = opening_.task;
    task.inputs = {{"x", floats({2, 2}, {1, -2, 3, 4})}};
    opening_.outputs = {{"y", floats({2, 2}, {1.5f, 0, 3.5f, 3.5f})}};
    task.input_salt = rng_.next_digest();
    opening_.output_salt = rng_.next_digest();
    task.job.graph_root = roots_.graph;
    task.job.weight_root = roots_.weights;
    task.job.numerics_version = kernels::kNumericsVersion;
    task.job.input_commitment = protocol::commit_input(state_root(task.inputs), task.input_salt);
    task.job.client = client_.address();
    task.job.provider = provider_.address();
    sign_commitment();
  }
  void sign_commitment() {
    const core::Digest job = protocol::job_id(opening_.task.job);
    body_ = {job, 1,
             protocol::commit_step(job, 1, state_root(opening_.outputs), opening_.output_salt)};
  }
  protocol::Receipt receipt() const {
    return {opening_.task.job,
            1,
            body_.commitment,
            body_.round,
            protocol::sign_batch(provider_, protocol::Role::kProvider, {&body_, 1})[0],
            protocol::sign_batch(client_, protocol::Role::kClient, {&body_, 1})[0]};
  }
  noise::NoisySession session() const { return *noise::NoisySession::create(graph_, {}); }
  protocol::Verdict audit() {
    auto session = this->session();
    const auto root = replay(opening_.task, session, roots_);
    EXPECT_TRUE(root.has_value()) << root.error().message;
    return judge(body_, *root, opening_.output_salt, auditor_);
  }

  core::CounterRng rng_{2};
  crypto::SecretKey auditor_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey client_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  std::shared_ptr<graph::Graph> graph_;
  ModelRoots roots_;
  Opening opening_;
  protocol::ReceiptBody body_;
};

TEST_F(AuditTest, AHonestAnswerMatches) {
  ASSERT_TRUE(check_opening(opening_, body_));
  const protocol::Verdict verdict = audit();
  EXPECT_EQ(verdict.outcome, protocol::Outcome::kMatch);
  EXPECT_TRUE(protocol::verify_verdict(verdict));
  EXPECT_EQ(verdict.auditor, auditor_.address());
}

TEST_F(AuditTest, OneBitOffIsAMismatch) {
  opening_.outputs = {{"y", floats({2, 2}, {1.5f, 0, 3.5f, std::nextafter(3.5f, 4.0f)})}};
  sign_commitment();
  ASSERT_TRUE(check_opening(opening_, body_));
  EXPECT_EQ(audit().outcome, protocol::Outcome::kMismatch);
}

// Honest providers refuse what the model refuses; an answer to it must not go free for that its
// audit has nothing to compare with.
TEST_F(AuditTest, AnAnswerToWhatTheModelRefusesIsAMismatch) {
  StepTask& task = opening_.task;
  task.inputs = {{"x", floats({2, 7}, std::vector<float>(14, 1))}};
  task.job.input_commitment = protocol::commit_input(state_root(task.inputs), task.input_salt);
  sign_commitment();
  auto session = this->session();
  EXPECT_EQ(session.run(Values{task.inputs[0].value}, {}).error().code,
            core::ErrorCode::kInvalidArgument);
  EXPECT_EQ(audit().outcome, protocol::Outcome::kMismatch);
}

// The fault: a provider whose plan fused what the auditor ran node by node was taken for one that
// had not computed its answer.
TEST_F(AuditTest, ABudgetThatIsUsedUpSaysNothingOfTheAnswer) {
  auto planned = session();
  auto plain = *noise::NoisySession::create(graph_, {.backend = graph::Backend::kRef});
  std::int64_t ops = 1;
  const Values inputs = {opening_.task.inputs[0].value};
  while (!planned.run(inputs, {}, {.ops_max = ops})) ASSERT_LT(++ops, 1000);
  EXPECT_TRUE(replay(opening_.task, planned, roots_, {.ops_max = ops}));
  const auto replayed = replay(opening_.task, plain, roots_, {.ops_max = ops - 1});
  ASSERT_FALSE(replayed) << (*replayed == kRefused ? "refused" : "replayed");
  EXPECT_EQ(replayed.error().code, core::ErrorCode::kOverBudget);
  EXPECT_TRUE(replay(opening_.task, plain, roots_, {.ops_max = 1000}));
}

TEST_F(AuditTest, OtherInputsOrAnotherModelAreNotReplayed) {
  auto session = this->session();
  StepTask task = opening_.task;
  task.inputs = {{"x", floats({2, 2}, {1, -2, 3, 5})}};
  EXPECT_EQ(replay(task, session, roots_).error().code, core::ErrorCode::kDataLoss);
  task.inputs = opening_.task.inputs;
  const ModelRoots other = model_roots(*small_graph("sum", 0.25f));
  EXPECT_EQ(replay(task, session, other).error().code, core::ErrorCode::kFailedPrecondition);
  task.job.numerics_version += 1;
  EXPECT_EQ(replay(task, session, roots_).error().code, core::ErrorCode::kFailedPrecondition);
}

TEST_F(AuditTest, AProviderChecksAJobBeforeItComputes) {
  const auto checked = [&](const std::function<void(StepTask&)>& bend) {
    StepTask task = opening_.task;
    bend(task);
    const auto made =
        check_job(task.job, task.input_salt, task.inputs, provider_.address(), *graph_, roots_);
    return made ? "accepted" : made.error().message;
  };
  EXPECT_EQ(checked([](StepTask&) {}), "accepted");
  EXPECT_EQ(checked([](StepTask& task) { task.job.steps = 2; }),
            "expected a job of one step without noise, rule of states and feeds");
  EXPECT_EQ(checked([](StepTask& task) { task.job.provider = {}; }).find("the job names another"),
            0u);
  EXPECT_EQ(checked([](StepTask& task) { task.job.graph_root[0] ^= 1; }),
            "the model is not the one that the job names");
  EXPECT_EQ(checked([](StepTask& task) { task.input_salt[0] ^= 1; }),
            "the inputs are not those that the job was made with");
  EXPECT_EQ(checked([](StepTask& task) { task.inputs[0].name = "z"; }).find("input 'x' is missing"),
            0u);
}

TEST_F(AuditTest, AnybodyChecksAReceiptWithItsOpening) {
  std::vector<std::string> passed;
  const auto note = [&](std::string_view check) { passed.emplace_back(check); };
  const auto found = recheck(receipt(), opening_, graph_, {}, note);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_TRUE(found->matches());
  EXPECT_EQ(passed.size(), 3u);
  protocol::Receipt unsigned_one = receipt();
  std::swap(unsigned_one.client, unsigned_one.provider);
  EXPECT_FALSE(recheck(unsigned_one, opening_, graph_, {}, note));
}

TEST_F(AuditTest, AnOpeningIsBoundToItsReceipt) {
  Opening other = opening_;
  other.outputs[0].value = floats({2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(check_opening(other, body_).error().code, core::ErrorCode::kDataLoss);
  other = opening_;
  other.task.input_salt[0] ^= 1;
  EXPECT_FALSE(check_opening(other, body_));
  other = opening_;
  other.task.job.steps = 2;
  EXPECT_FALSE(check_opening(other, body_));
  other = opening_;
  other.task.value[0] ^= 1;
  EXPECT_FALSE(check_opening(other, body_)) << "a value without noise";
  other = opening_;
  other.task.salt_before[0] ^= 1;
  EXPECT_FALSE(check_opening(other, body_)) << "nothing is before step 1";
}

TEST_F(AuditTest, AnOpeningTravelsWholeOrNotAtAll) {
  const core::Bytes bytes = *protocol::encode_stored(opening_);
  const auto back = protocol::decode<Opening>(bytes);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_TRUE(check_opening(*back, body_));
  EXPECT_EQ(*protocol::encode_stored(*back), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(protocol::decode<Opening>(core::ByteView(bytes).first(size))) << size;
  }
  // A flipped bit is refused by the decoder or no longer opens the receipt.
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    core::Bytes flipped = bytes;
    flipped[i] ^= 0x10;
    const auto decoded = protocol::decode<Opening>(flipped);
    EXPECT_TRUE(!decoded || !check_opening(*decoded, body_)) << i;
  }
}

TEST(Inputs, AreOrderedAndNamed) {
  const auto graph = small_graph("sum", 1.0f);
  EXPECT_TRUE(order_inputs(*graph, {{"x", floats({1, 2}, {1, 2})}}));
  const auto missing = order_inputs(*graph, {{"z", floats({1, 2}, {1, 2})}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("'x' float32[-1,2]"), std::string::npos)
      << missing.error().message;
  EXPECT_FALSE(order_inputs(*graph, {{"x", floats({1}, {1})}, {"z", floats({1}, {1})}}));
}

}  // namespace
}  // namespace commensal::receipt
