// SPDX-License-Identifier: Apache-2.0
// A gateway that believes an auditor, a provider that shows its statement, and one that has none.
#include <gmock/gmock.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/base/crypto/secp256k1.hpp>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;

class PrivacyClasses : public System {
 protected:
  void SetUp() override {
    core::SystemRng rng;
    const auto key = crypto::SecretKey::generate(rng);
    auditor_ = crypto::to_text(key.address());
    ASSERT_TRUE(core::write_file_atomically(
        key_file_, core::as_bytes(core::to_hex(key.bytes()) + "\n"), 0600));
    start_gateway({"--privacy-auditor", "medical=" + auditor_});
    client_ = std::make_unique<client::Client>(connect());
    push(*client_);
  }
  std::string vouch_for(const std::string& provider) {
    const std::string file = folder_.at("medical.statement");
    int status = -1;
    const Json said = Json::parse(run({"vouch", provider, "--class", "medical", "--until", day_,
                                       "--key", key_file_, "--save", file, "--json"},
                                      status));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(said.at("auditor"), auditor_);
    return file;
  }
  /// In 300 days.
  static std::uint64_t end_ms() {
    constexpr std::int64_t kDayMs = 86'400'000;
    return static_cast<std::uint64_t>((core::SystemClock().wall_ms() / kDayMs + 301) * kDayMs);
  }
  static std::string day_before(std::uint64_t end_ms) {
    using namespace std::chrono;
    const year_month_day date(floor<days>(sys_time<milliseconds>(milliseconds(end_ms - 1))));
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  }
  static Json inputs(std::uint64_t i) {
    const auto made = picture(i);
    const auto pixels = made[0].value.data<float>();
    return Json::array({{{"name", "image"},
                         {"datatype", "FP32"},
                         {"shape", {1, 1, 8, 8}},
                         {"data", std::vector(pixels.begin(), pixels.end())}}});
  }
  /// Its provider, or the gateway's one line.
  std::string ask(const std::string& privacy_class, std::uint64_t i = 0) {
    Json body = {{"inputs", inputs(i)}};
    if (!privacy_class.empty()) body["parameters"] = {{"privacy_class", privacy_class}};
    const std::string text = body.dump();
    const auto answer =
        client_->post("/v2/models/operator/digits/infer", "application/json", core::as_bytes(text));
    if (!answer) return answer.error().message;
    return Json::parse(*answer).at("parameters").at("commensal_provider");
  }
  /// Until it is there.
  std::string insist_on(const std::string& privacy_class, const std::string& provider) {
    std::string said;
    for (int tries = 0; tries < 400 && said != provider; ++tries, pause_ms(25))
      said = ask(privacy_class);
    return said;
  }

  std::string auditor_;
  const std::string key_file_ = folder_.at("auditor.key");
  const std::uint64_t end_ms_ = end_ms();
  const std::string day_ = day_before(end_ms_);
  std::unique_ptr<client::Client> client_;
};

TEST_F(PrivacyClasses, ArePutBeforeProvidersThatTheirAuditorHasSigned) {
  const auto other = start_provider("other");
  const std::string other_address = address_;
  EXPECT_EQ(insist_on("", other_address), other_address);
  EXPECT_THAT(ask("medical"), HasSubstr("'other' has no statement of class 'medical'"));
  EXPECT_THAT(ask("legal"), HasSubstr("unknown privacy class 'legal': this gateway has auditors "
                                      "for 'medical'"));
  auto seen = start_provider("seen");
  const std::string seen_address = address_, file = vouch_for(seen_address);
  seen->kill();
  seen = start_provider("seen", {"--privacy-statement", file});
  EXPECT_EQ(insist_on("medical", seen_address), seen_address);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(ask("medical", i), seen_address) << i;
  const Json listed = Json::parse(*client_->get_json("/v1/providers")).at("providers");
  ASSERT_EQ(listed.size(), 2u);
  for (const Json& one : listed) {
    const Json& classes = one.at("privacy_classes");
    ASSERT_EQ(classes.size(), one.at("address") == seen_address ? 1u : 0u) << one;
    if (classes.empty()) continue;
    EXPECT_EQ(classes[0].at("class"), "medical");
    EXPECT_EQ(classes[0].at("until_ms"), end_ms_);
  }
  seen->kill();
  std::string said;
  for (int tries = 0; tries < 400 && said.find("no provider for") == std::string::npos; ++tries)
    said = ask("medical");
  EXPECT_THAT(said, HasSubstr("'other' has no statement of class 'medical'"));
  EXPECT_THAT(said, Not(HasSubstr("\n")));
  EXPECT_EQ(ask(""), other_address);
}

