// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/markdown_summary.hpp>
#include <commensal/serve/gateway/model_card.hpp>

namespace commensal::gateway {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<std::int64_t>;

ModelPort port(const std::string& name, const Dims& dims,
               tensor::DType dtype = tensor::DType::kFloat32) {
  return {name,
          {.dtype = dtype,
           .ranked = true,
           .dims = dims,
           .symbols = std::vector<std::string>(dims.size())}};
}

ModelVersion model_of(std::vector<ModelPort> inputs, std::vector<ModelPort> outputs) {
  ModelVersion model;
  model.name = "alice/birds";
  model.inputs = std::move(inputs);
  model.outputs = std::move(outputs);
  return model;
}

const ModelVersion kBirds = model_of({port("x", {-1, 3, -1, 224})}, {port("y", {-1, 3})});

std::string with(const std::string& ours) { return "---\ncommensal:\n" + ours + "---\nA model.\n"; }

std::string why_not(const std::string& source) {
  const auto card = parse_card(source);
  EXPECT_FALSE(card) << source.substr(0, 200);
  if (card) return "";
  EXPECT_EQ(card.error().message.find('\n'), std::string::npos) << card.error().message;
  EXPECT_LT(card.error().message.size(), 700u);
  return card.error().message;
}

std::string lie_of(const std::string& ours, const ModelVersion& model = kBirds) {
  auto card = parse_card(with(ours));
  EXPECT_TRUE(card) << card.error().message;
  if (!card) return "";
  const auto fits = fit_card(*card, model);
  EXPECT_FALSE(fits) << ours;
  if (fits) return "";
  EXPECT_EQ(fits.error().code, core::ErrorCode::kInvalidArgument);
  return fits.error().message;
}

TEST(ModelCards, AreReadAsHubsHaveThem) {
  const auto card = parse_card(
      "---\r\n"
      "license: apache-2.0\n"
      "base_model: bob/resnet\n"
      "pipeline_tag: image-classification\n"
      "tags:\n- birds\n- \"small: ones\"\n"
      "language: [en, de]\n"
      "model-index: [{name: x, results: [{task: {type: y}}]}]\n"
      "widget:\n"
      "commensal:\n"
      "  modality: image\n"
      "  labels: [crow, 'no', 7]\n"
      "  example: {input: x, text: crow.jpg}\n"
      "  picture:\n"
      "    input: x\n    size: [224, 224]\n    resize: crop\n    layout: NCHW\n    colour: BGR\n"
      "    scale: 255\n    mean: [0.485, 0.456, 0.406]\n    std: 0.5\n"
      "  output: {name: y, softmax: true, top_k: 2}\n"
      "---\n"
      "# Birds\n\nIt **tells** [birds](http://x) apart. It is small.\n");
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->license, "apache-2.0");
  EXPECT_EQ(card->parent, "bob/resnet");
  EXPECT_EQ(card->task, "image-classification");
  EXPECT_EQ(card->tags, (std::vector<std::string>{"birds", "small: ones"}));
  EXPECT_EQ(card->language, "en, de");
  EXPECT_EQ(card->modality, "image");
  EXPECT_EQ(card->labels, (std::vector<std::string>{"crow", "no", "7"}));
  EXPECT_EQ(card->example->text, "crow.jpg");
  ASSERT_TRUE(card->picture);
  EXPECT_EQ(card->picture->height, 224);
  EXPECT_EQ(card->picture->resize, "crop");
  EXPECT_EQ(card->picture->colour, "BGR");
  EXPECT_EQ(card->picture->scale, 255);
  EXPECT_EQ(card->picture->mean[2], 0.406);
  EXPECT_EQ(card->picture->std, (std::array<double, 3>{0.5, 0.5, 0.5}));
  ASSERT_TRUE(card->output);
  EXPECT_TRUE(card->output->softmax);
  EXPECT_EQ(card->output->top_k, 2);
  EXPECT_EQ(card->summary, "It tells birds apart.");
  EXPECT_EQ(card->text, "# Birds\n\nIt **tells** [birds](http://x) apart. It is small.\n");
}

