// SPDX-License-Identifier: Apache-2.0
// From an invitation to the first answer, and what operators read of it.
#include <gmock/gmock.h>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kThree = std::string(COMMENSAL_SOURCE_DIR) + "/examples/three.pgm";

class SignUp : public System {
 protected:
  void start(const Words& more = {}) {
    money_ = Money::kByDefault;
    const Words quick = {"--hash-chain-depth", "14"};
    Words words = quick;
    words.insert(words.end(), more.begin(), more.end());
    start_gateway(words);
    provider_ = start_provider("one", quick);
  }
  /// The one line of who is refused.
  std::string refusal(Words words, const std::string& token_file) {
    words.push_back("--json");
    int status = 0;
    const Json said = Json::parse(run(at_gateway(words, token_file), status), nullptr, false);
    EXPECT_EQ(status, 1) << words[0] << " " << words[1];
    return said.is_object() ? said["error"].value("message", "") : "";
  }
  /// What is said to people beside the answer.
  std::string told(const Words& words, const std::string& token_file, int expected = 0) {
    const std::string log = folder_.at("told.log");
    std::filesystem::remove(log);
    int status = 0;
    Process(at_gateway(words, token_file), log).read_all(status);
    EXPECT_EQ(status, expected) << words[0] << " " << words[1];
    return std::string(core::as_text(core::read_file(log).value_or(core::Bytes())));
  }
  std::string told(const std::string& name, const std::string& code) {
    return told({"account", "signup", name, "--code-file", code}, "");
  }
  /// Once the provider is there.
  Json first_answer(const std::string& token_file) {
    for (int tries = 0; tries < 200; ++tries) {
      int status = 0;
      const Words words = {"infer", "digits", "--input", kThree, "--json"};
      const Json said = Json::parse(run(at_gateway(words, token_file), status), nullptr, false);
      if (status == 0) return said;
      last_error_ = said.dump();
      pause_ms(50);
    }
    ADD_FAILURE() << last_error_;
    return {};
  }
  std::string credit(const std::string& token_file) {
    return ask_json({"account", "balance"}, token_file).at("balances").value("credit", "");
  }

  std::unique_ptr<Process> provider_;
};

TEST_F(SignUp, WhoIsInvitedHasAnAnswerAMomentLater) {
  start();
  const std::string code = folder_.at("spring.code"), carol = folder_.at("carol.token");
  ask({"account", "invite", "spring", "--credit", "50000", "--expires-in", "7d", "--save", code},
      token_file_);
  EXPECT_THAT(refusal({"account", "signup", "carol"}, ""), HasSubstr("for who is invited"));
  ask({"account", "signup", "carol", "--code-file", code, "--save", carol}, "");
  EXPECT_EQ(credit(carol), "50000");
  EXPECT_THAT(refusal({"account", "signup", "dave", "--code-file", code}, ""),
              HasSubstr("used up"));
  ask({"push", kModel}, carol);
  EXPECT_EQ(first_answer(carol).at("model"), "carol/digits");
  EXPECT_EQ(credit(carol), "38000");  // less the price of one
  // A token for a machine that asks and does nothing else.
  const std::string edge = folder_.at("edge.token");
  ask({"account", "token", "edge", "--scopes", "infer", "--expires-in", "12h", "--save", edge},
      carol);
  EXPECT_EQ(ask_json({"account"}, edge).at("scopes"), Json({"infer"}));
  EXPECT_EQ(first_answer(edge).at("model"), "carol/digits");
  EXPECT_THAT(refusal({"push", kModel, "more"}, edge), HasSubstr("has not the scope 'models'"));
  EXPECT_EQ(ask_json({"account", "tokens"}, carol).at("tokens").size(), 2u);
  ask({"account", "revoke", "edge"}, carol);
  EXPECT_THAT(refusal({"account"}, edge), HasSubstr("unknown token"));
  // All of it is there after a restart.
  gateway_->kill();
  start_gateway({"--hash-chain-depth", "14"});
  EXPECT_EQ(ask_json({"account"}, carol).at("name"), "carol");
  EXPECT_EQ(credit(carol), "26000");
  const Json log = ask_json({"account", "log", "--count", "1"}, token_file_).at("acts");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].at("act"), "invitation.create");
  EXPECT_EQ(log[0].at("account"), "operator");
  EXPECT_THAT(ask({"account", "log"}, token_file_), HasSubstr("invitation.create spring"));
}