TEST_F(PrivacyClasses, AModelMayAskForOne) {
  const auto other = start_provider("other");
  EXPECT_EQ(insist_on("", address_), address_);
  ASSERT_TRUE(client_->configure("operator/digits", 1,
                                 "parameters { key: \"privacy_class\" value { string_value: "
                                 "\"medical\" } }",
                                 {}));
  EXPECT_THAT(ask(""), HasSubstr("'other' has no statement of class 'medical'"));
  EXPECT_THAT(ask("legal"), HasSubstr("is served to the privacy class 'medical'"));
  // Rollouts are of it too.
  const std::string rollout = Json({{"model", "operator/digits"},
                                    {"steps", 2},
                                    {"feeds", Json::array({Json::array({"logits", "image"})})},
                                    {"privacy_class", "legal"},
                                    {"inputs", inputs(0)}})
                                  .dump();
  const auto made = client_->post("/v1/rollouts", "application/json", core::as_bytes(rollout));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("is served to the privacy class 'medical'"));
}

TEST_F(PrivacyClasses, AConsumerNamesOneOnTheCommandLine) {
  const auto first = start_provider("seen");  // so that it has a key
  const std::string address = address_, file = vouch_for(address);
  first->kill();
  const auto seen = start_provider("seen", {"--privacy-statement", file});
  EXPECT_EQ(insist_on("medical", address), address);
  const std::string three = std::string(COMMENSAL_SOURCE_DIR) + "/examples/three.pgm";
  const Json answer =
      ask_json({"infer", "digits", "--input", three, "--privacy-class", "medical"}, token_file_);
  EXPECT_EQ(answer.at("provider"), address);
  EXPECT_EQ(answer.at("privacy_class"), "medical");
  EXPECT_THAT(
      System::ask({"infer", "digits", "--input", three, "--privacy-class", "medical"}, token_file_),
      HasSubstr(address + ", privacy class medical\n"));
  EXPECT_THAT(System::ask({"providers"}, token_file_),
              HasSubstr("may see the privacy class 'medical' until the end of " + day_ + " (UTC)"));
}

TEST_F(PrivacyClasses, NobodyVouchesForEverOrOverAnotherFile) {
  const auto refusal = [&](const std::string& until, const std::string& save) {
    int status = 0;
    const Json said = Json::parse(run({"vouch", auditor_, "--class", "medical", "--until", until,
                                       "--key", key_file_, "--save", save, "--json"},
                                      status));
    EXPECT_EQ(status, 1);
    return said.at("error").value("message", "");
  };
  EXPECT_THAT(refusal("9999-12-31", folder_.at("new")), HasSubstr("more than 400 days away"));
  EXPECT_THAT(refusal(day_, key_file_), HasSubstr("is the key's own file"));
  EXPECT_THAT(refusal(day_, token_file_), HasSubstr("and no privacy statement"));
  EXPECT_TRUE(vouch_for(auditor_) == vouch_for(auditor_)) << "but over an older statement";
}

TEST_F(PrivacyClasses, AnothersStatementIsNotStartedWith) {
  const std::string file = vouch_for(auditor_);  // no provider's
  int status = 0;
  const Json said =
      Json::parse(run({"provider", "--gateway", "127.0.0.1:" + provider_port_, "--data-dir",
                       folder_.at("one"), "--privacy-statement", file, "--json"},
                      status));
  EXPECT_EQ(status, 1);
  EXPECT_THAT(said.at("error").value("message", ""),
              HasSubstr("the privacy statement of class 'medical' is of provider " + auditor_));
}

}  // namespace
}  // namespace commensal::e2e
