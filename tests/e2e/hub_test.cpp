// SPDX-License-Identifier: Apache-2.0
// A model with a card: pushed, found, and asked about a picture by its name alone.
#include <gmock/gmock.h>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSource = COMMENSAL_SOURCE_DIR;
const std::string kThree = kSource + "/examples/three.pgm";
const std::string kCard = kSource + "/examples/digits.md";

class Hub : public System {
 protected:
  void SetUp() override {
    start_gateway();
    provider_ = start_provider("p");
    alice_ = folder_.at("alice.token");
    ask({"account", "create", "alice", "--save", alice_}, token_file_);
  }
  std::string file(const char* name, std::string_view content) const {
    const std::string path = folder_.at(name);
    EXPECT_TRUE(core::write_file_atomically(path, core::as_bytes(content)));
    return path;
  }
  /// What it says on standard error; it must fail, in one line.
  std::string complaint(const Words& words, const std::string& token) {
    const std::string log = folder_.at("complaint");
    std::filesystem::remove(log);
    Process process(at_gateway(words, token), log);
    int status = 0;
    process.read_all(status);
    EXPECT_EQ(status, 1);
    const std::string said(core::as_text(*core::read_file(log)));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    return said;
  }

  std::unique_ptr<Process> provider_;
  std::string alice_;
};

TEST_F(Hub, AModelIsPushedWithItsCardFoundAndAskedByName) {
  ask({"push", kModel, "--card", kCard}, alice_);
  const std::string found = ask({"explore", "handwritten", "--task", "image-classification"}, "");
  EXPECT_THAT(found, HasSubstr("alice/digits"));
  EXPECT_THAT(found, HasSubstr("reads one handwritten digit"));
  EXPECT_THAT(ask({"explore", "nonesuch"}, ""), HasSubstr("no model is found"));
  EXPECT_THAT(ask({"models", "alice/digits", "--card"}, ""), HasSubstr("pipeline_tag"));
  const std::string answer = ask({"infer", "alice/digits", kThree}, alice_);
  EXPECT_THAT(answer, ::testing::ContainsRegex("\\[3\\] [0-9.]+  [0-9.]+ %  three\n"));
  const Json by_card = ask_json({"infer", "alice/digits", kThree}, alice_);
  const Json& top = by_card["outputs"]["logits"]["top"];
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0]["label"], "three");
  EXPECT_GT(top[0]["share"], 0.5);
  const Json by_flags = ask_json({"infer", "alice/digits", "--input", kThree, "--no-card",
                                  "--image-convert", "--image-resize", "pad"},
                                 alice_);
  EXPECT_EQ(by_flags["outputs"]["logits"]["sha256"], by_card["outputs"]["logits"]["sha256"]);
  EXPECT_EQ(by_flags["outputs"]["logits"]["top"].size(), 5u);
  EXPECT_FALSE(by_flags["outputs"]["logits"]["top"][0].contains("label"));
  const Json over = ask_json({"infer", "alice/digits", kThree, "--top", "1"}, alice_);
  EXPECT_EQ(over["outputs"]["logits"]["top"].size(), 1u);
  const Json used = ask_json({"explore", "--sort", "used"}, alice_);
  EXPECT_GE(used["models"][0]["served"], 4);
  gateway_->kill();
  start_gateway();
  EXPECT_GE(ask_json({"explore"}, alice_)["models"][0]["served"], 4);
  EXPECT_THAT(ask({"models", "alice/digits", "--card"}, alice_), HasSubstr("# Handwritten"));
}

TEST_F(Hub, AVersionIsNamedBehindAColon) {
  ask({"push", kModel}, alice_);
  ask({"push", kSource + "/models/letters/letters.onnx", "digits"}, alice_);
  EXPECT_EQ(ask_json({"infer", "alice/digits:1", kThree}, alice_)["version"], 1);
  EXPECT_EQ(ask_json({"infer", "digits:1", "--version", "1", kThree}, alice_)["version"], 1);
  EXPECT_EQ(ask_json({"models", "alice/digits:1"}, "")["version"], 1);
  EXPECT_EQ(ask_json({"models", "alice/digits"}, "")["version"], 2);
  EXPECT_THAT(complaint({"infer", "digits:1", "--version", "2", kThree}, alice_),
              HasSubstr("name two versions"));
  EXPECT_THAT(complaint({"models", "digits:1", "--delete"}, alice_),
              HasSubstr("is one version, and what is asked for is of all: expected 'digits'"));
  EXPECT_THAT(complaint({"infer", "alice/digits:9", kThree}, alice_),
              AllOf(HasSubstr("unknown model"), HasSubstr("version 9"), Not(HasSubstr("mean"))));
  EXPECT_THAT(complaint({"infer", "alice/digist", kThree}, alice_),
              HasSubstr("did you mean alice/digits?"));
}

