// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/money_options.hpp>
#include <cmath>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace commensal::apps {
namespace {

using protocol::Amount;
using Json = nlohmann::ordered_json;

constexpr const char* kTermsFile = "terms.json";
constexpr std::int64_t kRoundMsMax = 86'400'000;
constexpr double kWorthANoteS = 0.5;
constexpr std::uint64_t kTestRequests = 10'000;  // that an account gets the credit for

/// They are read once, when the ledger is founded.
void declare_rules(CLI::App& app, ledger::Config& rules) {
  const std::string group = "Rules of a new ledger (its first entry; they never change)";
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->capture_default_str()->group(group);
  };
  add("--withdrawal-delay-ms", rules.withdrawal_delay_ms, "Until locked money is free");
  add("--reveal-delay-ms", rules.reveal_delay_ms,
      "The gateway's time to answer a demand for a reveal");
  add("--absence-delay-ms", rules.absence_delay_ms,
      "A provider's, which may be switched off: then its silence costs a part of its stake");
  add("--audit-delay-ms", rules.audit_delay_ms, "Then a winner is paid without a verdict");
  add("--opening-rounds", rules.opening_rounds, "Rounds that a winner has to be opened in");
  add("--pattern-mismatches", rules.pattern_mismatches,
      "From so many on mismatches cost all, whatever the record");
  const auto amount = [&](const char* name, Amount& value, const char* help) {
    add_amount(app, name, value, help)->group(group);
  };
  amount("--auditor-fee", rules.auditor_fee, "For a verdict");
  amount("--auditor-bounty", rules.auditor_bounty, "For a verdict that costs a stake");
  amount("--auditor-stake", rules.auditor_stake,
         "That answers for an outside auditor's report; wisely no less than --stake-min");
  amount("--accusation-bond", rules.accusation_bond, "Lost where an accusation fails");
  amount("--penalty", rules.penalty, "The least of any offence");
  amount("--credit-cap", rules.credit_cap, "Free credit, granted and in the pool");
}

std::string text_of(const Amount& amount) { return to_text(amount); }
template <class Number>
std::string text_of(Number number) {
  return fmt::format("{}", number);
}

/// By their options, in one order.
std::vector<std::pair<std::string, std::string>> rules_of(const ledger::Config& rules) {
  return {{"--withdrawal-delay-ms", text_of(rules.withdrawal_delay_ms)},
          {"--reveal-delay-ms", text_of(rules.reveal_delay_ms)},
          {"--absence-delay-ms", text_of(rules.absence_delay_ms)},
          {"--audit-delay-ms", text_of(rules.audit_delay_ms)},
          {"--opening-rounds", text_of(rules.opening_rounds)},
          {"--pattern-mismatches", text_of(rules.pattern_mismatches)},
          {"--auditor-fee", text_of(rules.auditor_fee)},
          {"--auditor-bounty", text_of(rules.auditor_bounty)},
          {"--auditor-stake", text_of(rules.auditor_stake)},
          {"--accusation-bond", text_of(rules.accusation_bond)},
          {"--penalty", text_of(rules.penalty)},
          {"--credit-cap", text_of(rules.credit_cap)}};
}

/// What the folder was run by last; nothing where it is new.
core::Result<std::optional<gateway::MoneyConfig>> recall_terms(const core::Path& folder) {
  const core::Path file = folder / kTermsFile;
  if (!std::filesystem::exists(file)) return std::nullopt;
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file, limits::kHttpSmallBodyBytesMax));
  const Json terms = Json::parse(bytes, nullptr, false);
  const auto amount = [&](const char* name) {
    const bool is_text = terms.is_object() && terms.contains(name) && terms[name].is_string();
    return protocol::amount_from_text(is_text ? terms[name].get<std::string>() : "");
  };
  const auto member = [&](const char* name) {
    return terms.is_object() ? terms.value(name, Json()) : Json();
  };
  const auto face = amount("face_value"), price = amount("price"), stake = amount("stake_min");
  const Json chance = member("win_probability"), round = member("round_ms");
  const bool is_whole = face && price && stake && chance.is_number() && chance >= 0 &&
                        chance <= 1 && round.is_number_integer() && round >= 1 &&
                        round <= kRoundMsMax;
  if (!is_whole) {
    return core::fail(core::ErrorCode::kDataLoss, "'{}' is broken: remove it and give the flags",
                      file.string());
  }
  gateway::MoneyConfig money;
  money.face_value = *face;
  money.price = *price;
  money.stake_min = *stake;
  money.win_probability = chance;
  money.round_ms = round;
  // A folder of an older program lacks these: nothing is booked there that nobody asked for.
  money.escrow = amount("escrow").value_or(Amount());
  money.penalty_escrow = amount("penalty_escrow").value_or(Amount());
  money.test.is_so = member("test_money") == true;
  return money;
}