TEST(ModelCards, NeedNoFrontMatter) {
  for (const char* source : {"", "Only text", "--\nno fence", "\xef\xbb\xbfText", "---\n---\nText",
                             "---\n# a comment\n---\n"}) {
    const auto card = parse_card(source);
    ASSERT_TRUE(card) << source << card.error().message;
    EXPECT_EQ(card->license, "");
    EXPECT_FALSE(card->picture);
  }
  EXPECT_EQ(parse_card("Only text")->text, "Only text");
}

TEST(ModelCards, AreRefusedInOneLine) {
  EXPECT_THAT(why_not("---\nlicense: x\n"), HasSubstr("no line '---' ends it"));
  EXPECT_THAT(why_not("---\nlicense: [x\n---\n"), HasSubstr("no YAML"));
  EXPECT_THAT(why_not("---\n- a\n---\n"), HasSubstr("expected 'key: value'"));
  EXPECT_THAT(why_not("---\nlicense: a\nlicense: b\n---\n"), HasSubstr("it is there twice"));
  EXPECT_THAT(why_not("---\nlicense: {a: b}\n---\n"), HasSubstr("the card's 'license'"));
  EXPECT_THAT(why_not("---\nlicense: \"a\\eb\"\n---\n"), HasSubstr("a line of text"));
  EXPECT_THAT(why_not("---\nlicense: \"a\\nb\"\n---\n"), HasSubstr("a line of text"));
  EXPECT_THAT(why_not("---\nlicense: " + std::string(300, 'x') + "\n---\n"), HasSubstr("256"));
  EXPECT_THAT(why_not("---\n[a]: b\n---\n"), HasSubstr("front matter"));
  EXPECT_THAT(why_not("\xff\xfe"), HasSubstr("UTF-8"));
  EXPECT_THAT(why_not(std::string("a\0b", 3)), HasSubstr("control characters"));
  EXPECT_THAT(why_not("a\x1b[2J"), HasSubstr("control characters"));
  EXPECT_THAT(why_not(std::string(65537, 'x')), HasSubstr("at most 65536"));
  EXPECT_THAT(why_not(with("  modality: smell\n")), HasSubstr("image, text, audio"));
  EXPECT_THAT(why_not(with("  picture: {sclae: 1}\n")), HasSubstr("unknown: expected input"));
  EXPECT_THAT(why_not(with("  label: [a, b]\n")),
              HasSubstr("the card's 'commensal.label': unknown: expected modality, labels"));
  EXPECT_THAT(why_not("---\ncommensal: digits\n---\n"), HasSubstr("expected 'key: value'"));
  EXPECT_THAT(why_not(with("  picture: {scale: 0}\n")), HasSubstr("divided by so little"));
  EXPECT_THAT(why_not(with("  picture: {std: [1, 1, 1e-9]}\n")), HasSubstr("so little"));
  EXPECT_THAT(why_not(with("  picture: {mean: nan}\n")), HasSubstr("expected a number"));
  EXPECT_THAT(why_not(with("  picture: {mean: [1, 2]}\n")), HasSubstr("a list of three"));
  EXPECT_THAT(why_not(with("  picture: {mean: 1e999}\n")), HasSubstr("expected a number"));
  EXPECT_THAT(why_not(with("  picture: {size: [0, 4]}\n")), HasSubstr("whole number"));
  EXPECT_THAT(why_not(with("  picture: {size: 4}\n")), HasSubstr("[height, width]"));
  EXPECT_THAT(why_not(with("  picture: {resize: cut}\n")), HasSubstr("stretch, crop, pad"));
  EXPECT_THAT(why_not(with("  picture: 5\n")), HasSubstr("expected 'key: value'"));
  EXPECT_THAT(why_not(with("  output: {softmax: yes}\n")), HasSubstr("true, false"));
  EXPECT_THAT(why_not(with("  output: {top_k: 1001}\n")), HasSubstr("1 to 1000"));
}

