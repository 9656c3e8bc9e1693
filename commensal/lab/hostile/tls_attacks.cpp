// SPDX-License-Identifier: Apache-2.0
// Strangers at ports that speak TLS.
#include <array>
#include <commensal/lab/hostile/strangers.hpp>

namespace commensal::lab::hostile {
namespace {

std::string random_bytes(core::Rng& rng, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next_u64());
  return bytes;
}

std::string sized(std::size_t width, std::string_view bytes) {
  std::string made;
  for (std::size_t i = width; i > 0; --i) {
    made.push_back(static_cast<char>(bytes.size() >> (8 * (i - 1))));
  }
  return made.append(bytes);
}

/// What begins a handshake of TLS 1.3 (RFC 8446, 4.1.2) and makes the other side agree on a secret,
/// sign and send its certificate, for a few random bytes. `alpn`: as gRPC asks for.
std::string client_hello(core::Rng& rng, std::string_view alpn) {
  using namespace std::string_view_literals;
  const auto extension = [](std::string_view kind, std::string_view body) {
    return std::string(kind) + sized(2, body);
  };
  std::string extensions =
      extension("\x00\x2b"sv, "\x02\x03\x04"sv) +                        // versions: 1.3
      extension("\x00\x0a"sv, sized(2, "\x00\x1d"sv)) +                  // groups: X25519
      extension("\x00\x0d"sv, sized(2, "\x04\x03\x08\x04\x08\x07"sv)) +  // signatures
      extension("\x00\x33"sv,
                sized(2, std::string("\x00\x1d"sv) + sized(2, random_bytes(rng, 32))));
  if (!alpn.empty()) extensions += extension("\x00\x10"sv, sized(2, sized(1, alpn)));
  const std::string body = std::string("\x03\x03"sv) + random_bytes(rng, 32) +
                           sized(1, random_bytes(rng, 32)) +           // session
                           sized(2, "\x13\x01\x13\x02\x13\x03"sv) +    // suites
                           sized(1, "\x00"sv) + sized(2, extensions);  // no compression
  return std::string("\x16\x03\x01"sv) + sized(2, "\x01" + sized(3, body));
}

/// Handshakes that begin and are not gone on with.
class HalfHello final : public Silent {
 public:
  HalfHello(std::uint16_t port, core::Rng& rng) : Silent(port), hello_(client_hello(rng, "")) {}

 protected:
  void first_word(std::size_t member) override { crowd_.say(member, begin()); }
  std::string_view last_word() const override {
    return std::string_view(hello_).substr(begin().size());
  }

 private:
  std::string_view begin() const { return std::string_view(hello_).substr(0, 20); }
  const std::string hello_;
};

/// Handshakes that cost the other side most and are left when that is paid.
class HelloFlood : public Speaker {
 public:
  HelloFlood(std::uint16_t port, core::Rng& rng) : Speaker(port), rng_(rng) {}

 protected:
  std::string next() override { return client_hello(rng_, alpn()); }
  virtual std::string_view alpn() const { return ""; }

 private:
  core::Rng& rng_;
};
class HelloFloodOfProviders final : public HelloFlood {
 public:
  using HelloFlood::HelloFlood;

 protected:
  std::string_view alpn() const override { return "h2"; }
};

/// Plain requests, records of other kinds and lengths, a good hello with noise after it.
class PlainBytes final : public Speaker {
 public:
  PlainBytes(std::uint16_t port, core::Rng& rng) : Speaker(port), rng_(rng) {}

 protected:
  std::string next() override {
    switch (rng_.next_u64() % 4) {
      case 0:
        return "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n";
      case 1:
        return "\x17\x03\x03" + sized(2, random_bytes(rng_, 16'000));
      case 2:
        return "\x16\x03\x03\xff\xff" + random_bytes(rng_, 65'535);
      default:
        return client_hello(rng_, "") + random_bytes(rng_, 4'096);
    }
  }

 private:
  core::Rng& rng_;
};

constexpr AttackRow kRows[] = {
    {"tls-half-hello", "1,500 connections that begin a handshake and stop", at_http<HalfHello>,
     Site::kTls},
    {"tls-hello-flood", "handshakes that are left once the gateway has signed", at_http<HelloFlood>,
     Site::kTls},
    {"tls-hello-flood-providers", "the same at the port for providers",
     at_stream<HelloFloodOfProviders>, Site::kTls},
    {"tls-plain-bytes", "plain requests, odd records and noise where TLS is spoken",
     at_http<PlainBytes>, Site::kTls},
};

}  // namespace

std::span<const AttackRow> tls_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