TEST_F(SignUp, WhoIsInvitedHasTheCreditOfANewAccountUnlessTheInvitationSaysOtherwise) {
  start();
  const std::string usual = folder_.at("usual.code"), none = folder_.at("none.code");
  ask({"account", "invite", "usual", "--uses", "2", "--save", usual}, token_file_);
  ask({"account", "invite", "none", "--uses", "2", "--credit", "0", "--save", none}, token_file_);
  const std::string made = folder_.at("made.token"), carol = folder_.at("carol.token"),
                    dave = folder_.at("dave.token");
  ask({"account", "create", "made", "--save", made}, token_file_);
  ask({"account", "signup", "carol", "--code-file", usual, "--save", carol}, "");
  ask({"account", "signup", "dave", "--code-file", none, "--save", dave}, "");
  EXPECT_GT(credit(made).size(), 5u);
  EXPECT_EQ(credit(carol), credit(made));
  EXPECT_THAT(credit(dave), ::testing::AnyOf("", "0"));
  EXPECT_EQ(told("erin", usual),
            "erin has " + credit(made) + " of test money to spend on requests\n");
  EXPECT_EQ(told("frank", none),
            "frank has no credit yet, and a request costs 12000: the gateway's operator books a "
            "payment (account deposit frank AMOUNT), or gives some of the credit pool (account "
            "grant frank AMOUNT)\n");
}

TEST_F(SignUp, AnAuditorIsToldHowItGetsAStake) {
  start();
  const std::string trudy = folder_.at("trudy.token"), folder = folder_.at("auditor");
  EXPECT_THAT(told({"account", "create", "trudy", "--auditor", "--save", trudy}, token_file_),
              HasSubstr("none of it for a stake: `auditor` says how to get one\n"));
  const std::string said = told({"auditor", "--data-dir", folder}, trudy, 1);
  const std::string address = said.substr(said.find("0x"), 42);
  EXPECT_THAT(said, HasSubstr("has a stake of 0 here, 1000 answer for a report: the operator "
                              "books it in (account deposit " +
                              address +
                              " 1000 --yes), then the auditor locks it (stake lock "
                              "1000 --data-dir FOLDER)\n"));
  const Words lock = {"stake", "lock", "1000", "--data-dir", folder};
  EXPECT_THAT(told(lock, trudy, 1), HasSubstr("(account deposit " + address + " AMOUNT --yes)"));
  ask({"account", "deposit", address, "1000", "--yes"}, token_file_);
  ask(lock, trudy);
  EXPECT_EQ(ask_json({"account", "balance", address}, token_file_).at("balances"),
            Json({{"stake", "1000"}}));
}

TEST_F(SignUp, WhereItIsOpenNobodyNeedsAnInvitation) {
  start({"--open-signup", "24000"});
  const std::string dave = folder_.at("dave.token"), erin = folder_.at("erin.token");
  ask({"account", "signup", "dave", "--save", dave}, "");
  ask({"account", "signup", "erin", "--save", erin}, "");
  EXPECT_EQ(credit(dave), "24000");
  ask({"push", kModel, "--private", "--allow", address_}, dave);
  EXPECT_THAT(refusal({"models", "dave/digits"}, erin), HasSubstr("unknown model"));
  ask({"models", "dave/digits", "--grant", "erin"}, dave);
  EXPECT_THAT(ask({"models", "dave/digits"}, erin), HasSubstr("dave/digits version 1"));
  EXPECT_THAT(refusal({"models", "dave/digits", "--save", folder_.at("taken")}, erin),
              HasSubstr("did not give it the file"));
  ask({"models", "dave/digits", "--revoke", "erin"}, dave);
  EXPECT_THAT(refusal({"models", "dave/digits"}, erin), HasSubstr("unknown model"));
}

TEST_F(SignUp, FreeCreditIsTestMoney) {
  int status = 0;
  const Json said = Json::parse(
      run({"gateway", "--data-dir", folder_.at("none"), "--no-money", "--open-signup", "5",
           "--http", "127.0.0.1:0", "--providers", "127.0.0.1:0", "--grpc", "off", "--json"},
          status),
      nullptr, false);
  EXPECT_EQ(status, 1);
  EXPECT_THAT(said["error"].value("message", ""), HasSubstr("no test money is granted here"));
}

}  // namespace
}  // namespace commensal::e2e