TEST(ModelCards, ThatAreKeptMayHaveKeysThatAreNotKnown) {
  const std::string source = with(
      "  labels: [a, b, c]\n  tones: 3\n"
      "  picture: {size: [8, 8], sclae: 1}\n  output: {softmax: true, least: 1}\n"
      "  example: {text: t, sound: s}\n");
  EXPECT_THAT(why_not(source), HasSubstr("unknown: expected"));
  const auto card = parse_card(source, CardKeys::kAny);
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->labels.size(), 3u);
  EXPECT_EQ(card->picture->height, 8);
  EXPECT_TRUE(card->output->softmax);
  EXPECT_EQ(card->example->text, "t");
  // What is known has to make sense all the same.
  EXPECT_FALSE(parse_card(with("  picture: {size: 4}\n"), CardKeys::kAny));
}

TEST(ModelCards, ThatLieAreRefused) {
  EXPECT_THAT(lie_of("  picture: {input: z}\n"), HasSubstr("no input 'z', but 'x'"));
  EXPECT_THAT(lie_of("  picture: {size: [224, 225]}\n"), HasSubstr("does not fit 'x'"));
  EXPECT_THAT(lie_of("  picture: {layout: NHWC}\n"), HasSubstr("as NHWC does not fit"));
  EXPECT_THAT(lie_of("  picture: {colour: gray}\n"), HasSubstr("in gray does not fit"));
  EXPECT_THAT(lie_of("  output: {name: z}\n"), HasSubstr("no output 'z', but 'y'"));
  EXPECT_THAT(lie_of("  example: {input: z}\n"), HasSubstr("no input 'z'"));
  EXPECT_THAT(lie_of("  labels: [a, b]\n"), HasSubstr("2 labels are not as many as 'y'"));
  const auto bytes = model_of({port("x", {1, 8, 8, 3}, tensor::DType::kUint8)}, kBirds.outputs);
  EXPECT_THAT(lie_of("  picture: {input: x}\n", bytes), HasSubstr("a picture fills float32"));
  const auto flat = model_of({port("x", {1, 64})}, kBirds.outputs);
  EXPECT_THAT(lie_of("  picture: {input: x}\n", flat), HasSubstr("a picture fills float32"));
  const auto two = model_of({port("a", {1, 3, 8, 8}), port("b", {1})},
                            {port("y", {-1, 3}), port("z", {-1, 4, 1, 1})});
  EXPECT_THAT(lie_of("  picture: {scale: 1}\n", two), HasSubstr("which of its inputs: 'a', 'b'"));
  EXPECT_THAT(lie_of("  labels: [a, b]\n", two), HasSubstr("as many as no output has"));
  auto four = parse_card(with("  labels: [a, b, c, d]\n"));
  EXPECT_TRUE(fit_card(*four, two));  // dimensions of 1 behind do not count
  const auto texts = model_of({port("a", {1})}, {port("y", {2}, tensor::DType::kString)});
  EXPECT_THAT(lie_of("  labels: [a, b]\n", texts), HasSubstr("2 labels are not as many as 'y'"));
}

TEST(ModelCards, GetFromTheModelWhatTheyLeaveOpen) {
  auto card = parse_card(with("  picture: {size: [100, 224]}\n  output: {softmax: false}\n"));
  ASSERT_TRUE(fit_card(*card, kBirds));
  EXPECT_EQ(card->picture->input, "x");
  EXPECT_EQ(card->picture->layout, "NCHW");
  EXPECT_EQ(card->picture->colour, "RGB");
  EXPECT_EQ(card->output->name, "y");
  const auto last = model_of({port("x", {1, 8, 9, 1})}, kBirds.outputs);
  card = parse_card(with("  picture: {input: x}\n"));
  ASSERT_TRUE(fit_card(*card, last));
  EXPECT_EQ(card->picture->layout, "NHWC");
  EXPECT_EQ(card->picture->colour, "gray");
  EXPECT_EQ(card->picture->height, 8);
  EXPECT_EQ(card->picture->width, 9);
}