/// What making a hash chain means, measured; "" where nobody would notice.
std::string words_of_chain(int depth, const core::Clock& clock) {
  constexpr std::uint64_t kTried = 1 << 15;
  const std::int64_t begin_ns = clock.monotonic_ns();
  std::ignore = beacon::hash_back({}, kTried);
  const double each_s = 1e-9 * static_cast<double>(clock.monotonic_ns() - begin_ns) / kTried;
  const double all_s = each_s * std::ldexp(1.0, depth);
  if (all_s < kWorthANoteS) return "";
  return fmt::format("a hash chain of 2^{} values: about {:.0f} s", depth, all_s);
}

bool is_on(const gateway::MoneyConfig& money) { return money.face_value != Amount(); }

/// Without money none of the terms means anything.
core::Result<std::string> settle_none(const CLI::App& app, bool is_kept,
                                      gateway::MoneyConfig& money) {
  const auto given = [&app](const char* name) { return app.get_option(name)->count() > 0; };
  const auto needs_money = [](const char* name) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "{} needs --face-value: without it there is no money here", name);
  };
  for (const char* name : {"--price", "--stake-min", "--win-probability", "--round-ms"}) {
    if (given(name)) return needs_money(name);
  }
  if (given("--escrow") && money.escrow != Amount()) return needs_money("--escrow");
  if (given("--penalty-escrow") && money.penalty_escrow != Amount()) {
    return needs_money("--penalty-escrow");
  }
  if (given("--test-money") && money.test.is_granted) return needs_money("--test-money");
  gateway::MoneyConfig none;
  none.rules = money.rules;
  none.hash_chain_depth = money.hash_chain_depth;
  none.tickets_max = money.tickets_max;
  none.checkpoint_entries = money.checkpoint_entries;
  money = none;
  return is_kept ? "as at the last start: --no-money" : "";
}

/// What was not given is as it was. Returns what that is.
std::string take_terms(const CLI::App& app, const gateway::MoneyConfig& kept,
                       gateway::MoneyConfig& money) {
  const gateway::MoneyConfig usual;
  std::string taken;
  const auto take = [&](const char* name, auto gateway::MoneyConfig::*term) {
    if (app.get_option(name)->count() > 0) return;
    money.*term = kept.*term;
    if (kept.*term == usual.*term) return;
    taken += fmt::format("{}{} {}", taken.empty() ? "" : ", ", name, text_of(kept.*term));
  };
  take("--face-value", &gateway::MoneyConfig::face_value);
  take("--price", &gateway::MoneyConfig::price);
  take("--stake-min", &gateway::MoneyConfig::stake_min);
  take("--win-probability", &gateway::MoneyConfig::win_probability);
  take("--round-ms", &gateway::MoneyConfig::round_ms);
  take("--escrow", &gateway::MoneyConfig::escrow);
  take("--penalty-escrow", &gateway::MoneyConfig::penalty_escrow);
  return taken.empty() ? "" : "as at the last start: " + taken;
}

/// A ledger that was run with other money holds somebody's: a gateway on loopback may have the
/// world before it, behind a proxy.
core::Result<void> settle_test_money(const CLI::App& app, bool is_local,
                                     const std::optional<gateway::MoneyConfig>& kept,
                                     gateway::MoneyConfig& money) {
  gateway::TestMoneyTerms& test = money.test;
  const bool is_told = app.get_option("--test-money")->count() > 0;
  const bool was_test = kept && kept->test.is_so;
  if (is_told && test.is_granted && kept && is_on(*kept) && !was_test) {
    return core::fail(core::ErrorCode::kFailedPrecondition,
                      "--test-money: what is in this folder's ledger is no test money; name "
                      "another --data-dir");
  }
  if (!is_told) test.is_granted = is_local && (!kept || was_test);
  test.is_so = test.is_granted || was_test;
  const bool is_short = test.is_granted && app.get_option("--hash-chain-depth")->count() == 0;
  if (is_short) money.hash_chain_depth = kLocalChainDepth;
  COMMENSAL_ASSIGN(test.credit, money.price.times(Amount(kTestRequests)));
  if (!test.is_granted || app.get_option("--credit-cap")->count() > 0) return {};
  COMMENSAL_ASSIGN(const Amount all, test.credit.times(Amount(limits::kTestCreditsMax)));
  money.rules.credit_cap = std::max(money.rules.credit_cap, all);
  return {};
}

}  // namespace

