// SPDX-License-Identifier: Apache-2.0
// How models are called and served, over HTTP, as a client of Triton's asks for it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <commensal/base/core/descriptor.hpp>
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;

class ModelRepository : public System {
 protected:
  void start(const std::vector<std::string>& more = {}) {
    start_gateway(more);
    provider_ = start_provider("p");
    client_.emplace(connect());
    push(*client_);
  }
  /// A client that shows this instead of a token.
  client::Client stranger() {
    return *client::Client::create({.url = url(), .token = "", .wait_ms = 30'000});
  }
  static Json said(const core::Result<std::string>& text) {
    EXPECT_TRUE(text.has_value()) << text.error().message;
    return text ? Json::parse(*text) : Json();
  }
  core::Result<std::string> post(const std::string& target, const Json& body = Json::object()) {
    const std::string text = body.dump();
    return client_->post(target, "application/json", core::as_bytes(text));
  }

  std::unique_ptr<Process> provider_;
  std::optional<client::Client> client_;
};

TEST_F(ModelRepository, AModelIsServedAsItsOwnerSaysUnderAnAlias) {
  start();
  ASSERT_TRUE(client_->set_alias("digits", "operator/digits"));
  insist(*client_, 1);
  ASSERT_TRUE(client_->infer("digits", 0, picture(2)));
  EXPECT_EQ(said(client_->get_json("/v2/models/digits"))["name"], "digits");
  const auto batched = [](int most) {
    return Json{{"parameters", {{"config", Json({{"max_batch_size", most}}).dump()}}}};
  };
  ASSERT_TRUE(post("/v2/repository/models/digits/load", batched(2)));
  EXPECT_EQ(said(client_->get_json("/v2/models/digits/config"))["max_batch_size"], 2);
  EXPECT_EQ(said(client_->get_json("/v2/models/digits/config"))["input"][0]["dims"],
            Json({1, 8, 8}));
  EXPECT_EQ(said(client_->get_json("/v2/models/digits"))["inputs"][0]["shape"],
            Json({-1, 1, 8, 8}));
  const tensor::NamedTensors three = {
      {"image", tensor::Tensor::of<float>({3, 1, 8, 8}, std::vector<float>(192))}};
  EXPECT_THAT(client_->infer("digits", 0, three).error().message,
              HasSubstr("batch-size must be <= 2 for 'digits'"));
  EXPECT_THAT(post("/v2/repository/models/digits/load", {{"parameters", {{"config", "{"}}}})
                  .error()
                  .message,
              HasSubstr("failed to load 'digits', the configuration is no JSON"));
  ASSERT_TRUE(post("/v2/repository/models/digits/load"));  // as it is kept
  ASSERT_TRUE(client_->infer("digits", 0, three));
  const Json counted = said(client_->get_json("/v2/models/digits/stats"))["model_stats"];
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_GE(counted[0]["inference_stats"]["success"]["count"], 3);
  EXPECT_EQ(counted[0]["inference_stats"]["fail"]["count"], 1);
}

TEST_F(ModelRepository, WhatIsUnloadedIsNotServedUntilItIsLoaded) {
  start();
  insist(*client_, 1);
  ASSERT_TRUE(post("/v2/repository/models/operator/digits/unload"));
  EXPECT_FALSE(client_->get_json("/v2/models/operator/digits/ready"));
  EXPECT_THAT(client_->infer("operator/digits", 0, picture(2)).error().message,
              HasSubstr("is unloaded"));
  const Json index = said(post("/v2/repository/index"));
  EXPECT_EQ(index[0]["state"], "UNAVAILABLE");
  gateway_->kill();
  start_gateway();
  client_.emplace(connect());
  EXPECT_THAT(client_->infer("operator/digits", 0, picture(3)).error().message,
              HasSubstr("is unloaded"));
  ASSERT_TRUE(post("/v2/repository/models/operator/digits/load"));
  insist(*client_, 4);
}

TEST_F(ModelRepository, WhoHasNoTokenIsTheAccountThatTheOperatorNamed) {
  start({"--anonymous", "everybody", "--server-name", "triton"});
  insist(*client_, 1);
  client::Client nobody = stranger();
  EXPECT_THAT(nobody.infer("operator/digits", 0, picture(2)).error().message,
              HasSubstr("no account 'everybody'"));
  ASSERT_TRUE(client_->create_account("everybody", "consumer"));
  const auto answer = nobody.infer("operator/digits", 0, picture(2));
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(client_->receipt(answer->receipt)->account, "everybody");
  EXPECT_EQ(said(nobody.get_json("/v2"))["name"], "triton");
  EXPECT_THAT(nobody.set_alias("digits", "operator/digits").error().message,
              HasSubstr("operators only"));
  const auto refused =
      nobody.post("/v2/repository/models/operator/digits/unload", "application/json", {});
  EXPECT_THAT(refused.error().message, HasSubstr("has not the scope 'models'"));
  EXPECT_THAT(nobody.receipt(answer->receipt).error().message,
              HasSubstr("has not the scope 'receipts'"));
  // What is kept for the account, others' inputs too, is not for everybody.
  const std::string kept = "/v1/rollouts";
  for (const std::string& path : {kept, kept + "/1", kept + "/1/record", kept + "/1/steps/1"})
    EXPECT_THAT(nobody.get_json(path).error().message, HasSubstr("a token is needed")) << path;
  EXPECT_THAT(nobody.post(kept, "application/json", {}).error().message,
              HasSubstr("a token is needed"));
}

// Whatever it is called: strangers are no operators.
TEST_F(ModelRepository, WhoHasNoTokenIsNoOperator) {
  start({"--anonymous", "operator"});
  insist(*client_, 1);
  client::Client nobody = stranger();
  EXPECT_THAT(nobody.infer("operator/digits", 0, picture(2)).error().message,
              HasSubstr("expected a consumer's"));
  EXPECT_THAT(nobody.set_alias("digits", "operator/digits").error().message,
              HasSubstr("expected a consumer's"));
}

TEST_F(ModelRepository, ATokenMayBeSentAsAPassword) {
  start();
  insist(*client_, 1);
  const core::Bytes file = *core::read_file(token_file_);
  const std::string token(core::as_text(file).substr(0, file.size() - 1));
  const auto status_of = [&](const std::string& user) {
    int status = 0;
    const std::string said = run(
        {"-s", "-o", folder_.at("said"), "-w", "%{http_code}", "-u", user, url() + "/v1/account"},
        status, "/usr/bin/curl");
    return said;
  };
  EXPECT_EQ(status_of("operator:" + token), "200");
  EXPECT_EQ(status_of("alice:" + token), "401");
  EXPECT_EQ(status_of("operator:" + token.substr(1)), "401");
  EXPECT_EQ(status_of("operator:"), "401");
}

/// 64 floats in, 10 out, in memory that a client on this host has named.
class ClientMemory {
 public:
  ClientMemory() {
    EXPECT_TRUE(file_.valid());
    EXPECT_EQ(::ftruncate(file_.get(), 4096), 0);
  }
  ~ClientMemory() { ::shm_unlink(key_.c_str()); }
  void write(std::span<const float> values) {
    EXPECT_EQ(::pwrite(file_.get(), values.data(), values.size_bytes(), 0),
              static_cast<ssize_t>(values.size_bytes()));
  }
  std::vector<float> read(std::size_t count, off_t at) {
    std::vector<float> values(count);
    EXPECT_EQ(::pread(file_.get(), values.data(), count * 4, at), static_cast<ssize_t>(count * 4));
    return values;
  }
  Json region() const { return {{"key", key_}, {"offset", 0}, {"byte_size", 4096}}; }

 private:
  const std::string key_ = "/commensal-e2e-" + std::to_string(::getpid());
  core::Descriptor file_{::shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)};
};

Json placed(int bytes, int offset) {
  return {{"shared_memory_region", "mine"},
          {"shared_memory_byte_size", bytes},
          {"shared_memory_offset", offset}};
}

TEST_F(ModelRepository, TensorsMayLieInMemoryThatAClientShares) {
  start({"--shared-memory"});
  insist(*client_, 1);
  const auto expected = client_->infer("operator/digits", 0, picture(7));
  ASSERT_TRUE(expected.has_value());
  const tensor::Tensor& output = expected->outputs[0].value;
  ClientMemory memory;
  const tensor::NamedTensors inputs = picture(7);
  memory.write(inputs[0].value.data<float>());
  const Json order = {
      {"inputs",
       {{{"name", "image"},
         {"shape", {1, 1, 8, 8}},
         {"datatype", "FP32"},
         {"parameters", placed(256, 0)}}}},
      {"outputs", {{{"name", expected->outputs[0].name}, {"parameters", placed(40, 1024)}}}}};
  const std::string infer = "/v2/models/operator/digits/infer";
  EXPECT_THAT(post(infer, order).error().message,
              HasSubstr("Unable to find shared memory region: 'mine'"));
  const std::string region = "/v2/systemsharedmemory/region/mine";
  ASSERT_TRUE(post(region + "/register", memory.region()));
  EXPECT_THAT(post(region + "/register", memory.region()).error().message,
              HasSubstr("already in manager"));
  const Json answer = said(post(infer, order));
  EXPECT_EQ(answer["outputs"][0]["parameters"]["shared_memory_byte_size"], 40);
  EXPECT_FALSE(answer["outputs"][0].contains("data"));
  const auto got = memory.read(10, 1024);
  EXPECT_TRUE(std::ranges::equal(got, output.data<float>()));
  EXPECT_EQ(said(client_->get_json("/v2/systemsharedmemory/status")).size(), 1u);
  ASSERT_TRUE(post(region + "/unregister"));
  EXPECT_FALSE(post(infer, order));
}

TEST_F(ModelRepository, WithoutTheOperatorsLeaveNoMemoryIsShared) {
  start();
  ClientMemory memory;
  EXPECT_THAT(post("/v2/systemsharedmemory/region/mine/register", memory.region()).error().message,
              HasSubstr("--shared-memory"));
}

}  // namespace
}  // namespace commensal::e2e
