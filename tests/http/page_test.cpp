// SPDX-License-Identifier: Apache-2.0
// The page's files over a socket, and folders that are none.
#include <gtest/gtest.h>

#include <commensal/base/core/growing_bytes.hpp>
#include <commensal/base/core/limits_page.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/serve/http/compression.hpp>
#include <commensal/serve/http/page.hpp>
#include <fstream>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

/// A folder of a page: index.html, app.js (long), and one within it that nobody may have.
class PageFolder {
 public:
  PageFolder() {
    put("index.html", "<!doctype html><title>t</title>");
    put("app.js", script());
    std::filesystem::create_directory(path() / "inside");
    put("inside/secret.txt", "secret");
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name) << text;
  }
  static std::string script() { return std::string(5'000, 'a') + ";"; }
  const core::Path& path() const { return folder_.path(); }

 private:
  core::TemporaryFolder folder_ = core::TemporaryFolder::make("commensal-page").value();
};

std::string gunzipped(std::string_view text) {
  core::MemoryBudget::Lease nobodys;
  core::GrowingBytes body;
  std::ranges::copy(text, body.prepare(text.size(), text.size()).begin());
  body.commit(text.size());
  const auto made = http::decompress(http::Coding::kGzip, body, 1 << 20, nobodys, {});
  return made && *made ? std::string(core::as_text(body)) : "not whole";
}

class HttpPage : public ::testing::Test {
 protected:
  RawResponse get(const std::string& target, const std::string& headers = "",
                  const std::string& method = "GET") {
    RawClient raw(world_.port());
    raw.send(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}\r\n", method, target, headers));
    return raw.receive(method == "HEAD");
  }

  PageFolder folder_;
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name(), folder_.path()};
};

TEST_F(HttpPage, IsForWhoeverComes) {
  const RawResponse index = get("/");
  ASSERT_EQ(index.status, 200) << index.body;
  EXPECT_EQ(index.body, "<!doctype html><title>t</title>");
  EXPECT_EQ(index.headers.at("content-type"), "text/html; charset=utf-8");
  const RawResponse script = get("/page/app.js");
  ASSERT_EQ(script.status, 200);
  EXPECT_EQ(script.body, PageFolder::script());
  EXPECT_EQ(script.headers.at("content-type"), "text/javascript; charset=utf-8");
  EXPECT_FALSE(script.headers.contains("content-encoding"));
}

TEST_F(HttpPage, LetsNothingInThatIsNotItsOwn) {
  for (const char* const target : {"/", "/page/app.js"}) {
    const RawResponse answer = get(target);
    const std::string& policy = answer.headers.at("content-security-policy");
    for (const char* const part :
         {"default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'",
          "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"})
      EXPECT_NE(policy.find(part), std::string::npos) << target << part;
    EXPECT_EQ(policy.find("unsafe-inline"), std::string::npos);
    EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.headers.at("referrer-policy"), "no-referrer");
  }
}

TEST_F(HttpPage, IsEncodedForWhoAsks) {
  const RawResponse script = get("/page/app.js", "Accept-Encoding: gzip, deflate, br\r\n");
  ASSERT_EQ(script.status, 200);
  EXPECT_EQ(script.headers.at("content-encoding"), "gzip");
  EXPECT_LT(script.body.size(), 500u);
  EXPECT_EQ(gunzipped(script.body), PageFolder::script());
  const RawResponse head = get("/page/app.js", "Accept-Encoding: gzip\r\n", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(script.body.size()));
}

TEST_F(HttpPage, IsSentOnceToWhoKeepsIt) {
  for (const char* const coding : {"", "Accept-Encoding: gzip\r\n"}) {
    const RawResponse script = get("/page/app.js", coding);
    const std::string& tag = script.headers.at("etag");
    RawClient raw(world_.port());
    raw.send(fmt::format("GET /page/app.js HTTP/1.1\r\nHost: x\r\n{}If-None-Match: {}\r\n\r\n",
                         coding, tag));
    const RawResponse again = raw.receive(true);
    EXPECT_EQ(again.status, 304);
    EXPECT_FALSE(again.headers.contains("content-length"));
    raw.send("GET / HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"0123\", W/\"45\"\r\n\r\n");
    EXPECT_EQ(raw.receive().status, 200) << "and the connection goes on";
  }
}

TEST_F(HttpPage, HasNoPathsOfTheDisk) {
  for (const char* const target :
       {"/page/inside/secret.txt", "/page/inside%2Fsecret.txt", "/page/..%2Fapp.js",
        "/page/../page/index.html", "/page/%2e%2e", "/page/inside", "/page/", "/page",
        "/page//etc/passwd", "/page/%2Fetc%2Fpasswd", "/index.html", "/page/app.js%00.html"}) {
    const RawResponse answer = get(target);
    EXPECT_TRUE(answer.status == 404 || answer.status == 400) << target << answer.status;
    EXPECT_EQ(answer.body.find("secret\n"), std::string::npos);
  }
  EXPECT_EQ(get("/", "Content-Length: 0\r\n", "POST").status, 405);
}

TEST_F(HttpPage, IsAsItWasWhenItWasRead) {
  folder_.put("index.html", "another");
  EXPECT_EQ(get("/").body, "<!doctype html><title>t</title>");
}

TEST(HttpNoPage, SaysSo) {
  World world("HttpNoPage");
  RawClient raw(world.port());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const RawResponse answer = raw.receive();
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("--page"), std::string::npos) << answer.body;
}

TEST(PageFolders, ThatAreNoneAreRefused) {
  const PageFolder folder;
  ASSERT_TRUE(http::Page::read(folder.path()));
  const auto missing = http::Page::read(folder.path() / "nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, core::ErrorCode::kNotFound);
  const auto empty = http::Page::read(folder.path() / "inside");
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("index.html"), std::string::npos) << empty.error().message;
  folder.put("notes.md", "x");
  const auto other = http::Page::read(folder.path());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message.find("notes.md"), std::string::npos) << other.error().message;
}

TEST(PageFolders, AreBounded) {
  const PageFolder folder;
  for (std::size_t i = 0; i < limits::kPageFilesMax; ++i) folder.put(fmt::format("{}.txt", i), "x");
  const auto many = http::Page::read(folder.path());
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, core::ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace commensal::tests
