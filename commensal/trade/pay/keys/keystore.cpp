// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/crypto/keccak256.hpp>
#include <commensal/trade/pay/keys/keystore.hpp>
#include <nlohmann/json.hpp>

namespace commensal::keys {
namespace {

using core::Bytes;
using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 3;
constexpr std::size_t kKeyBytes = 32;

/// Reads members by name; the first that is missing or of another kind is the error.
class Member {
 public:
  Member(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  Result<Member> at(const std::string& name) const {
    const std::string path = path_ + (path_.empty() ? "" : ".") + name;
    if (!json_.is_object() || !json_.contains(name)) return wrong(path, "is missing");
    return Member(json_.at(name), path);
  }
  Result<std::string> text() const {
    if (!json_.is_string()) return wrong(path_, "is no text");
    return json_.get<std::string>();
  }
  Result<std::uint64_t> number() const {
    if (!json_.is_number_unsigned()) return wrong(path_, "is no whole number from 0 on");
    return json_.get<std::uint64_t>();
  }
  Result<Bytes> hex(std::size_t size) const {
    COMMENSAL_ASSIGN(Bytes bytes, salt());
    if (bytes.size() == size) return bytes;
    return fail(ErrorCode::kInvalidArgument, "keystore: {} has {} bytes, expected {}", path_,
                bytes.size(), size);
  }
  Result<Bytes> salt() const {
    COMMENSAL_ASSIGN(const std::string digits, text());
    auto bytes = core::from_hex(digits);
    if (!bytes) return wrong(path_, bytes.error().message);
    return bytes;
  }
  Result<void> expect(std::string_view value) const {
    COMMENSAL_ASSIGN(const std::string found, text());
    if (found == value) return {};
    return fail(ErrorCode::kUnsupported, "keystore: {} is '{}', expected '{}'", path_, found,
                value);
  }

 private:
  static tl::unexpected<core::Error> wrong(const std::string& path, std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, "keystore: {} {}", path, why);
  }
  const Json& json_;
  std::string path_;
};

Result<Json> parse(std::string_view text) {
  if (text.size() > limits::kKeyFileBytesMax) {
    return fail(ErrorCode::kResourceExhausted, "keystore: {} bytes, at most {} are accepted",
                text.size(), limits::kKeyFileBytesMax);
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  return fail(ErrorCode::kInvalidArgument, "keystore: not a JSON object");
}

Result<Kdf> read_scrypt(const Member& params) {
  Scrypt scrypt;
  struct Row {
    const char* name;
    std::uint64_t* value;
  };
  for (const Row& row : {Row{"n", &scrypt.n}, Row{"r", &scrypt.r}, Row{"p", &scrypt.p}}) {
    COMMENSAL_ASSIGN(const Member member, params.at(row.name));
    COMMENSAL_ASSIGN(*row.value, member.number());
  }
  COMMENSAL_ASSIGN(const Member salt, params.at("salt"));
  COMMENSAL_ASSIGN(scrypt.salt, salt.salt());
  return scrypt;
}

Result<Kdf> read_pbkdf2(const Member& params) {
  Pbkdf2 pbkdf2;
  COMMENSAL_ASSIGN(const Member prf, params.at("prf"));
  COMMENSAL_TRY(prf.expect("hmac-sha256"));
  COMMENSAL_ASSIGN(const Member rounds, params.at("c"));
  COMMENSAL_ASSIGN(pbkdf2.c, rounds.number());
  COMMENSAL_ASSIGN(const Member salt, params.at("salt"));
  COMMENSAL_ASSIGN(pbkdf2.salt, salt.salt());
  return pbkdf2;
}

struct KdfRow {
  std::string_view name;
  Result<Kdf> (*read)(const Member& params);
};
constexpr KdfRow kKdfs[] = {{"scrypt", read_scrypt}, {"pbkdf2", read_pbkdf2}};

Result<Kdf> read_kdf(const Member& crypto) {
  COMMENSAL_ASSIGN(const Member name, crypto.at("kdf"));
  COMMENSAL_ASSIGN(const std::string chosen, name.text());
  COMMENSAL_ASSIGN(const Member params, crypto.at("kdfparams"));
  COMMENSAL_ASSIGN(const Member size, params.at("dklen"));
  COMMENSAL_ASSIGN(const std::uint64_t size_bytes, size.number());
  if (size_bytes != kKeyBytes) {
    return fail(ErrorCode::kUnsupported, "keystore: dklen is {}, expected 32", size_bytes);
  }
  for (const KdfRow& row : kKdfs) {
    if (row.name == chosen) return row.read(params);
  }
  return fail(ErrorCode::kUnsupported, "keystore: kdf is '{}', expected scrypt or pbkdf2", chosen);
}

core::Digest mac_of(const core::Digest& derived, core::ByteView ciphertext) {
  Bytes message(derived.begin() + 16, derived.end());
  message.insert(message.end(), ciphertext.begin(), ciphertext.end());
  return crypto::keccak256(message);
}

struct Sealed {
  Kdf kdf;
  std::array<std::uint8_t, 16> iv{};
  Bytes ciphertext;
  Bytes mac;
};

Result<Sealed> read_sealed(const Json& json) {
  const Member root(json, "");
  COMMENSAL_ASSIGN(const Member version, root.at("version"));
  COMMENSAL_ASSIGN(const std::uint64_t number, version.number());
  if (number != kVersion) {
    return fail(ErrorCode::kUnsupported, "keystore: version {}, expected {}", number, kVersion);
  }
  // Some wallets write it with a capital.
  COMMENSAL_ASSIGN(const Member crypto, root.at(json.contains("Crypto") ? "Crypto" : "crypto"));
  COMMENSAL_ASSIGN(const Member cipher, crypto.at("cipher"));
  COMMENSAL_TRY(cipher.expect("aes-128-ctr"));
  Sealed sealed;
  COMMENSAL_ASSIGN(sealed.kdf, read_kdf(crypto));
  COMMENSAL_ASSIGN(const Member params, crypto.at("cipherparams"));
  COMMENSAL_ASSIGN(const Member iv, params.at("iv"));
  COMMENSAL_ASSIGN(const Bytes iv_bytes, iv.hex(sealed.iv.size()));
  std::copy(iv_bytes.begin(), iv_bytes.end(), sealed.iv.begin());
  COMMENSAL_ASSIGN(const Member ciphertext, crypto.at("ciphertext"));
  COMMENSAL_ASSIGN(sealed.ciphertext, ciphertext.hex(kKeyBytes));
  COMMENSAL_ASSIGN(const Member mac, crypto.at("mac"));
  COMMENSAL_ASSIGN(sealed.mac, mac.hex(core::Digest{}.size()));
  return sealed;
}

Result<std::optional<crypto::Address>> address_in(const Json& json) {
  if (!json.contains("address")) return std::nullopt;
  COMMENSAL_ASSIGN(const Bytes bytes, Member(json.at("address"), "address").hex(20));
  crypto::Address address;
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

/// Version 4 of RFC 4122: random.
std::string new_uuid(core::Rng& rng) {
  std::array<std::uint8_t, 16> bytes;
  rng.fill(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  const std::string digits = core::to_hex(bytes);
  const std::string_view text = digits;
  return fmt::format("{}-{}-{}-{}-{}", text.substr(0, 8), text.substr(8, 4), text.substr(12, 4),
                     text.substr(16, 4), text.substr(20));
}

}  // namespace

std::string lock(const crypto::SecretKey& key, const Password& password, core::Rng& rng,
                 Cost cost) {
  core::check(!password.empty(), "a keystore without a password");
  Scrypt scrypt;
  if (cost == Cost::kLight) scrypt.n = 1 << 12;
  scrypt.salt.resize(32);
  rng.fill(scrypt.salt);
  std::array<std::uint8_t, 16> iv;
  rng.fill(iv);
  const auto derived = derive(scrypt, password.bytes());
  core::check(derived.has_value(), "our own parameters of scrypt are within bounds");
  const Bytes sealed = aes_128_ctr(core::ByteView(*derived).first(16), iv, key.bytes());
  const Json params = {{"dklen", kKeyBytes},
                       {"n", scrypt.n},
                       {"p", scrypt.p},
                       {"r", scrypt.r},
                       {"salt", core::to_hex(scrypt.salt)}};
  const Json json = {{"address", core::to_hex(key.address().bytes)},
                     {"crypto",
                      {{"cipher", "aes-128-ctr"},
                       {"cipherparams", {{"iv", core::to_hex(iv)}}},
                       {"ciphertext", core::to_hex(sealed)},
                       {"kdf", "scrypt"},
                       {"kdfparams", params},
                       {"mac", core::to_hex(mac_of(*derived, sealed))}}},
                     {"id", new_uuid(rng)},
                     {"version", kVersion}};
  return json.dump(1) + "\n";
}

Result<crypto::SecretKey> unlock(std::string_view text, const Password& password) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_ASSIGN(const Sealed sealed, read_sealed(json));
  COMMENSAL_ASSIGN(const auto address, address_in(json));
  COMMENSAL_ASSIGN(const core::Digest derived, derive(sealed.kdf, password.bytes()));
  if (!core::equal_in_constant_time(mac_of(derived, sealed.ciphertext), sealed.mac)) {
    return fail(ErrorCode::kUnauthenticated,
                "keystore: the password is wrong, or the file was changed");
  }
  COMMENSAL_ASSIGN(crypto::SecretKey key,
                   crypto::SecretKey::from_bytes(aes_128_ctr(core::ByteView(derived).first(16),
                                                             sealed.iv, sealed.ciphertext)));
  if (address && *address != key.address()) {
    return fail(ErrorCode::kUnauthenticated, "keystore: it claims address {}, its key has {}",
                crypto::to_text(*address), crypto::to_text(key.address()));
  }
  return key;
}

Result<void> check_form(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_ASSIGN(const Sealed sealed, read_sealed(json));
  COMMENSAL_TRY(address_in(json));
  return expect_bounded(sealed.kdf);
}

Result<std::optional<crypto::Address>> claimed_address(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  return address_in(json);
}

}  // namespace commensal::keys
