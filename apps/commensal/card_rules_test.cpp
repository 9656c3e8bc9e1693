// SPDX-License-Identifier: Apache-2.0
// What a card says is what options would say, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <apps/commensal/card_rules.hpp>
#include <apps/commensal/connection.hpp>
#include <apps/commensal/picture_options.hpp>
#include <cmath>

namespace commensal::apps {
namespace {

using Card = client::Card;

/// What `infer` has of a command line, before and after the card.
struct Infer {
  CLI::App app;
  io::PictureRule rule;
  Reading reading;

  explicit Infer(std::vector<std::string> words) {
    declare_picture(app, rule);
    reading.declare(app);
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(words);
  }
};

Card imagenet() {
  Card card;
  card.picture = Card::Picture{.input = "x",
                               .height = 8,
                               .width = 6,
                               .resize = "crop",
                               .layout = "NCHW",
                               .colour = "RGB",
                               .scale = 255,
                               .mean = {0.485, 0.456, 0.406},
                               .std = {0.229, 0.224, 0.225}};
  card.output = Card::Output{.name = "y", .softmax = true, .top_k = 3};
  card.labels = {"a", "b"};
  return card;
}

io::Image noise(int width, int height, int channels) {
  io::Image image{width, height, channels, {}};
  std::uint32_t state = 7;
  for (int i = 0; i < width * height * channels; ++i) {
    state = state * 1664525 + 1013904223;
    image.pixels.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  return image;
}

core::Bytes bits(const io::Image& image, const tensor::Shape& shape, const io::PictureRule& rule) {
  const auto made = io::image_tensor(image, shape, rule);
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return {};
  const auto bytes = made->bytes();
  return {bytes.begin(), bytes.end()};
}

TEST(CardRules, GiveTheBitsOfTheEqualOptions) {
  const struct {
    Card::Picture picture;
    std::vector<std::string> words;
    tensor::Shape shape;
  } cases[] = {
      {*imagenet().picture,
       {"--image-resize", "crop", "--image-convert", "--image-mean", "123.675,116.28,103.53",
        "--image-scale", "58.395,57.12,57.375"},
       {1, 3, 8, 6}},
      {{.input = "x",
        .resize = "pad",
        .layout = "NHWC",
        .colour = "BGR",
        .scale = 1,
        .mean = {103.939, 116.779, 123.68},
        .std = {1, 1, 1}},
       {"--image-resize", "pad", "--image-convert", "--image-layout", "NHWC", "--image-colour",
        "BGR", "--image-mean", "103.939,116.779,123.68"},
       {1, 7, 9, 3}},
      {{.input = "x",
        .resize = "stretch",
        .layout = "NCHW",
        .colour = "gray",
        .scale = 127.5,
        .mean = {1, 1, 1},
        .std = {1, 1, 1}},
       {"--image-resize", "stretch", "--image-convert", "--image-mean", "127.5", "--image-scale",
        "127.5"},
       {1, 1, 5, 11}},
  };
  for (const auto& one : cases) {
    const Infer said(one.words);
    const auto rule = rule_of(one.picture);
    ASSERT_TRUE(rule) << rule.error().message;
    for (const int channels : {1, 3}) {
      const io::Image image = noise(13, 10, channels);
      EXPECT_EQ(bits(image, one.shape, *rule), bits(image, one.shape, said.rule));
    }
  }
}

// [1,H,W,C] and blue, green, red are the same numbers in other places.
TEST(CardRules, LayoutAndColourMoveNumbersOnly) {
  const io::Image image = noise(4, 3, 3);
  io::PictureRule rule{.resize = io::Resize::kStretch, .mean = {1, 2, 3}, .scale = {4, 5, 6}};
  const auto first = io::image_tensor(image, {1, 3, 5, 7}, rule);
  rule.channels_last = true;
  const auto last = io::image_tensor(image, {1, 5, 7, 3}, rule);
  io::PictureRule turned{
      .resize = io::Resize::kStretch, .mean = {3, 2, 1}, .scale = {6, 5, 4}, .bgr = true};
  const auto bgr = io::image_tensor(image, {1, 3, 5, 7}, turned);
  ASSERT_TRUE(first && last && bgr);
  for (std::size_t i = 0; i < 35; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(first->data<float>()[c * 35 + i], last->data<float>()[i * 3 + c]);
      EXPECT_EQ(first->data<float>()[c * 35 + i], bgr->data<float>()[(2 - c) * 35 + i]);
    }
  }
  EXPECT_FALSE(io::image_tensor(image, {1, 3, 5, 7}, rule));
}

TEST(CardRules, OptionsOverrideThem) {
  Infer plain({});
  ASSERT_TRUE(apply_card(plain.app, imagenet(), plain.rule, plain.reading));
  EXPECT_EQ(plain.rule.resize, io::Resize::kCrop);
  EXPECT_TRUE(plain.rule.convert);
  EXPECT_EQ(plain.reading.of("y").top, 3u);
  EXPECT_TRUE(plain.reading.of("y").softmax);
  EXPECT_EQ(plain.reading.of("y").labels.size(), 2u);
  Infer said({"--image-resize", "pad", "--image-mean", "7", "--top", "1"});
  ASSERT_TRUE(apply_card(said.app, imagenet(), said.rule, said.reading));
  EXPECT_EQ(said.rule.resize, io::Resize::kPad);
  EXPECT_EQ(said.rule.mean[2], 7);
  EXPECT_EQ(said.rule.scale[0], static_cast<float>(0.229 * 255));
  EXPECT_EQ(said.reading.of("y").top, 1u);
}

// The fault: what a card says of one output was done with every output.
TEST(CardRules, OfAnOutputAreOfNoOther) {
  Infer plain({});
  ASSERT_TRUE(apply_card(plain.app, imagenet(), plain.rule, plain.reading));
  EXPECT_EQ(plain.reading.of("z").top, 5u);
  EXPECT_FALSE(plain.reading.of("z").softmax);
  EXPECT_TRUE(plain.reading.of("z").labels.empty());
  Infer said({"--softmax", "--top", "2"});  // which are of all
  ASSERT_TRUE(apply_card(said.app, imagenet(), said.rule, said.reading));
  EXPECT_EQ(said.reading.of("z").top, 2u);
  EXPECT_TRUE(said.reading.of("z").softmax);
  Card any = imagenet();
  any.output->name = "";
  Infer unnamed({});
  ASSERT_TRUE(apply_card(unnamed.app, any, unnamed.rule, unnamed.reading));
  EXPECT_TRUE(unnamed.reading.of("z").softmax);
}

TEST(CardRules, OfAGatewayThatSendsNonsenseAreRefused) {
  for (const double bad : {0.0, 1e-320, std::nan(""), HUGE_VAL}) {
    Card::Picture picture = *imagenet().picture;
    picture.scale = bad;
    EXPECT_FALSE(rule_of(picture)) << bad;
  }
  Card::Picture picture = *imagenet().picture;
  picture.resize = "\x1b[2J";
  ASSERT_FALSE(rule_of(picture));
}

TEST(CardRules, FixWhatTheModelLeavesOpen) {
  client::ModelInfo model;
  model.inputs = {{"x", tensor::DType::kFloat32, {-1, -1, -1, 6}},
                  {"b", tensor::DType::kFloat32, {1}}};
  graph::Graph graph = ports_graph(model);
  fix_size(*imagenet().picture, graph);
  EXPECT_EQ(graph.values[0].declared.dims, (std::vector<std::int64_t>{-1, 3, 8, 6}));
  EXPECT_EQ(named_input(*imagenet().picture, graph, "cat.jpg"), "x=cat.jpg");
  EXPECT_EQ(named_input(*imagenet().picture, graph, "b=b.npy"), "b=b.npy");
  EXPECT_EQ(named_input(*imagenet().picture, graph, "all.npz"), "all.npz");
}

}  // namespace
}  // namespace commensal::apps
