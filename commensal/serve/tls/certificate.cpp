// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/tls/certificate.hpp>

namespace commensal::tls {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::int64_t kDayS = 86'400;

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* one) const { kFree(one); }
};
template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Freed<T, kFree>>;
void free_bio(BIO* bio) { BIO_free(bio); }
using OwnedKey = Owned<EVP_PKEY, EVP_PKEY_free>;
using OwnedX509 = Owned<X509, X509_free>;
using OwnedBio = Owned<BIO, free_bio>;

OwnedBio reading(std::string_view text) {
  return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int no_password(char*, int, int, void*) { return -1; }  // rather than ask the terminal

std::string written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

/// IPv4 or IPv6.
bool is_ip(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// subjectAltName, in OpenSSL's words.
Result<std::string> alternative_names(std::span<const std::string> hosts) {
  const auto is_name_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '*' || c == '_';
  };
  std::string names;
  for (const std::string& host : hosts) {
    const bool ip = is_ip(host);
    if (host.empty() || (!ip && !std::ranges::all_of(host, is_name_char))) {
      return fail(ErrorCode::kInvalidArgument, "'{}', expected a host's name or IP address", host);
    }
    names += fmt::format("{}{}:{}", names.empty() ? "" : ",", ip ? "IP" : "DNS", host);
  }
  return names;
}

bool extend(X509* certificate, int kind, const std::string& value) {
  if (value.empty()) return true;
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const Owned<X509_EXTENSION, X509_EXTENSION_free> owned(made);
  return made != nullptr && X509_add_ext(certificate, made, -1) == 1;
}

bool fill(X509* certificate, EVP_PKEY* key, const std::string& names, std::int64_t from_ms,
          int days) {
  std::uint64_t serial = 0;
  time_t from = from_ms / 1000;
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* common = reinterpret_cast<const unsigned char*>("commensal");
  return RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1 &&
         X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
         X509_time_adj_ex(X509_getm_notBefore(certificate), 0, 0, &from) != nullptr &&
         X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, &from) != nullptr &&
         X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC, common, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
         extend(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         extend(certificate, NID_key_usage, "critical,digitalSignature") &&
         extend(certificate, NID_ext_key_usage, "serverAuth,clientAuth") &&
         extend(certificate, NID_subject_key_identifier, "hash") &&
         extend(certificate, NID_subject_alt_name, names) &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

int choose_http2(SSL* /*connection*/, const unsigned char** chosen, unsigned char* size,
                 const unsigned char* offered, unsigned int offered_size, void* /*unused*/) {
  static constexpr unsigned char kWanted[] = {2, 'h', '2'};  // what is chosen points there
  auto** const out = const_cast<unsigned char**>(chosen);
  return SSL_select_next_proto(out, size, kWanted, sizeof kWanted, offered, offered_size) ==
                 OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<std::shared_ptr<ssl_ctx_st>> server_context(const Pem& pem, Protocol protocol) {
  const auto refuse = [](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, "{}", why);
  };
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  core::check(context != nullptr, "OpenSSL makes contexts");
  const bool is_http2 = protocol == Protocol::kHttp2;
  SSL_CTX_set_min_proto_version(context.get(), is_http2 ? TLS1_2_VERSION : TLS1_3_VERSION);
  if (is_http2) SSL_CTX_set_alpn_select_cb(context.get(), choose_http2, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  // Nobody resumes, and nothing is written that nobody waits for.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  const OwnedBio chain = reading(pem.certificate);
  const OwnedX509 first(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  if (!first || SSL_CTX_use_certificate(context.get(), first.get()) != 1) {
    return refuse("expected a certificate in PEM");
  }
  while (X509* next = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context.get(), next) != 1) {
      X509_free(next);
      return refuse("a chain of certificates that OpenSSL does not take");
    }
  }
  const OwnedKey key(
      PEM_read_bio_PrivateKey(reading(pem.key).get(), nullptr, no_password, nullptr));
  if (!key) return refuse("expected a private key in PEM, without a password");
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return refuse("the key is not the certificate's");
  }
  return context;
}

Result<std::string> read_pem(const core::Path& file) {
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file, limits::kPemBytesMax));
  return std::string(core::as_text(bytes));
}

