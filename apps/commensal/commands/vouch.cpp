// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/key_options.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct VouchArguments {
  std::string provider;
  std::string privacy_class;
  std::string until;
  std::string key;
  std::string password_file;
  std::string save;
  bool json = false;
};

Result<protocol::PrivacyStatement> statement_of(const VouchArguments& options) {
  protocol::PrivacyStatement statement;
  COMMENSAL_ASSIGN(statement.provider, crypto::address_from_text(options.provider));
  statement.privacy_class = options.privacy_class;
  COMMENSAL_TRY(statement.validity());
  COMMENSAL_ASSIGN(statement.valid_until_ms,
                   statement_end(options.until, core::SystemClock().wall_ms()));
  return statement;
}

Result<int> vouch(const VouchArguments& options) {
  COMMENSAL_ASSIGN(protocol::PrivacyStatement statement, statement_of(options));
  COMMENSAL_TRY(check_place(options.save, options.key));
  COMMENSAL_ASSIGN(const crypto::SecretKey key, read_key(options.key, options.password_file));
  statement = protocol::sign_statement(key, std::move(statement));
  COMMENSAL_TRY(core::write_file_atomically(options.save, protocol::encode(statement)));
  const std::string auditor = crypto::to_text(statement.auditor);
  const std::string provider = crypto::to_text(statement.provider);
  if (options.json) {
    fmt::print("{}\n", Json({{"auditor", auditor},
                             {"provider", provider},
                             {"class", statement.privacy_class},
                             {"until_ms", statement.valid_until_ms},
                             {"file", options.save}})
                           .dump());
  } else {
    fmt::print(
        "{}: auditor {} vouches for provider {}, class {}, until the end of {} (UTC)\n"
        "a gateway that is to believe it: --privacy-auditor {}={}\n",
        options.save, auditor, provider, statement.privacy_class, options.until,
        statement.privacy_class, auditor);
  }
  return 0;
}

}  // namespace

Run declare_vouch(CLI::App& app) {
  const auto options = std::make_shared<VouchArguments>();
  app.add_option("provider", options->provider, "Its address, 0x...")->required();
  app.add_option("--class", options->privacy_class,
                 "Of the data that it may see: 1 to 32 of a-z, 0-9 and -")
      ->required();
  app.add_option("--until", options->until,
                 fmt::format("The last day, as 2027-01-31 (UTC), at most {} days from now",
                             limits::kStatementDaysMax))
      ->required();
  app.add_option("--key", options->key,
                 "The auditor's: a keystore (as 'key new' makes one) or a plain key file")
      ->required();
  app.add_option("--password-file", options->password_file,
                 "Its first line unlocks the keystore; default: asked for on the terminal");
  app.add_option("--save", options->save,
                 "The file that the provider shows: a new one, or an older statement's")
      ->required();
  app.add_flag("--json", options->json, "Print what was signed as JSON");
  return [options] { return vouch(*options); };
}

}  // namespace commensal::apps
