// SPDX-License-Identifier: Apache-2.0
// TLS as consumers meet it: whom they believe, what strangers' tools say, certificates that change.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <commensal/base/core/temporary_folder.hpp>
#include <cstdio>
#include <thread>
#include <vector>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using client::Client;
using core::ErrorCode;
using ::testing::HasSubstr;

/// Output of a program and of its standard error.
std::string said_by(const std::string& command) {
  FILE* const pipe = ::popen(("(" + command + ") 2>&1 < /dev/null").c_str(), "r");
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe)) {
    text.append(piece.data(), size);
  }
  ::pclose(pipe);
  return text;
}

class HttpTls : public ::testing::Test {
 protected:
  using Hosts = std::vector<std::string>;

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void replace(const Hosts& hosts, std::int64_t from_ms = now_ms(), int days = 1) {
    ASSERT_TRUE(tls::Identity::write(folder_.path(), *tls::make_certificate(hosts, from_ms, days)));
    ASSERT_TRUE(*identity_->reload());
  }
  static std::int64_t now_ms() { return core::SystemClock().wall_ms(); }
  core::Result<void> ask(tls::Trust trust) {
    COMMENSAL_ASSIGN(Client client,
                     Client::create({.url = world_.url(), .token = "", .trust = std::move(trust)}));
    return client.live();
  }
  /// The gateway as it presents itself now: its own certificate is the authority.
  core::Result<void> ask_by_ca() { return ask({{}, file("tls-cert.pem")}); }
  std::string distrust(const core::Result<void>& asked) {
    EXPECT_FALSE(asked);
    if (asked) return "";
    EXPECT_EQ(asked.error().code, ErrorCode::kUnauthenticated) << asked.error().message;
    return asked.error().message;
  }

  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("tls");
  const std::shared_ptr<tls::Identity> identity_ =
      *tls::Identity::open_or_make(folder_.path(), Hosts{"localhost", "127.0.0.1"}, now_ms());
  World world_{"tls", identity_};
};

TEST_F(HttpTls, AnswersWhoBelievesItsKeyOrItsAuthority) {
  world_.start_provider();
  Client client = world_.client(world_.alice);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.infer("alice/digits", 0, picture(1)));
  EXPECT_TRUE(ask_by_ca());
}

TEST_F(HttpTls, SaysNothingToWhomItDoesNotTrust) {
  EXPECT_THAT(distrust(ask({{core::Digest{1}}, {}})),
              HasSubstr("cannot trust the gateway at 127.0.0.1:"));
  EXPECT_THAT(distrust(ask({})), HasSubstr("self-signed certificate"));
  const auto other = *core::TemporaryFolder::make("tls");
  ASSERT_TRUE(tls::Identity::open_or_make(other.path(), Hosts{"127.0.0.1"}, now_ms()));
  EXPECT_THAT(distrust(ask({{}, other.path() / "tls-cert.pem"})),
              HasSubstr("tls-cert.pem' does not vouch for it: "));
  EXPECT_EQ(ask({{}, "/no/such/file"}).error().code, ErrorCode::kInvalidArgument);

  replace({"elsewhere.example"});
  EXPECT_THAT(distrust(ask_by_ca()), HasSubstr("IP address mismatch"));
  replace({"127.0.0.1"}, now_ms() - std::int64_t{30} * 86'400'000);
  EXPECT_THAT(distrust(ask_by_ca()), HasSubstr("certificate has expired"));
  EXPECT_TRUE(ask({{identity_->current()->key_hash}, {}})) << "a pin is for the key alone";
}

