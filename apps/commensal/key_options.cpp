// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <apps/commensal/key_options.hpp>
#include <apps/common/service.hpp>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/trade/pay/keys/vault.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

/// The terminal, which shows nothing of what is typed until it goes out of scope.
class QuietTerminal {
 public:
  explicit QuietTerminal(int fd) : fd_(fd) {
    ::tcgetattr(fd_, &before_);
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(fd_, TCSAFLUSH, &quiet);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;
  ~QuietTerminal() { ::tcsetattr(fd_, TCSAFLUSH, &before_); }

 private:
  int fd_;
  termios before_{};
};

Result<void> say(int fd, std::string_view text) {
  if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return fail(ErrorCode::kUnavailable, "cannot write to the terminal");
}

Result<keys::Password> ask(int fd, std::string_view question) {
  COMMENSAL_TRY(say(fd, question));
  std::string line;
  line.reserve(limits::kPasswordBytesMax);  // so that it is not copied about in memory
  const QuietTerminal quiet(fd);
  for (char c = 0;
       line.size() < limits::kPasswordBytesMax && ::read(fd, &c, 1) == 1 && c != '\n';) {
    line.push_back(c);
  }
  COMMENSAL_TRY(say(fd, "\n"));
  keys::Password password(std::move(line));
  if (!password.empty()) return password;
  return fail(ErrorCode::kInvalidArgument, "expected a password, found an empty line");
}

}  // namespace

void KeyOptions::declare(CLI::App& app) {
  app.add_option("--keystore", keystore,
                 "Key, locked (Web3 Secret Storage); default with --password-file: keystore.json "
                 "in the folder. A plain key file in the folder moves into it");
  app.add_option("--password-file", password_file,
                 "Its first line unlocks the keystore; default: asked for on the terminal");
}

store::KeyOpener KeyOptions::opener() const {
  if (keystore.empty() && password_file.empty()) return {};
  return [options = *this](const core::Path& folder) -> Result<crypto::SecretKey> {
    const core::Path plain = store::StateFolder::plain_key_in(folder);
    const core::Path locked = options.keystore.empty() ? store::StateFolder::keystore_in(folder)
                                                       : core::Path(options.keystore);
    const bool is_locked = std::filesystem::exists(locked);
    if (!is_locked && !std::filesystem::exists(plain)) {
      COMMENSAL_TRY(store::StateFolder::may_make_key(folder, locked));
    }
    COMMENSAL_ASSIGN(const keys::Password password,
                     get_password(options.password_file, !is_locked));
    core::SystemRng rng;
    return keys::open_or_make(plain, locked, password, rng);
  };
}

Result<crypto::SecretKey> read_key(const core::Path& file, const std::string& password_file) {
  COMMENSAL_ASSIGN(const core::Bytes text, core::read_file(file, limits::kKeyFileBytesMax));
  const bool is_locked = core::as_text(text).find('{') != std::string_view::npos;  // JSON
  if (!is_locked) return keys::read_plain_key(file);
  COMMENSAL_ASSIGN(const keys::Password password, get_password(password_file, false));
  return keys::unlock_file(file, password);
}

void SignerOptions::declare(CLI::App& app) {
  folder = state_folder("provider").string();
  app.add_option("--data-dir", folder, "Folder of the provider or auditor, for its key")
      ->capture_default_str();
  app.add_option("--keystore,--key", keystore,
                 "Key, locked or plain; default: keystore.json in the folder, if it is there");
  app.add_option("--password-file", password_file,
                 "Its first line unlocks the keystore; default: asked for on the terminal");
}

Result<crypto::SecretKey> SignerOptions::key() const {
  if (!keystore.empty()) return read_key(keystore, password_file);
  const core::Path locked = store::StateFolder::keystore_in(folder);
  const bool is_locked = std::filesystem::exists(locked);
  return read_key(is_locked ? locked : store::StateFolder::plain_key_in(folder), password_file);
}

Result<keys::Password> get_password(const std::string& file, bool is_new) {
  if (!file.empty()) return keys::read_password(file);
  const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return fail(ErrorCode::kFailedPrecondition,
                "no terminal to ask for the password: expected --password-file FILE");
  }
  const std::shared_ptr<void> closed(nullptr, [fd](void*) { ::close(fd); });
  COMMENSAL_ASSIGN(keys::Password password, ask(fd, is_new ? "New password: " : "Password: "));
  if (!is_new) return password;
  COMMENSAL_ASSIGN(const keys::Password again, ask(fd, "Once more: "));
  if (password == again) return password;
  return fail(ErrorCode::kInvalidArgument, "the passwords differ");
}

}  // namespace commensal::apps
