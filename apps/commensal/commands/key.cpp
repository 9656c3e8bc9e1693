// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/key_options.hpp>
#include <apps/common/action.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <commensal/trade/pay/keys/vault.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

struct KeyArguments {
  std::string action;
  std::string keystore;
  std::string password_file;
  std::string from;
  std::vector<std::string> hosts;
  bool check = false;
  bool json = false;
};

struct Shown {
  crypto::Address address;
  bool is_proved = false;  // unlocked, not just claimed by the file
  std::string pin = {};    // instead: of a certificate
};

Result<Shown> make(const KeyArguments& options) {
  if (std::filesystem::exists(options.keystore)) {  // before a password is asked for
    return fail(ErrorCode::kAlreadyExists, "'{}' is there already", options.keystore);
  }
  COMMENSAL_ASSIGN(const keys::Password password, get_password(options.password_file, true));
  core::SystemRng rng;
  const auto key = crypto::SecretKey::generate(rng);
  COMMENSAL_TRY(keys::lock_file(options.keystore, key, password, rng, keys::Cost::kStandard));
  return Shown{key.address(), true};
}

Result<Shown> show(const KeyArguments& options) {
  if (options.check) {
    COMMENSAL_ASSIGN(const keys::Password password, get_password(options.password_file, false));
    COMMENSAL_ASSIGN(const auto key, keys::unlock_file(options.keystore, password));
    return Shown{key.address(), true};
  }
  COMMENSAL_ASSIGN(const auto text, core::read_file(options.keystore, limits::kKeyFileBytesMax));
  COMMENSAL_ASSIGN(const auto address, keys::claimed_address(core::as_text(text)));
  if (address) return Shown{*address, false};
  return fail(ErrorCode::kNotFound, "'{}' does not say its address: expected --check",
              options.keystore);
}

Result<Shown> import_plain(const KeyArguments& options) {
  if (options.from.empty()) {
    return fail(ErrorCode::kInvalidArgument, "expected: key import KEYSTORE --from FILE");
  }
  const bool is_new = !std::filesystem::exists(options.keystore);
  COMMENSAL_ASSIGN(const keys::Password password, get_password(options.password_file, is_new));
  core::SystemRng rng;
  COMMENSAL_ASSIGN(const auto key, keys::migrate(options.from, options.keystore, password, rng,
                                                 keys::Cost::kStandard));
  return Shown{key.address(), true};
}

Result<Shown> make_certificate(const KeyArguments& options) {
  std::vector<std::string> hosts = options.hosts;
  if (hosts.empty()) hosts = {"localhost", "127.0.0.1", "::1"};
  COMMENSAL_ASSIGN(const tls::Pem pem, tls::make_certificate(hosts, core::SystemClock().wall_ms()));
  COMMENSAL_TRY(tls::Identity::write(options.keystore, pem));
  COMMENSAL_ASSIGN(const core::Digest hash, tls::key_hash(pem.certificate));
  return Shown{.address = {}, .is_proved = true, .pin = core::to_hex(hash)};
}

struct Action {
  std::string_view name;
  Result<Shown> (*run)(const KeyArguments& options);
};
constexpr Action kActions[] = {
    {"new", make}, {"show", show}, {"import", import_plain}, {"certificate", make_certificate}};

Result<int> key(const KeyArguments& options) {
  COMMENSAL_ASSIGN(const Action* const action, find_action<Action>(kActions, options.action));
  COMMENSAL_ASSIGN(const Shown shown, action->run(options));
  const std::string address = crypto::to_text(shown.address);
  if (!shown.pin.empty()) {
    fmt::print("{}\n", options.json ? Json({{"pin", shown.pin}}).dump() : shown.pin);
  } else if (options.json) {
    fmt::print("{}\n", Json({{"address", address}, {"proved", shown.is_proved}}).dump());
  } else {
    fmt::print("{}\n", address);
  }
  return 0;
}

}  // namespace

Run declare_key(CLI::App& app) {
  const auto options = std::make_shared<KeyArguments>();
  CLI::Option* const action =
      app.add_option(
             "action", options->action,
             "new: make a key; show: its address; import: move a plain key file (64 "
             "hexadecimal digits) into the keystore and remove it; certificate: make one that "
             "signs itself, tls-cert.pem and tls-key.pem, in the data folder of a daemon, which "
             "takes it at once, and print what consumers pin it by")
          ->required();
  offer_actions<Action>(*action, kActions);
  app.add_option("keystore", options->keystore,
                 "Web3 Secret Storage, version 3 (mode 0600); for certificate: the data folder")
      ->required();
  app.add_option("--from", options->from, "For import: the plain key file");
  app.add_option("--host", options->hosts,
                 "For certificate: names and IP addresses that it is for (default: loopback)");
  app.add_flag("--check", options->check, "For show: unlock it, rather than believe what it says");
  app.add_option("--password-file", options->password_file,
                 "Its first line is the password; default: asked for on the terminal");
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return key(*options); };
}

}  // namespace commensal::apps
