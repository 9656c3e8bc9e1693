// SPDX-License-Identifier: Apache-2.0
// Models in pieces, as a client of tus 1.0 sends them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <tests/http/raw_client.hpp>
#include <tests/http/wide.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::string base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string made;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) made += kDigits[(bits >> (count - 6)) & 63];
  }
  if (count > 0) made += kDigits[(bits << (6 - count)) & 63];
  while (made.size() % 4 != 0) made += '=';
  return made;
}

std::string metadata(const std::string& model, core::ByteView file, const std::string& more = "") {
  return "Upload-Metadata: model " + base64(model) + ",sha256 " +
         base64(core::to_hex(crypto::sha256(file))) + more + "\r\n";
}

/// As a field of protobuf.
void append_field(core::Bytes& bytes, std::uint64_t number, const core::Bytes& value) {
  const auto varint = [&](std::uint64_t one) {
    for (; one >= 128; one >>= 7) bytes.push_back(static_cast<std::uint8_t>(one | 128));
    bytes.push_back(static_cast<std::uint8_t>(one));
  };
  varint(number << 3 | 2);
  varint(value.size());
  bytes.insert(bytes.end(), value.begin(), value.end());
}

/// digits_model(), and so much behind it that no reader looks at.
core::Bytes large_model(std::size_t more) {
  core::Bytes bytes = digits_model(), rest(more);
  core::CounterRng(1).fill(rest);
  append_field(bytes, 1000, rest);  // that nobody knows
  return bytes;
}

/// One whose graph has another node, of more inputs than are accepted.
core::Bytes model_out_of_bounds() {
  const core::Bytes digits = digits_model();
  core::Bytes node, made;
  for (int i = 0; i <= limits::kNodeInputsMax; ++i) append_field(node, 1, {'x'});
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      value |= std::uint64_t{digits.at(at)} % 128 << shift;
      if (digits[at++] < 128) break;
    }
    return value;
  };
  while (at < digits.size()) {
    const std::size_t begin = at;
    const std::uint64_t tag = varint(), number = varint();  // all fields have one
    if (tag % 8 == 2) at += number;
    if (tag != (7 << 3 | 2)) {
      made.insert(made.end(), digits.data() + begin, digits.data() + at);
      continue;
    }
    core::Bytes graph(digits.data() + at - number, digits.data() + at);
    append_field(graph, 1, node);
    append_field(made, 7, graph);
  }
  return made;
}

class HttpUpload : public ::testing::Test {
 protected:
  RawResponse ask(const std::string& line, const std::string& headers, const std::string& token,
                  core::ByteView body = {}) {
    RawClient raw(world_.port());
    raw.send(line + " HTTP/1.1\r\n" + header(token) + headers +
             fmt::format("Content-Length: {}\r\n\r\n", body.size()) +
             std::string(core::as_text(body)));
    return raw.receive(line.starts_with("HEAD"));
  }
  RawResponse begin(const core::Bytes& file, const std::string& model = "alice/up",
                    const std::string& more = "") {
    return ask(
        "POST /v1/uploads",
        kTus + metadata(model, file, more) + fmt::format("Upload-Length: {}\r\n", file.size()),
        world_.alice);
  }
  RawResponse patch(const std::string& at, std::size_t offset, core::ByteView piece,
                    const std::string& token) {
    return ask("PATCH " + at, kTus + kPiece + fmt::format("Upload-Offset: {}\r\n", offset), token,
               piece);
  }
  std::size_t offset(const std::string& at) {
    const RawResponse head = ask("HEAD " + at, kTus, world_.alice);
    EXPECT_EQ(head.status, 200);
    return std::stoul(head.headers.at("upload-offset"));
  }

  const std::string kTus = "Tus-Resumable: 1.0.0\r\n";
  const std::string kPiece = "Content-Type: application/offset+octet-stream\r\n";
  World world_{"upload"};
};

TEST_F(HttpUpload, SaysWhatItUnderstands) {
  RawClient raw(world_.port());
  raw.send("OPTIONS /v1/uploads HTTP/1.1\r\nHost: x\r\n\r\n");
  const RawResponse options = raw.receive(true);
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.at("tus-version"), "1.0.0");
  EXPECT_EQ(options.headers.at("tus-extension"), "creation,expiration,termination");
  EXPECT_EQ(options.headers.at("tus-max-size"), std::to_string(limits::kHttpBodyBytesMax));
  EXPECT_FALSE(options.headers.contains("content-length"));
  raw.send("OPTIONS /v1/uploads/x HTTP/1.1\r\nHost: x\r\n\r\n");  // the connection is kept
  EXPECT_EQ(raw.receive(true).status, 204);
}

