// SPDX-License-Identifier: Apache-2.0
// Tensors of strings in bodies, and bodies that are one tensor.
#include <gtest/gtest.h>

#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/http/oip.hpp>

namespace commensal::http {
namespace {

using tensor::Tensor;

std::string with_strings(std::string_view members) {
  return fmt::format(R"({{"inputs":[{{"name":"x","datatype":"BYTES",{}}}]}})", members);
}

TEST(OipRequest, ReadsStringsAsJsonOrBinary) {
  const std::vector<std::string> expected = {std::string("a\0b", 3), "\xc3\xa9\"", ""};
  const auto texts_of = [](const core::Result<InferBody>& body) {
    const auto texts = body->inputs.at(0).value.strings();
    return std::vector<std::string>(texts.begin(), texts.end());
  };
  const auto json =
      read_infer_body(core::as_bytes(with_strings(R"("shape":[1,3],)"
                                                  R"("data":[["a\u0000b","\u00e9\"",""]])")),
                      {});
  ASSERT_TRUE(json.has_value()) << json.error().message;
  EXPECT_EQ(texts_of(json), expected);
  const std::string head = with_strings(R"("shape":[3],)"
                                        R"("parameters":{"binary_data_size":18})");
  const std::string raw("\x03\0\0\0a\0b\x03\0\0\0\xc3\xa9\"\0\0\0\0", 18);
  const auto binary = read_infer_body(core::as_bytes(head + raw), std::to_string(head.size()));
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_EQ(texts_of(binary), expected);
}

TEST(OipRequest, MayBeItsOnlyInput) {
  const auto body = read_infer_body(core::as_bytes("{}"), "0");
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(core::as_text(*body->raw), "{}");
  EXPECT_TRUE(body->binary_outputs);
}

TEST(OipAnswer, HasStringsAsJsonOrBinary) {
  const InferAnswer answer{
      .model = "m",
      .version = 1,
      .id = "",
      .receipt = "",
      .provider = "",
      .outputs = {{"y", Tensor::of_strings({2}, {std::string("a\0", 2), "\""})}}};
  InferBody request;
  for (const bool is_binary : {false, true}) {
    request.binary_outputs = is_binary;
    const auto most = answer_bytes_max(answer, request);
    const auto made = write_infer_answer(answer, request, *most);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_LE(std::ssize(made->text), most->sum());
    EXPECT_NE(
        made->text.find(is_binary ? R"("binary_data_size":11)" : R"("data":["a\u0000","\""])"),
        std::string::npos)
        << made->text;
    EXPECT_EQ(made->text.ends_with(std::string("\x02\0\0\0a\0\x01\0\0\0\"", 11)), is_binary);
  }
}

// JSON has no other texts: that is said, not mended.
TEST(OipAnswer, RefusesStringsThatJsonCannotHold) {
  const InferAnswer answer{.model = "m",
                           .version = 1,
                           .id = "",
                           .receipt = "",
                           .provider = "",
                           .outputs = {{"y", Tensor::of_strings({1}, {"\xff"})}}};
  InferBody request;
  const auto made = write_infer_answer(answer, request, *answer_bytes_max(answer, request));
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("output 'y': a string is not UTF-8"), std::string::npos);
  request.binary_outputs = true;
  EXPECT_TRUE(write_infer_answer(answer, request, *answer_bytes_max(answer, request)).has_value());
}

}  // namespace
}  // namespace commensal::http
