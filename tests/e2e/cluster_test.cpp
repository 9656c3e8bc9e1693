// SPDX-License-Identifier: Apache-2.0
// Several gateways on one database, under customers, while all of it is killed again and again.
#include <grpcpp/grpcpp.h>
#include <inference/grpc_service.grpc.pb.h>

#include <cmath>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>
#include <tests/e2e/books.hpp>
#include <tests/e2e/cluster.hpp>
#include <tests/e2e/grpc_request.hpp>
#include <tests/e2e/right_answers.hpp>

namespace commensal::e2e {
namespace {

constexpr std::int64_t kWaitMs = 45'000;  // longer than a gateway waits for one that writes
constexpr std::uint64_t kPictures = 64;
constexpr double kGapSMax = 30;  // without any answer
constexpr const char* kServed = "operator/digits";

/// Asks any gateway, one question at a time, and another after one that has failed.
class Customer {
 public:
  /// `right`: the outputs of the pictures.
  Customer(Cluster& cluster, Tally& tally, const std::vector<std::string>& right, std::string name,
           bool speaks_grpc, std::uint64_t first)
      : cluster_(cluster),
        tally_(tally),
        right_(right),
        name_(std::move(name)),
        speaks_grpc_(speaks_grpc),
        at_(first % Cluster::kGateways),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if ((token_.empty() || answers_ == kAnswersOfOne) && !open_account()) continue;
      ++asked_;
      const auto answer = speaks_grpc_ ? ask_grpc() : ask_http();
      if (answer) {
        ++answers_;
        tally_.answered(account_, answer->receipt, clock_.monotonic_ns());
        if (answer->output != right_[asked_ % kPictures]) tally_.wrong();
        pause_ms(20);
        continue;
      }
      tally_.failed(answer.error().message);
      move_on();
    }
  }
  void move_on() {
    at_ = (at_ + 1) % Cluster::kGateways;
    client_.reset();
    stub_.reset();
    pause_ms(50);
  }
  bool open_account() {
    auto operators = *client::Client::create(
        {.url = cluster_.place(at_).url(), .token = cluster_.token(), .wait_ms = kWaitMs});
    account_ = fmt::format("{}-{}", name_, ++accounts_);
    const auto made = operators.create_account(account_, "consumer");
    if (!made) {
      move_on();  // there may be one of that name by now
      return false;
    }
    token_ = made->token;
    answers_ = 0;
    client_.reset();
    return true;
  }
  struct Answer {
    std::string receipt, output;
  };
  tensor::NamedTensors asked_picture() const { return picture(asked_ % kPictures); }
  core::Result<Answer> ask_http() {
    if (!client_) {
      client_ = *client::Client::create(
          {.url = cluster_.place(at_).url(), .token = token_, .wait_ms = kWaitMs});
    }
    COMMENSAL_ASSIGN(const client::Answer answer, client_->infer(kServed, 0, asked_picture()));
    return Answer{core::to_hex(answer.receipt),
                  std::string(core::as_text(answer.outputs.at(0).value.bytes()))};
  }
  core::Result<Answer> ask_grpc() {
    if (!stub_) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stub_ = inference::GRPCInferenceService::NewStub(grpc::CreateCustomChannel(
          cluster_.place(at_).grpc, grpc::InsecureChannelCredentials(), arguments));
    }
    const auto request = digit_request(kServed, asked_picture());
    inference::ModelInferResponse response;
    grpc::ClientContext context;
    prepare(context, token_, kWaitMs);
    const grpc::Status status = stub_->ModelInfer(&context, request, &response);
    if (status.ok()) {
      return Answer{response.parameters().at("commensal_receipt").string_param(),
                    response.raw_output_contents(0)};
    }
    return core::fail(core::ErrorCode::kUnavailable, "gRPC {}: {}",
                      static_cast<int>(status.error_code()), status.error_message());
  }

  const core::SystemClock clock_{};
  Cluster& cluster_;
  Tally& tally_;
  const std::vector<std::string>& right_;
  const std::string name_;
  const bool speaks_grpc_;
  std::size_t at_;
  std::size_t answers_ = 0, accounts_ = 0;
  std::uint64_t asked_ = 0;
  std::string account_, token_;
  std::optional<client::Client> client_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
  std::jthread thread_;  // last: it sees the others
};

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = store::testing::PostgresServer::missing_package()) {
      GTEST_SKIP() << *missing;
    }
  }
  /// As the operator, by way of a gateway.
  client::Client connect(const Cluster& cluster, std::size_t gateway) {
    return *client::Client::create(
        {.url = cluster.place(gateway).url(), .token = cluster.token(), .wait_ms = kWaitMs});
  }
  /// Until a push succeeds: nobody may write yet.
  static void push(client::Client& client) {
    const core::Bytes model = *core::read_file(kModel);
    client::PushRequest request;
    request.model = kServed;
    request.bytes = model;
    core::Result<client::ModelInfo> pushed = core::fail(core::ErrorCode::kInternal, "not tried");
    for (int tries = 0; tries < 20 && !pushed; ++tries) pushed = client.push(request);
    ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
  }
  Kept expect_answers(const Cluster& cluster, const Acknowledged& acknowledged);
  void expect_the_same_everywhere(const Cluster& cluster);
  void expect_a_sound_store(Cluster& cluster, const Acknowledged& acknowledged, const Kept& kept);
};

