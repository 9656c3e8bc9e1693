// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/keys/vault.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::keys {
namespace {

template <class Result>
std::string refusal(const Result& result) {
  return result ? "accepted" : result.error().message;
}

std::string text_of(const std::string& name) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/keystore/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const core::Path& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return status.st_mode & 0777;
}

// The vectors of ethereum.org's "Web3 Secret Storage Definition".
TEST(MoneyKeys, UnlockThePublishedVectors) {
  for (const std::string name : {"definition-pbkdf2", "definition-scrypt"}) {
    const auto key = unlock(text_of(name), Password("testpassword"));
    ASSERT_TRUE(key) << name << ": " << key.error().message;
    EXPECT_EQ(core::to_hex(key->bytes()),
              "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d");
    EXPECT_EQ(crypto::to_text(key->address()), "0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b");
  }
  EXPECT_EQ(refusal(unlock(text_of("definition-pbkdf2"), Password("testpasswort"))),
            "keystore: the password is wrong, or the file was changed");
}

// Made by npm's ethers (tests/peer/ethers_vectors.mjs), which in its turn opens ours.json.
TEST(MoneyKeys, UnlockWhatEthersLocks) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/ethers.json");
  const auto vectors = nlohmann::json::parse(file)["keystores"];
  ASSERT_EQ(vectors.size(), 3u);
  for (const auto& vector : vectors) {
    const auto key =
        unlock(vector["text"].get<std::string>(), Password(vector["password"].get<std::string>()));
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(crypto::to_text(key->address()), vector["address"]);
  }
  EXPECT_TRUE(unlock(text_of("ours"), Password("correct horse")));
}

TEST(MoneyKeys, LockAndUnlock) {
  core::CounterRng rng(1);
  for (int i = 0; i < 3; ++i) {
    const auto key = crypto::SecretKey::generate(rng);
    const std::string text = lock(key, Password("päss wörd"), rng, Cost::kLight);
    const auto again = unlock(text, Password("päss wörd"));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->address(), key.address());
    EXPECT_EQ(**claimed_address(text), key.address());
    EXPECT_FALSE(unlock(text, Password("pass word")));
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(MoneyKeys, OddFilesAreRefusedByName) {
  EXPECT_EQ(refusal(check_form(text_of("definition-scrypt"))), "accepted");
  EXPECT_EQ(refusal(check_form("{}")), "keystore: version is missing");
  const std::string good = text_of("definition-scrypt");
  const auto refused = [&](const std::string& what, const std::string& with) {
    return refusal(unlock(replaced(good, what, with), Password("testpassword")));
  };
  EXPECT_EQ(refusal(unlock("", Password("x"))), "keystore: not a JSON object");
  EXPECT_EQ(refusal(unlock("[3]", Password("x"))), "keystore: not a JSON object");
  EXPECT_EQ(refused("\"version\": 3", "\"version\": 4"), "keystore: version 4, expected 3");
  EXPECT_EQ(refused("aes-128-ctr", "aes-128-cbc"),
            "keystore: crypto.cipher is 'aes-128-cbc', expected 'aes-128-ctr'");
  EXPECT_EQ(refused("\"kdf\": \"scrypt\"", "\"kdf\": \"argon2\""),
            "keystore: kdf is 'argon2', expected scrypt or pbkdf2");
  EXPECT_EQ(refused("262144", "262143"),
            "keystore: scrypt: n 262143, r 1, p 8; expected n a power of two, r and p 1 or more");
  EXPECT_EQ(refused("262144", "2199023255552"),
            "keystore: scrypt: n 2199023255552 times r 1 times p 8, at most 8388608 is accepted");
  EXPECT_EQ(refused("\"dklen\": 32", "\"dklen\": 16"), "keystore: dklen is 16, expected 32");
  EXPECT_EQ(refused("\"mac\"", "\"Mac\""), "keystore: crypto.mac is missing");
  EXPECT_EQ(refused("83dbcc", "83db"),
            "keystore: crypto.cipherparams.iv has 15 bytes, expected 16");
  EXPECT_EQ(refusal(unlock(std::string(limits::kKeyFileBytesMax + 1, ' '), Password("x"))),
            "keystore: 65537 bytes, at most 65536 are accepted");
}

class MoneyVault : public ::testing::Test {
 protected:
  MoneyVault() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~MoneyVault() override { std::filesystem::remove_all(folder_); }
  void write(const core::Path& file, const std::string& text, unsigned mode = 0600) {
    ASSERT_TRUE(core::write_file_atomically(file, core::as_bytes(text), mode));
  }
  auto open() { return open_or_make(plain_, keystore_, password_, rng_, Cost::kLight); }

  core::CounterRng rng_{3};
  core::Path folder_ =
      std::filesystem::temp_directory_path() / ("commensal-vault-" + std::to_string(::getpid()));
  core::Path plain_ = folder_ / "key";
  core::Path keystore_ = folder_ / "keystore.json";
  Password password_{"secret"};
};

TEST_F(MoneyVault, MakesAKeyAndFindsItAgain) {
  const auto made = open();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(mode_of(keystore_), 0600u);
  EXPECT_EQ(open()->address(), made->address());
  EXPECT_EQ(refusal(open_or_make(plain_, keystore_, Password("other"), rng_, Cost::kLight)),
            keystore_.string() + ": keystore: the password is wrong, or the file was changed");
  EXPECT_EQ(refusal(lock_file(keystore_, *made, password_, rng_, Cost::kLight)),
            "'" + keystore_.string() + "' is there already");
}

TEST_F(MoneyVault, MovesAPlainKeyIn) {
  const auto key = crypto::SecretKey::generate(rng_);
  write(plain_, core::to_hex(key.bytes()) + "\n");
  EXPECT_EQ(open()->address(), key.address());
  EXPECT_FALSE(std::filesystem::exists(plain_));
  // Broken off before the plain file was removed:
  write(plain_, core::to_hex(key.bytes()) + "\n");
  EXPECT_EQ(open()->address(), key.address());
  EXPECT_FALSE(std::filesystem::exists(plain_));
  // A plain key that is another one stays, and so does the keystore.
  write(plain_, core::to_hex(crypto::SecretKey::generate(rng_).bytes()) + "\n");
  EXPECT_NE(refusal(open()).find("expected the same"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(plain_));
  write(plain_, "no key\n");
  EXPECT_NE(refusal(open()).find("is not a key"), std::string::npos);
}

TEST_F(MoneyVault, PasswordsComeFromTheOwnersFile) {
  const core::Path file = folder_ / "password";
  write(file, "correct horse\r\nsecond line\n");
  EXPECT_EQ(*read_password(file), Password("correct horse"));
  write(file, "correct horse\n", 0644);
  EXPECT_EQ(refusal(read_password(file)),
            "others can read the password file '" + file.string() + "': expected mode 0600");
  write(file, "\n");
  EXPECT_EQ(refusal(read_password(file)),
            "the password file '" + file.string() + "' begins with an empty line");
  EXPECT_FALSE(read_password(folder_ / "nothing"));
}

}  // namespace
}  // namespace commensal::keys