TEST(ModelCards, TheExampleIsOne) {
  const auto bytes = core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "examples" / "digits.md");
  ASSERT_TRUE(bytes);
  auto card = parse_card(core::as_text(*bytes));
  ASSERT_TRUE(card) << card.error().message;
  const auto digits = model_of({port("image", {-1, 1, 8, 8})}, {port("logits", {-1, 10})});
  const auto fits = fit_card(*card, digits);
  EXPECT_TRUE(fits) << fits.error().message;
  EXPECT_EQ(card->labels.at(3), "three");
}

std::string repeated(const std::string& text, const std::string& before = "") {
  std::string made = "---\n" + before;
  while (made.size() + text.size() + 5 <= limits::kCardBytesMax) made += text;
  return made + "\n---\n";
}

TEST(ModelCards, BombsAreRefused) {
  EXPECT_THAT(why_not("---\na: &a [x, x]\nb: [*a, *a]\n---\n"), HasSubstr("anchors"));
  EXPECT_THAT(why_not("---\na: &a x\n---\n"), HasSubstr("anchors"));
  EXPECT_THAT(why_not("---\na: &a\n---\n"), HasSubstr("anchors"));
  EXPECT_THAT(why_not("---\nb: *a\n---\n"), HasSubstr("front matter"));
  EXPECT_THAT(why_not("---\na: " + std::string(17, '[') + std::string(17, ']') + "\n---\n"),
              HasSubstr("16 deep"));
  EXPECT_THAT(why_not(repeated("[")), HasSubstr("at most 4096"));
  EXPECT_THAT(why_not(repeated("- \n")), HasSubstr("more than 16384 values"));
}

// Of other shapes it is the bound of time that matters: each is read or refused within it.
TEST(ModelCards, NoneTakesLong) {
  for (const char* text : {"[\n",         "{\n",
                           "? \n",        "- - - -\n",
                           "a: b\n",      "\"\n",
                           "'\n",         "!\n",
                           "&a\n",        "# \n",
                           "%\n",         "|\n",
                           ">\n",         "a:\n ",
                           "{a: [\n",     "\\\n",
                           "? a\n: b\n",  "{}\n",
                           "a: 'b''c'\n", "...\n",
                           ":\n",         "a: !<x> b\n",
                           "\t\n",        "[a, b, c]\n",
                           "x\n ",        "\"x\": {y: \"\\x41\"}\n",
                           "\xc2\x85"}) {
    for (const char* before : {"", "a: [", "a: {", "a: \"", "a: |\n ", "a: x"}) {
      const std::string source = repeated(text, before);
      std::int64_t took_ns = 0;
      {
        const core::CpuMeter meter(took_ns);
        (void)parse_card(source);
      }
      EXPECT_LT(took_ns, 500'000'000) << text << before;  // 50 on a machine that is not busy
    }
  }
}

TEST(ModelCards, SummariesAreTheFirstSentence) {
  EXPECT_EQ(summary_of("# Title\n\n![a](b)\n[![x](y)](z)\n\n```\ncode. x\n```\nOne *two*\nthree. "
                       "Four.\n"),
            "One two three.");
  EXPECT_EQ(summary_of("- a list\n| a | table |\n<b>x</b>\n"), "");
  EXPECT_EQ(summary_of(""), "");
  EXPECT_EQ(summary_of("no end"), "no end");
  const std::string cut = summary_of(std::string("\xc3\xa9") + std::string(1000, 'x'));
  EXPECT_EQ(cut.size(), limits::kCardSummaryBytesMax);
  EXPECT_TRUE(cut.ends_with("..."));
  std::string wide;
  for (int i = 0; i < 500; ++i) wide += "\xe2\x82\xac";
  EXPECT_TRUE(protocol::is_line(summary_of(wide)));
}

}  // namespace
}  // namespace commensal::gateway
