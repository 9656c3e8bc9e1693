// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/cases.hpp>
#include <apps/commensal/evidence.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/log.hpp>
#include <apps/common/service.hpp>
#include <apps/common/worker_options.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/serve/cases/accusation.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using arbiter::Side;
using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kPauseMs = 200;  // where it is not its turn
constexpr int kAcquitted = 2;

struct AccuseArguments {
  std::string receipt;
  std::string key;
  std::string password_file;
  Connection connection;
  WorkerOptions worker;
  bool json = false;
};

/// The case that `key` has brought about this receipt; null: none. Error: kAlreadyExists where
/// another has ended in a conviction.
Result<Json> own_case(client::Client& client, const core::Digest& receipt,
                      const crypto::SecretKey& key) {
  const auto all = cases_of(client, receipt);
  if (!all && all.error().code == ErrorCode::kNotFound) return Json();
  if (!all) return tl::unexpected(all.error());
  bool is_convicted = false;
  for (const Json& one : all->value("cases", Json::array())) {
    if (text_in(one, "accuser") == crypto::to_text(key.address())) return one;
    is_convicted = is_convicted || text_in(one, "status") == "convicted";
  }
  if (!is_convicted) return Json();
  return fail(ErrorCode::kAlreadyExists,
              "its provider was convicted of this answer already: commensal case show {}",
              core::to_hex(receipt));
}

/// An accusation that is not right costs its bond: that this one is.
Result<void> check_wrong(const Evidence& evidence) {
  const auto passed = [](std::string_view) {};
  COMMENSAL_ASSIGN(
      const receipt::Recheck found,
      receipt::recheck(evidence.receipt, evidence.opening, evidence.model, {}, passed));
  if (found.matches()) {
    return fail(ErrorCode::kFailedPrecondition,
                "the answer is right, to the last bit: an accusation would cost its bond");
  }
  if (!cases::is_refused(evidence.receipt, evidence.opening, found.recomputed)) return {};
  return fail(ErrorCode::kUnsupported,
              "the model refuses these inputs: no dispute about that can be played");
}

/// In one clear line, before the ledger says it in its words.
Result<void> check_bond(client::Client& client, const std::string& address, const Json& now) {
  COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/ledger"));
  COMMENSAL_ASSIGN(const Json ledger, parse_answer(text));
  const Json rules = ledger.value("rules", Json::object());
  const auto bond = protocol::amount_from_text(text_in(rules, "accusation_bond"));
  const std::string has = text_in(now.value("balances", Json::object()), "available");
  const auto available = protocol::amount_from_text(has.empty() ? "0" : has);
  if (!bond || !available) {
    return fail(ErrorCode::kDataLoss, "the gateway's ledger says no amounts");
  }
  if (!(*available < *bond)) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "an accusation needs a bond of {}, and {} has {}: have the operator book a deposit "
              "for it",
              protocol::to_text(*bond), address, protocol::to_text(*available));
}

/// Says what this side owes until the case is over or only auditors can end it; none: a signal came
/// before.
Result<std::optional<Json>> argue(client::Client& client, Litigant& litigant,
                                  const core::Digest& receipt, const crypto::SecretKey& key,
                                  const Evidence& evidence) {
  std::optional<Json> last;
  std::string last_error;
  const auto turn = [&]() -> Result<bool> {
    COMMENSAL_ASSIGN(Json now, own_case(client, receipt, key));
    const std::string status = text_in(now, "status");
    if (status != "accused" && status != "contested") {
      last = std::move(now);
      return false;
    }
    COMMENSAL_ASSIGN(const auto brief, litigant.next(receipt));
    if (!brief) return true;
    COMMENSAL_ASSIGN(const std::string said,
                     litigant.answer(*brief, Side::kChallenger, evidence.opening.task));
    say(fmt::format("{}: {}", status, said));
    return true;
  };
  wait_for_signal(kPauseMs, [&] {
    const auto goes_on = turn();
    // A gateway that is away, or takes no more of one sender now, may be back.
    const std::string error = goes_on ? "" : goes_on.error().message;
    if (error != last_error && !error.empty()) say(error);
    last_error = error;
    return !goes_on || *goes_on;
  });
  return last;
}

Result<int> accuse(const AccuseArguments& options) {
  hold_signals();
  const auto id = core::digest_from_hex(options.receipt);
  if (!id) {
    return fail(ErrorCode::kInvalidArgument, "a receipt's id has 64 hexadecimal digits, found '{}'",
                options.receipt);
  }
  COMMENSAL_ASSIGN(const crypto::SecretKey key, read_key(options.key, options.password_file));
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("commensal-accuse"));
  Litigant litigant(client, folder.path(), key, options.worker.engines({}));
  COMMENSAL_ASSIGN(const auto info, client.receipt(*id));
  COMMENSAL_ASSIGN(const core::Path model,
                   litigant.model_file(info.model, info.version, info.model_content));
  COMMENSAL_ASSIGN(const Evidence evidence, fetch_evidence(client, *id, model.string()));
  COMMENSAL_ASSIGN(const Json begun, own_case(client, *id, key));
  if (begun.is_null()) {
    COMMENSAL_TRY(check_wrong(evidence));
    const std::string address = crypto::to_text(key.address());
    COMMENSAL_ASSIGN(const Json now, balances_of(client, address));
    COMMENSAL_TRY(check_bond(client, address, now));
    COMMENSAL_ASSIGN(const cases::Grounds grounds, cases::grounds_of(evidence.opening));
    COMMENSAL_TRY(send_transaction(
        client, key, now, cases::accusation_of(evidence.receipt, evidence.opening, grounds)));
    say("accused: its provider has a day or so to answer; after Ctrl-C the same command goes on");
  }
  COMMENSAL_ASSIGN(const auto ended, argue(client, litigant, *id, key, evidence));
  if (!ended) {
    say("the case goes on: the same command again answers in it, silence would lose the bond");
    return 0;
  }
  if (options.json) {
    fmt::print("{}\n", ended->dump(2));
  } else {
    print_case(*ended);
  }
  return text_in(*ended, "status") == "acquitted" ? kAcquitted : 0;
}

}  // namespace

Run declare_accuse(CLI::App& app) {
  const auto options = std::make_shared<AccuseArguments>();
  app.add_option("receipt", options->receipt, "Of the answer that is wrong")->required();
  app.add_option("--key", options->key,
                 "Whose money is the bond: a keystore (as 'key new' makes one) or a plain key file")
      ->required();
  app.add_option("--password-file", options->password_file,
                 "Its first line unlocks the keystore; default: asked for on the terminal");
  options->connection.declare(app);
  options->worker.declare(app);
  app.add_flag("--json", options->json, "Print how it ended as JSON");
  return [options] { return accuse(*options); };
}

}  // namespace commensal::apps