// It is wider than the model's: the card says what becomes of it, and that grey is made of colour.
TEST_F(Hub, ACardsRulesAreThosePicturesAreReadBy) {
  ask({"push", kModel, "--card", kCard}, alice_);
  const std::string wide = file(
      "wide.ppm", "P3 4 2 16 " + [] {
        std::string pixels;
        for (int i = 0; i < 24; ++i) pixels += std::to_string(i % 16) + " ";
        return pixels;
      }());
  const Json by_card = ask_json({"infer", "alice/digits", wide}, alice_);
  const Json by_flags = ask_json({"infer", "alice/digits", "--no-card", "--input", wide,
                                  "--image-convert", "--image-resize", "pad"},
                                 alice_);
  EXPECT_EQ(by_card["outputs"]["logits"]["sha256"], by_flags["outputs"]["logits"]["sha256"]);
  EXPECT_THAT(complaint({"infer", "alice/digits", "--no-card", wide}, alice_),
              HasSubstr("--image-"));
}

TEST_F(Hub, WhatIsNoneIsAnsweredInOneLine) {
  const std::string lie =
      file("lie.md", "---\ncommensal:\n  picture: {input: photo}\n---\nA model of photographs.\n");
  EXPECT_THAT(complaint({"push", kModel, "--card", lie}, alice_),
              HasSubstr("no input 'photo', but 'image'"));
  // The fault: the version whose card was refused was there, and served.
  EXPECT_THAT(complaint({"models", "alice/digits", "--card"}, alice_), HasSubstr("unknown model"));
  ask({"push", kModel}, alice_);
  const std::string broken = file("broken.md", "---\ntags: [a\n---\n");
  EXPECT_THAT(complaint({"push", kModel, "--card", broken}, alice_), HasSubstr("no YAML"));
  EXPECT_THAT(complaint({"models", "alice/digits", "--card"}, alice_), HasSubstr("has no card"));
  EXPECT_THAT(ask({"push", kModel, "--card", kCard}, alice_), HasSubstr("card    new\n"));
  EXPECT_THAT(ask({"push", kModel, "--card", kCard}, alice_), HasSubstr("card    unchanged\n"));
  const std::string other = file("other.md", "---\nlicense: mit\n---\nAnother text.\n");
  EXPECT_THAT(ask({"push", kModel, "--card", other}, alice_), HasSubstr("card    replaced\n"));
  EXPECT_EQ(ask_json({"push", kModel, "--card", kCard}, alice_)["card"], "replaced");
  for (const char* name : {"my digits", "digits:2", "config"}) {
    for (const std::string& given : {std::string(name), fmt::format("alice/{}", name)})
      EXPECT_THAT(complaint({"push", kModel, given}, alice_),
                  AllOf(HasSubstr(fmt::format("'alice/{}': expected a name OWNER/MODEL", name)),
                        HasSubstr("and none of config, infer"), Not(HasSubstr(kModel))));
  }
  EXPECT_THAT(complaint({"push", kModel, "bob/digits"}, alice_),
              AllOf(HasSubstr("'alice' pushes to 'alice/...' only"), Not(HasSubstr(kModel))));
  const std::string text = file("cat.jpg", "this is no picture");
  EXPECT_THAT(complaint({"infer", "alice/digits", text}, alice_),
              HasSubstr("neither JPEG nor PNG nor PGM nor PPM"));
}