/// What was acknowledged is there, each once, and paid for.
Kept ClusterTest::expect_answers(const Cluster& cluster, const Acknowledged& acknowledged) {
  client::Client client = connect(cluster, 0);
  Kept kept = expect_receipts(client, acknowledged);
  std::size_t all = 0;
  for (const auto& [account, receipts] : acknowledged) all += receipts.size();
  const Json ever = Json::parse(client.get_json("/v1/tickets").value_or("{}")).at("ever");
  EXPECT_GE(ever.at("issued").get<std::uint64_t>(), all);
  EXPECT_LE(ever.at("paid").get<std::uint64_t>(), ever.at("won").get<std::uint64_t>());
  return kept;
}

/// Whichever gateway is asked; while nothing changes.
void ClusterTest::expect_the_same_everywhere(const Cluster& cluster) {
  for (const char* const target :
       {"/v1/receipts?count=50", "/v2/models/operator/digits", "/v1/accounts", "/v1/ledger"}) {
    std::set<std::string> answers;
    for (int tries = 0; tries < 60 && answers.size() != 1; ++tries, pause_ms(250)) {
      answers.clear();
      for (std::size_t i = 0; i < Cluster::kGateways; ++i) {
        const auto said = connect(cluster, i).get_json(target);
        answers.insert(said ? *said : "failed: " + said.error().message);
      }
    }
    EXPECT_EQ(answers.size(), 1u) << target;
    EXPECT_EQ(answers.begin()->find("failed: "), std::string::npos) << *answers.begin();
  }
}

/// Every entry is run again: a ticket that is claimed twice, or a sum that does not add up, is an
/// error. Each answer has one charge and one ticket.
void ClusterTest::expect_a_sound_store(Cluster& cluster, const Acknowledged& acknowledged,
                                       const Kept& kept) {
  const core::SystemClock clock;
  const auto store =
      store::open_postgres_store(cluster.server().url(), {.owner = "the test"}, clock);
  ASSERT_TRUE(store) << store.error().message;
  const cases::LedgerArbiter arbiter;
  const auto verified = ledger::verify(**store, ledger::Signatures(), {}, &arbiter);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->has_state);
  EXPECT_GT(verified->entries, 0u);
  expect_books(**store, acknowledged, kept);
}

int seconds_of_trouble() {
  const char* const asked = std::getenv("COMMENSAL_CLUSTER_S");
  return asked == nullptr ? 25 : std::atoi(asked);
}

TEST_F(ClusterTest, AnyOfItMayDieAndNothingThatWasAcknowledgedIsLost) {
  const core::SystemClock clock;
  const std::uint64_t seed = 20;
  Cluster cluster(seed, OwnNetwork::enter());
  cluster.start();
  auto client = connect(cluster, 1);
  push(client);
  ASSERT_TRUE(cluster.is_whole(client)) << cluster.log(0);
  Tally tally;
  const auto right = right_answers(kPictures);
  const std::int64_t began_ns = clock.monotonic_ns();
  const auto passed_s = [&] { return (clock.monotonic_ns() - began_ns) / 1'000'000'000; };
  {
    std::vector<std::unique_ptr<Customer>> customers;
    for (std::uint64_t i = 0; i < 6; ++i) {
      customers.push_back(
          std::make_unique<Customer>(cluster, tally, right, fmt::format("c{}", i), i % 3 == 2, i));
    }
    while (passed_s() < seconds_of_trouble()) {
      pause_ms(1'000 + static_cast<int>(cluster.dice(2'500)));
      cluster.disturb();
      pause_ms(static_cast<int>(cluster.dice(1'000)));
      cluster.mend();
    }
    const std::uint64_t before = tally.answers();
    EXPECT_TRUE(cluster.is_whole(client)) << cluster.log(0) << cluster.log(1) << cluster.log(2);
    for (int tries = 0; tries < 600 && tally.answers() < before + 20; ++tries) pause_ms(100);
    EXPECT_GE(tally.answers(), before + 20) << "it goes on";
  }
  const Tally::Gap gap = tally.longest_gap(clock.monotonic_ns());
  std::string done;
  for (const auto& [what, times] : cluster.done()) done += fmt::format("  {:5} {}\n", times, what);
  fmt::print(
      "{} s: {} answers, {} failures seen, {:.1f} s without an answer at most, {} writers\n{}{}"
      "  before and in the longest time without an answer:\n{}",
      passed_s(), tally.answers(), tally.failures(), gap.seconds(),
      cluster.server().psql("SELECT token FROM commensal_writer").c_str(), done, tally.words(),
      cluster.done_in(gap));
  EXPECT_EQ(tally.wrongs(), 0u);
  EXPECT_LT(gap.seconds(), kGapSMax);
  EXPECT_NE(cluster.server().psql("SELECT token FROM commensal_writer"), "1\n");
  const Acknowledged acknowledged = tally.receipts();
  const Kept kept = expect_answers(cluster, acknowledged);
  expect_the_same_everywhere(cluster);
  cluster.stop();
  expect_a_sound_store(cluster, acknowledged, kept);
  if (!cluster.may_cut()) {
    GTEST_SKIP()
        << "held, but nobody was cut off: that takes a network namespace, which the kernel "
           "gives to root";
  }
}

}  // namespace
}  // namespace commensal::e2e