CLI::Option* add_amount(CLI::App& app, const std::string& name, Amount& amount,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&amount, name](const std::string& text) {
            const auto read = protocol::amount_from_text(text);
            if (!read) throw CLI::ValidationError(name, read.error().message);
            amount = *read;
          },
          help)
      ->type_name("UNITS")
      ->default_str(to_text(amount));
}

void declare_money(CLI::App& app, gateway::MoneyConfig& money) {
  money.price = Amount(12'000);
  money.face_value = Amount(100'000);
  money.win_probability = 0.1;
  money.stake_min = Amount(1'000'000);
  money.escrow = Amount(200'000'000);
  CLI::Option* const face = add_amount(
      app, "--face-value", money.face_value,
      "What a winning ticket pays its provider; 0: no money at all. Each winner is re-executed");
  app.add_flag("--no-money")
      ->description(
          "Nothing costs or earns anything, and who cheats loses no stake; as "
          "--face-value 0")
      ->excludes(face);
  app.add_flag("--test-money,!--no-test-money", money.test.is_granted,
               "Accounts and providers that are new get what they need to try this gateway "
               "(default: where both ports are on loopback and the folder is new, or was so)");
  add_amount(app, "--price", money.price, "What a request costs its account");
  add_amount(app, "--stake-min", money.stake_min, "A provider that has less at stake gets no work");
  add_amount(app, "--escrow", money.escrow,
             "Kept for winning tickets: at the start what the gateway lacks is booked as a deposit "
             "of its own, then as much as it earns goes there");
  add_amount(app, "--penalty-escrow", money.penalty_escrow,
             "Likewise, for what the gateway may have to answer for")
      ->default_str("2 x --escrow");
  app.add_option("--win-probability", money.win_probability, "Share of the tickets that win")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--round-ms", money.round_ms, "Tickets are drawn so often, while some wait")
      ->check(CLI::Range(std::int64_t{1}, kRoundMsMax))
      ->capture_default_str();
  app.add_option("--hash-chain-depth", money.hash_chain_depth,
                 "A new gateway's hash chain is of 2^DEPTH rounds, and hashes (22 with test money)")
      ->check(CLI::Range(1, limits::kHashChainDepthMax))
      ->capture_default_str();
  app.add_option("--tickets", money.tickets_max, "Tickets that are kept, drawn or not")
      ->check(CLI::Range(std::size_t{64}, std::size_t{1} << 24))
      ->capture_default_str();
  app.add_option("--journal-entries", money.checkpoint_entries,
                 "The ledger's journal is cut at a checkpoint after so many entries; the last but "
                 "one is kept too")
      ->check(CLI::Range(std::uint64_t{64}, std::uint64_t{1} << 32))
      ->capture_default_str();
  declare_rules(app, money.rules);
}

void declare_purse(CLI::App& app, provider::PurseConfig& purse) {
  purse.wants_penalty_cover = true;
  purse.stake = Amount(1'000'000);
  add_amount(app, "--stake", purse.stake,
             "Locked as soon as the gateway's ledger has so much for this provider, or what the "
             "gateway asks for; 0: nothing is");
  app.add_option("--tickets", purse.tickets_max,
                 "Tickets that are kept; at the limit there is no new work")
      ->check(CLI::Range(std::size_t{64}, std::size_t{1} << 24))
      ->capture_default_str();
  add_amount(app, "--pay-min", purse.pay_min,
             "Jobs whose ticket is worth less, before its draw, are refused");
  app.add_flag("--accept-uncovered", purse.accepts_uncovered,
               "Work also where the gateway's escrow does not cover what its tickets may win, or "
               "its penalty escrow not twice that: who wins first is paid then");
  app.add_option("--patience-ms", purse.reveal_ms_max,
                 "A gateway that does not draw a ticket for so long is asked to, in its ledger; "
                 "then the ticket's worth and a penalty are claimed")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{30} * 86'400'000))
      ->capture_default_str();
  app.add_option_function<double>(
         "--sell-winners",
         [&purse](double share) {
           purse.sell_pm = static_cast<std::uint32_t>(std::lround(1000 * share));
         },
         "Each open winner is for sale at this share of its face value, from 0 (none) to 1, by "
         "thousandths")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--hash-chain-depth", purse.hash_chain_depth,
                 "The hash chain for a new gateway lasts 2^DEPTH rounds (22 on loopback)")
      ->check(CLI::Range(1, limits::kHashChainDepthMax))
      ->capture_default_str();
}

std::string hash_chain_note(const core::Path& folder, const gateway::MoneyConfig& money,
                            const core::Clock& clock) {
  const auto kept = recall_terms(folder);
  if (!is_on(money) || (kept && *kept && is_on(**kept))) return "";
  const std::string work = words_of_chain(money.hash_chain_depth, clock);
  return work.empty() ? "" : "the first start makes " + work;
}