TEST_F(Hub, ACardThatSaysNothingIsTakenWithANoteButNotInPlaceOfOneThatSaysSomething) {
  const auto noted = [&](const Words& words) {
    const std::string log = folder_.at("noted");
    std::filesystem::remove(log);
    Words all = {"push", kModel, "--card"};
    all.insert(all.end(), words.begin(), words.end());
    Process process(at_gateway(all, alice_), log);
    int status = 0;
    process.read_all(status);
    EXPECT_EQ(status, 0);
    return std::string(core::as_text(*core::read_file(log)));
  };
  EXPECT_THAT(noted({kThree}), HasSubstr("three.pgm': the card says nothing of the model"));
  EXPECT_THAT(noted({file("title.md", "---\ntitle: x\n---\n")}), HasSubstr("says nothing"));
  EXPECT_THAT(noted({kCard}), Not(HasSubstr("says nothing")));
  const Json before = ask_json({"models", "alice/digits"}, alice_);
  for (const char* wrong : {"/models/digits/tune.yaml", "/README.md"}) {
    EXPECT_THAT(complaint({"push", kModel, "--card", kSource + wrong}, alice_),
                AllOf(HasSubstr(fmt::format("{}' says nothing of the model", wrong)),
                      HasSubstr("the card of alice/digits does: expected YAML between"),
                      HasSubstr("--yes")));
  }
  // Nor is there a version of it.
  EXPECT_EQ(ask_json({"models", "alice/digits"}, alice_)["version"], before["version"]);
  EXPECT_THAT(ask({"models", "alice/digits", "--card"}, alice_), HasSubstr("pipeline_tag"));
  EXPECT_THAT(noted({kSource + "/README.md", "--yes"}), HasSubstr("says nothing"));
  EXPECT_THAT(ask({"models", "alice/digits", "--card"}, alice_), HasSubstr("# Commensal"));
}

// Control characters are refused in front matter; elsewhere no terminal gets them.
TEST_F(Hub, ACardMovesNoCursor) {
  const std::string sly = file("sly.md",
                               "---\nlicense: \"\\u202Exyz\"\n---\nIt \xc2\x9b"
                               "2J clears. Screens.\n");
  ask({"push", kModel, "--card", sly}, alice_);
  for (const Words& words : {Words{"explore"}, Words{"models", "alice/digits", "--card"}}) {
    const std::string said = ask(words, alice_);
    EXPECT_THAT(said, Not(HasSubstr("\xc2\x9b")));
    EXPECT_THAT(said, HasSubstr("\\xc2\\x9b"));
    EXPECT_THAT(said, Not(HasSubstr("\xe2\x80\xae")));
  }
}

// Looked for in the folder of the provider's process; nothing can be disputed without money.
TEST_F(Hub, PrivateWeightsLeaveAProviderThatMayNotHaveThemAndADeletedModelAll) {
  const std::string first = address_;
  const auto other = start_provider("q");
  const auto weights = [&](const std::string& provider) {
    std::size_t count = 0;
    for (const auto& item :
         std::filesystem::directory_iterator(folder_.at(provider) + std::string("/models")))
      count += item.path().extension() == ".onnx" ? 1 : 0;
    return count;
  };
  const auto wait_for = [&](const std::string& provider, std::size_t count) {
    for (int waited = 0; weights(provider) != count && waited < 400; ++waited) pause_ms(50);
    return weights(provider) == count;
  };
  const auto holders = [&] { return ask_json({"models", "--holders"}, alice_)["holders"]; };
  ask({"push", kModel, "--private", "--allow", first, "--allow", address_}, alice_);
  for (int i = 0; i < 60 && (weights("p") == 0 || weights("q") == 0); ++i)
    ask({"infer", "alice/digits", "--input", kThree, "--image-convert", "--image-resize", "pad"},
        alice_);
  ASSERT_EQ(weights("p"), 1u);
  ASSERT_EQ(weights("q"), 1u);
  ASSERT_EQ(holders().size(), 2u);
  EXPECT_EQ(ask_json({"models", "--holders"}, token_file_)["holders"].size(), 2u);
  ask({"models", "alice/digits", "--allow", address_}, alice_);
  EXPECT_TRUE(wait_for("p", 0));
  EXPECT_EQ(weights("q"), 1u);
  ASSERT_EQ(holders().size(), 1u);
  EXPECT_EQ(holders()[0]["provider"], address_);
  EXPECT_EQ(holders()[0]["connected"], true);
  EXPECT_EQ(holders()[0]["asked_ms"], 0);
  provider_->kill();
  ask({"models", "alice/digits", "--delete"}, alice_);
  EXPECT_TRUE(wait_for("q", 0));
  for (int waited = 0; !holders().empty() && waited < 100; ++waited) pause_ms(50);
  EXPECT_TRUE(holders().empty());
}

}  // namespace
}  // namespace commensal::e2e