core::Path certificate_in(const core::Path& folder) { return folder / "tls-cert.pem"; }
core::Path key_in(const core::Path& folder) { return folder / "tls-key.pem"; }

}  // namespace

Result<Pem> make_certificate(std::span<const std::string> hosts, std::int64_t from_ms, int days) {
  COMMENSAL_ASSIGN(const std::string names, alternative_names(hosts));
  const OwnedKey key(EVP_EC_gen("P-256"));
  const OwnedX509 certificate(X509_new());
  const OwnedBio shown(BIO_new(BIO_s_mem()));
  const OwnedBio secret(BIO_new(BIO_s_mem()));
  if (!key || !certificate || !fill(certificate.get(), key.get(), names, from_ms, days) ||
      PEM_write_bio_X509(shown.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return fail(ErrorCode::kInternal, "OpenSSL made no certificate for {}", names);
  }
  return Pem{written(shown.get()), written(secret.get())};
}

Result<core::Digest> key_hash(std::string_view certificate_pem) {
  const OwnedX509 certificate(
      PEM_read_bio_X509(reading(certificate_pem).get(), nullptr, nullptr, nullptr));
  if (!certificate) return fail(ErrorCode::kInvalidArgument, "expected a certificate in PEM");
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate.get()), &der);
  if (size <= 0) return fail(ErrorCode::kInvalidArgument, "a certificate without a public key");
  const core::Digest hash = crypto::sha256({der, static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return hash;
}

bool is_loopback(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr four{};
  if (::inet_pton(AF_INET, std::string(host).c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == 127;
  }
  return host == "localhost" || host == "::1";
}

bool is_encrypted(Encryption encryption, std::string_view host) {
  if (encryption != Encryption::kBeyondLoopback) return encryption == Encryption::kAlways;
  return !is_loopback(host);
}

Result<std::shared_ptr<Identity>> Identity::open(const core::Path& certificate,
                                                 const core::Path& key) {
  std::shared_ptr<Identity> made(new Identity(certificate, key));
  COMMENSAL_TRY(made->reload());
  return made;
}

Result<void> Identity::write(const core::Path& folder, const Pem& pem) {
  COMMENSAL_TRY(core::write_file_atomically(key_in(folder), core::as_bytes(pem.key), 0600));
  return core::write_file_atomically(certificate_in(folder), core::as_bytes(pem.certificate));
}

Result<std::shared_ptr<Identity>> Identity::open_or_make(const core::Path& folder,
                                                         std::span<const std::string> hosts,
                                                         std::int64_t now_ms) {
  if (!std::filesystem::exists(certificate_in(folder))) {
    // A day early, for peers whose clocks are late.
    COMMENSAL_ASSIGN(const Pem pem, make_certificate(hosts, now_ms - kDayS * 1000));
    COMMENSAL_TRY(write(folder, pem));
  }
  return open(certificate_in(folder), key_in(folder));
}

std::shared_ptr<const Certificate> Identity::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Result<bool> Identity::reload() {
  Certificate read;
  COMMENSAL_ASSIGN(read.pem.certificate, read_pem(certificate_file_));
  COMMENSAL_ASSIGN(read.pem.key, read_pem(key_file_));
  const auto before = current();
  if (before && before->pem.certificate == read.pem.certificate && before->pem.key == read.pem.key)
    return false;
  for (const Protocol protocol : {Protocol::kHttp1, Protocol::kHttp2}) {
    auto context = server_context(read.pem, protocol);
    if (!context) {
      return tl::unexpected(core::in_context(
          fmt::format("'{}' and '{}'", certificate_file_.string(), key_file_.string()),
          context.error()));
    }
    read.contexts[static_cast<std::size_t>(protocol)] = *std::move(context);
  }
  COMMENSAL_ASSIGN(read.key_hash, key_hash(read.pem.certificate));
  const std::lock_guard lock(mutex_);
  current_ = std::make_shared<const Certificate>(std::move(read));
  return true;
}

ssl_ctx_st* Identity::new_server_context(Protocol protocol) const {
  const auto now = current();
  ssl_ctx_st* const context = now->contexts[static_cast<std::size_t>(protocol)].get();
  SSL_CTX_up_ref(context);
  return context;
}

}  // namespace commensal::tls