std::string hash_chain_note(const core::Path& folder, const provider::PurseConfig& purse,
                            const core::Clock& clock) {
  if (std::filesystem::exists(folder)) return "";
  const std::string work = words_of_chain(purse.hash_chain_depth, clock);
  return work.empty() ? "" : "for a gateway with money the first start makes " + work;
}

core::Result<void> remember_terms(const core::Path& folder, const gateway::MoneyConfig& money) {
  const Json terms = {{"face_value", to_text(money.face_value)},
                      {"price", to_text(money.price)},
                      {"stake_min", to_text(money.stake_min)},
                      {"win_probability", money.win_probability},
                      {"round_ms", money.round_ms},
                      {"escrow", to_text(money.escrow)},
                      {"penalty_escrow", to_text(money.penalty_escrow)},
                      {"test_money", money.test.is_so}};
  return core::write_file_atomically(folder / kTermsFile, core::as_bytes(terms.dump(2) + "\n"));
}

core::Result<std::string> settle_terms(const CLI::App& app, const core::Path& folder, bool is_local,
                                       gateway::MoneyConfig& money) {
  COMMENSAL_ASSIGN(const auto kept, recall_terms(folder));
  const bool is_face_given = app.get_option("--face-value")->count() > 0;
  const bool was_off = kept && !is_on(*kept);
  const bool is_told_off = app.get_option("--no-money")->count() > 0 || !is_on(money);
  if (is_told_off || (was_off && !is_face_given)) {
    auto note = settle_none(app, !is_told_off, money);
    money.test.is_so = kept && kept->test.is_so;
    return note;
  }
  std::string note;
  if (kept && !was_off) {
    note = take_terms(app, *kept, money);
  } else if (app.get_option("--penalty-escrow")->count() == 0) {
    COMMENSAL_ASSIGN(money.penalty_escrow, money.escrow.times(Amount(2)));
  }
  COMMENSAL_TRY(settle_test_money(app, is_local, kept, money));
  return note;
}

core::Result<void> check_rules(const CLI::App& app, const ledger::Config& asked,
                               const ledger::Config& kept) {
  const auto before = rules_of(kept);
  const auto now = rules_of(asked);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto& [name, value] = now[i];
    if (app.get_option(name)->count() == 0 || value == before[i].second) continue;
    return core::fail(core::ErrorCode::kFailedPrecondition,
                      "{} {}: this ledger was made with {}, and its rules never change", name,
                      value, before[i].second);
  }
  return {};
}

std::string words_about(const gateway::MoneyConfig& money, double audit_floor) {
  if (!is_on(money)) {
    return fmt::format(
        "no money: a provider that is caught loses nothing but its key, {:.3g} % of the answers "
        "are audited, requests cost nothing; --face-value 100000 changes that",
        100 * audit_floor);
  }
  if (money.test.is_granted) {
    return fmt::format(
        "test money, which nobody has paid for: a new account gets {} of credit ({} requests), a "
        "new provider what it lacks of a stake of {}; --no-test-money: nobody gets any",
        to_text(money.test.credit), kTestRequests, to_text(money.stake_min));
  }
  if (!money.test.is_so) return "";
  return "what is in this ledger is test money, and nobody gets more; for other money name another "
         "--data-dir";
}

std::vector<std::string> doubts_about(const gateway::MoneyConfig& money, const Amount& escrow,
                                      const Amount& penalty_escrow) {
  const auto threshold = ticket::threshold_of(money.win_probability);
  const auto won = money.face_value.plus(money.rules.auditor_fee);
  if (!threshold || !won || !is_on(money)) return {};
  std::vector<std::string> doubts;
  const Amount cost = ticket::expected_value(*won, *threshold);
  if (money.price < cost) {
    doubts.push_back(
        fmt::format("a request costs {} and its ticket, with the auditor's fee, {} on average: the "
                    "gateway pays "
                    "the difference",
                    to_text(money.price), to_text(cost)));
  }
  if (escrow < *won) {
    doubts.push_back(fmt::format(
        "nobody can be served: the escrow has {}, and one winning ticket takes {}; start with "
        "--escrow UNITS, or use `account deposit @gateway` and `account lock escrow`",
        to_text(escrow), to_text(*won)));
  }
  if (const auto both = won->times(Amount(2)); !both || penalty_escrow < *both) {
    doubts.push_back(fmt::format(
        "providers take no work unless they are told to: the penalty escrow has {}, which does not "
        "cover one winning ticket twice; start with --penalty-escrow UNITS",
        to_text(penalty_escrow)));
  }
  return doubts;
}

}  // namespace commensal::apps