TEST_F(HttpTls, SpeaksNothingElse) {
  RawClient plain(world_.port());
  plain.send("GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.receive().status, 0);
  auto client =
      Client::create({.url = fmt::format("http://127.0.0.1:{}", world_.port()), .token = ""});
  const auto forgotten = client->live();
  ASSERT_FALSE(forgotten);
  EXPECT_THAT(forgotten.error().message, HasSubstr("; if it speaks TLS: https://127.0.0.1:"));
  World without("plain");
  auto secure =
      Client::create({.url = fmt::format("https://127.0.0.1:{}", without.port()), .token = ""});
  const auto live = secure->live();
  ASSERT_FALSE(live);
  EXPECT_THAT(live.error().message, HasSubstr("no TLS with the gateway at 127.0.0.1:"));
  EXPECT_THAT(live.error().message, HasSubstr("is it http://127.0.0.1:"));
}

TEST_F(HttpTls, HalfAHandshakeHoldsNobodyUp) {
  RawClient silent(world_.port());
  RawClient half(world_.port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(ask_by_ca());
}

TEST_F(HttpTls, IsWhatOpensslAndCurlTakeForTls) {
  const std::string at = fmt::format("127.0.0.1:{}", world_.port());
  const std::string s_client = "openssl s_client -connect " + at + " -CAfile " +
                               file("tls-cert.pem") + " -verify_ip 127.0.0.1 -verify_return_error";
  const std::string shown = said_by(s_client);
  EXPECT_THAT(shown, HasSubstr("TLSv1.3"));
  EXPECT_THAT(shown, HasSubstr("Verify return code: 0 (ok)"));
  EXPECT_THAT(said_by(s_client + " -tls1_2"), HasSubstr("alert protocol version"));

  const std::string curl = "curl -sS -i -H 'Origin: https://elsewhere.example' https://" + at +
                           "/v2/health/live --cacert " + file("tls-cert.pem");
  const std::string answer = said_by(curl);
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(answer, ::testing::Not(HasSubstr("ccess-")));  // no page of elsewhere may read it
  EXPECT_THAT(said_by("curl -sS https://" + at + "/v2/health/live"), HasSubstr("self-signed"));
  // What docs/security.md shows: the pin, by other people's tools.
  const std::string hash =
      said_by("openssl x509 -in " + file("tls-cert.pem") +
              " -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum");
  EXPECT_THAT(hash, HasSubstr(core::to_hex(identity_->current()->key_hash)));
}

TEST_F(HttpTls, ReadsAnswersThatArePutOffUntilARefusal) {
  // 413 comes while the body is being sent: the refusal arrives, not a reset.
  const std::string said =
      said_by(fmt::format("head -c 3000000 /dev/zero | curl -sS -k -X POST --data-binary @- "
                          "-H 'Authorization: Bearer {}' https://127.0.0.1:{}/v1/accounts",
                          world_.root, world_.port()));
  EXPECT_THAT(said, HasSubstr("at most 65536 are accepted"));
}

/// Who has a token may ask as often as it can.
core::Result<void> ask_who(Client& client) {
  COMMENSAL_TRY(client.who_am_i());
  return {};
}

TEST_F(HttpTls, CertificatesChangeUnderLoadWithoutAFailure) {
  constexpr int kRotations = 20;
  std::vector<tls::Pem> pems;
  tls::Trust trust{{identity_->current()->key_hash}, {}};
  for (int i = 0; i < kRotations; ++i) {
    pems.push_back(*tls::make_certificate(Hosts{"127.0.0.1"}, now_ms()));
    trust.pins.push_back(*tls::key_hash(pems.back().certificate));
  }
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0, failed = 0;
  const auto count = [&](const core::Result<void>& asked) { ++(asked ? answered : failed); };
  {
    std::vector<std::jthread> consumers;
    for (int k = 0; k < 2; ++k) {
      consumers.emplace_back([&] {  // one connection for all
        auto client = *Client::create({.url = world_.url(), .token = world_.alice, .trust = trust});
        while (!done) count(ask_who(client));
      });
      consumers.emplace_back([&] {  // one for each
        while (!done) {
          auto anew = *Client::create({.url = world_.url(), .token = world_.alice, .trust = trust});
          count(ask_who(anew));
        }
      });
    }
    for (const tls::Pem& pem : pems) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ASSERT_TRUE(tls::Identity::write(folder_.path(), pem));
      EXPECT_TRUE(*identity_->reload());
    }
    done = true;
  }
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 2 * kRotations);
  EXPECT_EQ(identity_->current()->key_hash, trust.pins.back());
}

TEST_F(HttpTls, HalfAChangeLeavesTheCertificateAsItWas) {
  const core::Digest before = identity_->current()->key_hash;
  const tls::Pem next = *tls::make_certificate(Hosts{"127.0.0.1"}, now_ms());
  ASSERT_TRUE(core::write_file_atomically(file("tls-cert.pem"), core::as_bytes(next.certificate)));
  const auto half = identity_->reload();
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("the key is not the certificate's"));
  EXPECT_EQ(identity_->current()->key_hash, before);
  EXPECT_TRUE(ask({{before}, {}}));
  ASSERT_TRUE(core::write_file_atomically(file("tls-key.pem"), core::as_bytes(next.key)));
  EXPECT_TRUE(*identity_->reload());
  EXPECT_FALSE(*identity_->reload());
  EXPECT_TRUE(ask_by_ca());
}

}  // namespace
}  // namespace commensal::tests