TEST_F(HttpUpload, ComesInPiecesAndBecomesAVersion) {
  const core::Bytes file = large_model(20'000);
  const RawResponse made = begin(file, "alice/up", ",private " + base64("1"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.headers.at("tus-resumable"), "1.0.0");
  EXPECT_EQ(made.headers.at("upload-offset"), "0");
  EXPECT_THAT(made.headers.at("upload-expires"), HasSubstr("GMT"));
  const std::string at = made.headers.at("location");
  EXPECT_EQ(Json::parse(made.body)["model"], "alice/up");
  const core::ByteView all = file;
  EXPECT_EQ(patch(at, 0, all.first(5'000), world_.alice).headers.at("upload-offset"), "5000");
  EXPECT_EQ(offset(at), 5'000u);
  // The end of a piece that never comes is lost with it, and nothing else is.
  {
    RawClient cut(world_.port());
    cut.send("PATCH " + at + " HTTP/1.1\r\n" + header(world_.alice) + kTus + kPiece +
             "Upload-Offset: 5000\r\nContent-Length: 9000\r\n\r\n" + std::string(4'000, 'x'));
  }
  EXPECT_EQ(offset(at), 5'000u);
  const RawResponse early = ask("POST " + at + "/push", kTus, world_.alice);
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.body, HasSubstr("5000 of"));
  const RawResponse last = patch(at, 5'000, all.subspan(5'000), world_.alice);
  EXPECT_EQ(last.status, 204);
  EXPECT_EQ(last.headers.at("upload-offset"), std::to_string(file.size()));
  const Json listed = Json::parse(ask("GET /v1/uploads", "", world_.alice).body)["uploads"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["received"], file.size());
  EXPECT_EQ(listed[0]["private"], true);
  const RawResponse pushed = ask("POST " + at + "/push", kTus, world_.alice);
  ASSERT_EQ(pushed.status, 201) << pushed.body;
  EXPECT_EQ(Json::parse(pushed.body)["version"], 1);
  EXPECT_EQ(Json::parse(pushed.body)["private"], true);
  EXPECT_EQ(*world_.client(world_.alice).model_content("alice/up"), file);
  EXPECT_EQ(ask("GET " + at, kTus, world_.alice).status, 404);
}

TEST_F(HttpUpload, RefusesWhatDoesNotFit) {
  const core::Bytes file = large_model(1'000);
  const core::ByteView all = file;
  const std::string at = begin(file).headers.at("location");
  const RawResponse wrong = patch(at, 1, all.first(1), world_.alice);
  EXPECT_EQ(wrong.status, 409);
  EXPECT_THAT(wrong.body, HasSubstr("Upload-Offset: 1, expected 0"));
  core::Bytes longer = file;
  longer.push_back(0);
  EXPECT_EQ(patch(at, 0, longer, world_.alice).status, 400);
  for (const char* word : {"", "-1", "x", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(
        ask("PATCH " + at, kTus + kPiece + "Upload-Offset: " + word + "\r\n", world_.alice).status,
        400)
        << word;
  }
  EXPECT_EQ(ask("PATCH " + at, kTus + "Upload-Offset: 0\r\n", world_.alice).status, 415);
  const RawResponse other = ask("PATCH " + at, kPiece + "Tus-Resumable: 0.2.2\r\n", world_.alice);
  EXPECT_EQ(other.status, 412);
  EXPECT_EQ(other.headers.at("tus-version"), "1.0.0");
  EXPECT_EQ(ask("HEAD " + at, "Tus-Resumable: 2.0.0\r\n", world_.alice).status, 412);
  // Somebody else's is unknown, whatever is asked.
  for (const char* method : {"GET ", "PATCH ", "DELETE "}) {
    EXPECT_EQ(ask(method + at, kTus + kPiece + "Upload-Offset: 0\r\n", world_.bob).status, 404)
        << method;
  }
  EXPECT_EQ(ask("POST " + at + "/push", kTus, world_.bob).status, 404);
  EXPECT_EQ(ask("GET " + at, kTus, world_.root).status, 404);
  RawClient nobody(world_.port());
  nobody.send("GET /v1/uploads HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(nobody.receive().status, 401);
  EXPECT_EQ(ask("PUT " + at, kTus, world_.alice).status, 405);
  RawClient large(world_.port());
  large.send("PATCH " + at + " HTTP/1.1\r\n" + header(world_.alice) + kTus + kPiece +
             fmt::format("Upload-Offset: 0\r\nContent-Length: {}\r\n\r\n",
                         limits::kUploadPieceBytesMax + 1));
  EXPECT_EQ(large.receive().status, 413);
  const RawResponse dropped = ask("DELETE " + at, kTus, world_.alice);
  EXPECT_EQ(dropped.status, 204);
  EXPECT_EQ(ask("DELETE " + at, kTus, world_.alice).status, 404);
}

TEST_F(HttpUpload, AnnouncesWhatThereIsToComeOrIsRefused) {
  const core::Bytes file = large_model(10);
  const auto announce = [&](const std::string& headers) {
    return ask("POST /v1/uploads", kTus + headers, world_.alice);
  };
  const std::string length = "Upload-Length: 10\r\n";
  EXPECT_EQ(announce(length).status, 400);
  EXPECT_EQ(announce(metadata("alice/up", file)).status, 400);
  EXPECT_EQ(announce(metadata("alice/up", file) + "Upload-Length: 0\r\n").status, 400);
  EXPECT_EQ(announce(metadata("alice/up", file) + "Upload-Length: 99999999999\r\n").status, 413);
  EXPECT_EQ(announce(metadata("bob/up", file) + length).status, 403);
  EXPECT_EQ(announce(metadata("up", file) + length).status, 400);
  EXPECT_EQ(announce(metadata("alice/up", file, ",private " + base64("yes")) + length).status, 400);
  // A slip of the pen publishes nothing.
  const RawResponse slip = announce(metadata("alice/up", file, ",prvate " + base64("1")) + length);
  EXPECT_EQ(slip.status, 400);
  EXPECT_THAT(slip.body, HasSubstr("unknown parameter 'prvate'"));
  for (const char* bad :
       {"Upload-Metadata: model\r\n", "Upload-Metadata: ,\r\n", "Upload-Metadata: model !!!!\r\n",
        "Upload-Metadata: model QQ==,model QQ==\r\n"}) {
    EXPECT_EQ(announce(bad + length).status, 400) << bad;
  }
  const std::string habits = ",filename " + base64("m.onnx") + ", filetype";
  EXPECT_EQ(announce(metadata("alice/up", file, habits) + length).status, 201);
  for (std::size_t i = 1; i < limits::kUploadsMax; ++i) EXPECT_EQ(begin(file).status, 201);
  const RawResponse many = begin(file);
  EXPECT_EQ(many.status, 429);
  EXPECT_FALSE(many.headers.contains("retry-after")) << "one of them has to end first";
  EXPECT_THAT(many.body, HasSubstr("8 unfinished uploads"));
  world_.clock().leap_ms(limits::kUploadMsMax);
  EXPECT_EQ(begin(file).status, 201);
}

TEST_F(HttpUpload, WhatIsNotWhatWasAnnouncedOrNoModelIsNoVersion) {
  const core::Bytes file = large_model(10);
  core::Bytes other = file;
  other.back() ^= 1;
  std::string at = begin(file).headers.at("location");
  ASSERT_EQ(patch(at, 0, other, world_.alice).status, 204);
  const RawResponse wrong = ask("POST " + at + "/push", kTus, world_.alice);
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.body, HasSubstr("another SHA-256"));
  EXPECT_EQ(ask("GET " + at, kTus, world_.alice).status, 404);  // it can only be sent anew
  const core::Bytes none(100, 7);
  at = begin(none).headers.at("location");
  ASSERT_EQ(patch(at, 0, none, world_.alice).status, 204);
  EXPECT_EQ(ask("POST " + at + "/push", kTus, world_.alice).status, 400);
  EXPECT_FALSE(world_.client(world_.alice).model("alice/up"));
  EXPECT_EQ(Json::parse(ask("GET /v1/uploads", "", world_.alice).body)["uploads"].size(), 0u);
}

// The fault: a file that never fits could be staged again and again, which takes seconds each time.
TEST_F(HttpUpload, WhatHasMoreThanAModelMayHaveIsGivenUp) {
  const core::Bytes file = model_out_of_bounds();
  const std::string at = begin(file).headers.at("location");
  ASSERT_EQ(patch(at, 0, file, world_.alice).status, 204);
  const RawResponse refused = ask("POST " + at + "/push", kTus, world_.alice);
  EXPECT_EQ(refused.status, 429);
  EXPECT_FALSE(refused.headers.contains("retry-after")) << "no time helps";
  EXPECT_THAT(refused.body, HasSubstr("inputs or outputs"));
  EXPECT_EQ(ask("POST " + at + "/push", kTus, world_.alice).status, 404);
  EXPECT_EQ(Json::parse(ask("GET /v1/uploads", "", world_.alice).body)["uploads"].size(), 0u);
}

// What a disk refuses may have room later, but is not staged at once again.
TEST_F(HttpUpload, WhatFailsForAPassingReasonIsPushedLater) {
  const core::Bytes file = large_model(10);
  const std::string at = begin(file).headers.at("location");
  ASSERT_EQ(patch(at, 0, file, world_.alice).status, 204);
  const core::Path models = world_.folder() / "gateway/models";
  std::filesystem::remove_all(models);
  { std::ofstream(models) << "no folder can be there"; }
  // Whose folders these are is nobody's affair.
  const std::string here = world_.folder().string();
  for (const RawResponse& failed : {ask("POST " + at + "/push", kTus, world_.alice),
                                    ask("PUT /v1/models/alice/put", "", world_.alice, file)}) {
    EXPECT_EQ(failed.status, 500);
    EXPECT_THAT(failed.body, HasSubstr("cannot keep the model's file: its log says why"));
    EXPECT_THAT(failed.body, ::testing::Not(HasSubstr(here)));
  }
  std::filesystem::remove(models);
  const RawResponse soon = ask("POST " + at + "/push", kTus, world_.alice);
  EXPECT_EQ(soon.status, 429);
  EXPECT_EQ(soon.headers.at("retry-after"), std::to_string(limits::kUploadRetryMs / 1000));
  EXPECT_THAT(soon.body, HasSubstr("failed a moment ago"));
  EXPECT_EQ(offset(at), file.size());
  world_.clock().leap_ms(limits::kUploadRetryMs - 4'500);
  const RawResponse later = ask("POST " + at + "/push", kTus, world_.alice);
  EXPECT_EQ(later.headers.at("retry-after"), "5") << "what its error says: " << later.body;
  EXPECT_THAT(later.body, HasSubstr("again in 5 s"));
  world_.clock().leap_ms(4'500);
  EXPECT_EQ(ask("POST " + at + "/push", kTus, world_.alice).status, 201);
}

// A client that was cut off goes on from there; the gateway's bytes are not sent again.
TEST_F(HttpUpload, TheClientGoesOnWhereItWas) {
  const core::Bytes file = large_model(20 << 20);
  client::Client alice = world_.client(world_.alice);
  const std::string at = begin(file).headers.at("location");
  constexpr std::size_t kPieceBytes = limits::kUploadPieceBytesMax;
  ASSERT_EQ(patch(at, 0, core::ByteView(file).first(kPieceBytes), world_.alice).status, 204);
  std::vector<std::size_t> shown;
  const auto pushed = alice.push(
      {.model = "alice/up", .bytes = file, .progress = [&](std::size_t done, std::size_t total) {
         EXPECT_EQ(total, file.size());
         shown.push_back(done);
       }});
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(pushed->content, crypto::sha256(file));
  EXPECT_GT(shown.front(), kPieceBytes);
  EXPECT_EQ(shown.back(), file.size());
  EXPECT_TRUE(std::ranges::is_sorted(shown));
  // What differs is another upload.
  ASSERT_EQ(begin(file).status, 201);
  shown.clear();
  ASSERT_TRUE(
      alice.push({.model = "alice/up",
                  .bytes = file,
                  .is_private = true,
                  .allowed_providers = {world_.provider_address()},
                  .progress = [&](std::size_t done, std::size_t) { shown.push_back(done); }}));
  EXPECT_LT(shown.front(), kPieceBytes);
  EXPECT_EQ(Json::parse(ask("GET /v1/uploads", "", world_.alice).body)["uploads"].size(), 1u);
}

TEST_F(HttpUpload, AnAccountsBoundsCountWhatIsAnnounced) {
  World world("upload_bounds", nullptr, {.models = {.models_max = 4, .bytes_max = 1 << 20}});
  const auto announce = [&](std::size_t bytes) {
    RawClient raw(world.port());
    raw.send("POST /v1/uploads HTTP/1.1\r\n" + header(world.alice) + kTus +
             metadata("alice/up", digits_model()) +
             fmt::format("Upload-Length: {}\r\nContent-Length: 0\r\n\r\n", bytes));
    return raw.receive();
  };
  const RawResponse made = announce(900'000);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(announce(900'000).status, 429);
  client::Client alice = world.client(world.alice);
  const core::Bytes bytes = large_model(100'000);
  const auto refused = alice.push({.model = "alice/x", .bytes = bytes, .progress = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_FALSE(alice.remove(made.headers.at("location")));  // no version of tus is named
  RawClient raw(world.port());
  raw.send("DELETE " + made.headers.at("location") + " HTTP/1.1\r\n" + header(world.alice) + kTus +
           "\r\n");
  EXPECT_EQ(raw.receive(true).status, 204);
  EXPECT_TRUE(alice.push({.model = "alice/x", .bytes = bytes, .progress = {}}));
}

}  // namespace
}  // namespace commensal::tests
