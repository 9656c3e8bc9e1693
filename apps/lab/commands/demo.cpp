// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/common/command.hpp>
#include <apps/common/worker_options.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/lab/demo.hpp>
#include <commensal/lab/demo_host.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace commensal::apps {
namespace {

using core::Result;
using lab::DemoReport;
using Json = nlohmann::ordered_json;

struct DemoArguments {
  lab::DemoOptions demo;
  std::string folder;
  std::string model_folder;
  std::string json;
  lab::HostDemoOptions host;
};

/// Beside the program: where a checkout or an installation keeps the digit network.
Result<core::Path> find_model_folder(const std::string& asked) {
  if (!asked.empty()) return core::Path(asked);
  const core::Path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : {"../../models/digits", "../share/commensal/models/digits"}) {
    const core::Path folder = program / place;
    if (std::filesystem::exists(folder / "digits.onnx")) {
      return std::filesystem::canonical(folder);
    }
  }
  return core::fail(core::ErrorCode::kNotFound,
                    "models/digits is not beside the program; --model-folder names it");
}

Result<core::Path> make_folder(const std::string& asked) {
  if (!asked.empty()) return core::Path(asked);
  return core::make_temporary_folder("commensal-demo");
}

/// What hosts/ is built to, beside the program; empty where it is not.
core::Path find_host_program() {
  const core::Path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const core::Path host = program / "hosts/equihash";
  return std::filesystem::exists(host) ? host : core::Path();
}

/// The demo's amounts are small.
std::uint64_t number_of(const std::string& amount) {
  return amount.empty() ? 0 : std::stoull(amount);
}

Json balances_of(const lab::DemoMoney& money) {
  Json list = Json::array();
  for (const lab::DemoBalance& item : money.balances) {
    list.push_back({{"owner", item.owner},
                    {"account", item.account},
                    {"before", number_of(item.before)},
                    {"after", number_of(item.after)}});
  }
  return list;
}

Json json_of(const DemoReport& report) {
  Json providers = Json::array();
  for (const lab::DemoProvider& item : report.providers) {
    providers.push_back({{"name", item.name},
                         {"address", item.address},
                         {"honest", item.honest},
                         {"served", item.served},
                         {"audited", item.audited},
                         {"audits_failed", item.audits_failed},
                         {"banned", item.banned.empty() ? Json() : Json(item.banned)}});
  }
  return {{"requests", report.requests},
          {"accuracy", report.accuracy},
          {"correct", report.correct},
          {"seconds", report.seconds},
          {"requests_per_second", report.requests_per_second},
          {"receipts", report.receipts},
          {"audits", report.audits},
          {"audits_failed_honest", report.audits_failed_honest},
          {"answers_replaced", report.replaced},
          {"cheat",
           {{"caught", report.cheat_caught},
            {"at_receipt", report.cheat_caught ? Json(report.cheat_at_receipt) : Json()},
            {"receipt", report.cheat_caught ? Json(report.cheat_receipt) : Json()},
            {"slashed", report.money.cheat_slashed.low()},
            {"burnt", report.money.cheat_burnt.low()}}},
          {"auditor", {{"slashed", report.money.auditor_slashed.low()}}},
          {"price", number_of(report.money.price)},
          {"face_value", number_of(report.money.face_value)},
          {"tickets",
           {{"issued", report.money.tickets_issued},
            {"won", report.money.tickets_won},
            {"paid", report.money.tickets_paid},
            {"expected_value", number_of(report.money.tickets_expected)},
            {"value_won", number_of(report.money.tickets_value_won)}}},
          {"money_conserved", report.money.conserved},
          {"balances", balances_of(report.money)},
          {"providers", providers}};
}

std::string line_of(const lab::DemoProvider& item) {
  const char* state = item.banned.empty() ? "serving" : "caught, banned";
  return fmt::format("  {:<8} {} {:>4} answers {:>3} audited  {}", item.name, item.address,
                     item.served, item.audited, state);
}

/// On a terminal the view is redrawn in place; elsewhere only the events are printed.
class View {
 public:
  View() : redraws_(::isatty(STDOUT_FILENO) == 1) {}

  void show(const DemoReport& report) {
    if (!redraws_) return announce(report);
    std::string text =
        fmt::format("\033[2K{} of {} pictures answered, {} receipts, {} audits\n", report.requests,
                    report.requests_total, report.receipts, report.audits);
    for (const lab::DemoProvider& item : report.providers) {
      text += "\033[2K" + line_of(item) + "\n";
    }
    if (lines_ > 0) fmt::print("\033[{}A", lines_);
    fmt::print("{}", text);
    std::fflush(stdout);
    lines_ = static_cast<int>(report.providers.size()) + 1;
  }

 private:
  void announce(const DemoReport& report) {
    if (report.cheat_caught && !announced_) {
      announced_ = true;
      fmt::print("caught a cheat at receipt {} after {} pictures\n", report.cheat_at_receipt,
                 report.requests);
      std::fflush(stdout);
    }
  }

  bool redraws_;
  bool announced_ = false;
  int lines_ = 0;
};

void print_money(const lab::DemoMoney& money) {
  fmt::print(
      "\nA request costs {}, a winning ticket pays {}: {} tickets, {} won, worth {}, expected {}\n",
      money.price, money.face_value, money.tickets_issued, money.tickets_won,
      money.tickets_value_won, money.tickets_expected);
  for (const lab::DemoBalance& item : money.balances) {
    if (item.before == item.after) continue;
    fmt::print("  {:<9} {:<12} {:>9} -> {:>9}\n", item.owner, item.account, item.before,
               item.after);
  }
  if (money.cheat_slashed != protocol::Amount()) {
    fmt::print("mallory lost {}: {} burnt, the rest to the gateway that accused her\n",
               to_text(money.cheat_slashed), to_text(money.cheat_burnt));
  }
  if (money.auditor_slashed != protocol::Amount()) {
    fmt::print("trudy, an auditor who had confirmed her answers, lost {}\n",
               to_text(money.auditor_slashed));
  }
  fmt::print("not a unit was made or lost: {} ({} entries in the journal)\n",
             money.conserved ? "true" : "FALSE", money.journal_entries);
}

void print_report(const DemoReport& report, const lab::DemoOptions& options) {
  fmt::print("\n{} pictures read, {} right ({:.1f} %), {:.0f} requests/s, {} receipts\n",
             report.requests, report.correct, 100 * report.accuracy, report.requests_per_second,
             report.receipts);
  for (const lab::DemoProvider& item : report.providers) fmt::print("{}\n", line_of(item));
  fmt::print("{} audits by full re-execution; honest providers accused: {}\n", report.audits,
             report.audits_failed_honest);
  if (report.cheat_caught) {
    fmt::print(
        "mallory computed in bfloat16 and claimed she did not: caught at receipt {};\n"
        "{} answers of hers were computed again by the others\n",
        report.cheat_at_receipt, report.replaced);
  } else {
    fmt::print("mallory computed in bfloat16 and was not caught this time\n");
  }
  print_money(report.money);
  const std::string state = (options.folder / "gateway").string();
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "commensal").string();
  fmt::print(
      "\nCheck any answer yourself; it is re-executed here, from receipt, opening and model:\n");
  for (const std::string& id : {report.sample_receipt, report.cheat_receipt}) {
    if (!id.empty()) fmt::print("  {} audit {} --data-dir {}\n", program, id, state);
  }
}

Json maybe(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// Nothing where no host was measured.
Json json_of_host(const std::optional<lab::HostDemo>& seen) {
  const auto figure = [&](double lab::HostDemo::*field) {
    return seen ? Json((*seen).*field) : Json();
  };
  return {{"host",
           {{"kept", figure(&lab::HostDemo::kept)},
            {"kept_lower", figure(&lab::HostDemo::kept_lower)},
            {"is_shown", seen ? Json(seen->is_shown) : Json()},
            {"scatter", figure(&lab::HostDemo::scatter)},
            {"scatter_not_given", figure(&lab::HostDemo::not_given)},
            {"income_per_hour", seen ? maybe(seen->incomes.host) : Json()},
            {"loses_per_hour", seen ? maybe(seen->incomes.host_loses) : Json()},
            {"passes_per_s", figure(&lab::HostDemo::host_rate)},
            {"own_before_per_s", figure(&lab::HostDemo::own_before)},
            {"own_beside_per_s", figure(&lab::HostDemo::own_beside)},
            {"own_after_per_s", figure(&lab::HostDemo::own_after)},
            {"measured_s", figure(&lab::HostDemo::measured_s)}}},
          {"guest",
           {{"images_per_s", figure(&lab::HostDemo::images_per_s)},
            {"images_alone_per_s", figure(&lab::HostDemo::images_alone_per_s)},
            {"income_per_hour", seen ? maybe(seen->incomes.guests) : Json()},
            {"income_at_full_speed_per_hour", seen ? maybe(seen->incomes.guests_at_full) : Json()},
            {"images", seen ? Json(seen->images) : Json()},
            {"seconds", figure(&lab::HostDemo::guest_s)},
            {"cost_at_full_speed", figure(&lab::HostDemo::cost)}}}};
}

void print_incomes(const lab::HostDemo& seen) {
  const auto an_hour = [](const std::optional<double>& income) {
    return income ? fmt::format("{:.3g}", *income) : std::string("what is not known yet");
  };
  fmt::print(
      "if the host earned {} units an hour, guests at full speed would take {} of them; they "
      "earned "
      "{} an hour ({:.0f} a picture), at full speed they would {}\n",
      an_hour(seen.incomes.host), an_hour(seen.incomes.host_loses), an_hour(seen.incomes.guests),
      seen.price, an_hour(seen.incomes.guests_at_full));
}

void print_host(const lab::HostDemo& seen) {
  fmt::print(
      "an Equihash solver (1 thread, {:.0f} bucket passes/s alone) kept {:.2f} % of its rate over "
      "{:.0f} s (at 95 % at least {:.1f} %), as the governor measures; {}\n",
      seen.host_rate, 100 * seen.kept, seen.measured_s, 100 * seen.kept_lower,
      seen.is_shown
          ? fmt::format("that it lost no more than {:.2g} % is shown", 100 * seen.promise)
          : fmt::format("no more than {:.2g} % is not shown by that: its rate scatters by {:.1f} % "
                        "over 4 s, {:.1f} % in the time that other programs leave it",
                        100 * seen.promise, 100 * seen.scatter, 100 * seen.not_given));
  fmt::print(
      "beside it two providers read {:.1f} SqueezeNet pictures/s ({} in {:.0f} s), {:.0f} % of the "
      "{:.1f} that they read without it\n",
      seen.images_per_s, seen.images, seen.guest_s,
      100 * seen.images_per_s / std::max(seen.images_alone_per_s, 1e-9), seen.images_alone_per_s);
  fmt::print("by its own counter: {:.0f} passes/s alone, {:.0f} beside them, {:.0f} alone again\n",
             seen.own_before, seen.own_beside, seen.own_after);
  fmt::print(
      "a guest at full speed would cost it {:.1f} %; it may run {:.0f} % of the time now{}{}\n",
      100 * std::max(0.0, seen.cost), 100 * seen.budget,
      seen.guest_is_off.empty() ? "" : ", and stands still: ", seen.guest_is_off);
  print_incomes(seen);
}

/// Nothing where it cannot be shown; the rest of the demo stands by itself.
std::optional<lab::HostDemo> run_beside_host(const DemoArguments& options) {
  if (options.host.guest_s <= 0) return std::nullopt;
  lab::HostDemoOptions host = options.host;
  host.program = find_host_program();
  host.folder = options.demo.folder / "beside-host";
  fmt::print("\nBeside a host that must not lose one per cent:\n");
  if (host.program.empty()) {
    fmt::print(
        "  not shown: hosts/equihash is not beside the program (its target is "
        "hosts_equihash_program)\n");
    return std::nullopt;
  }
  const auto seen = lab::run_host_demo(host, [](const std::string& text) {
    fmt::print("  {}\n", text);
    std::fflush(stdout);
  });
  if (!seen) {
    fmt::print("  not shown: {}\n", seen.error().message);
    return std::nullopt;
  }
  print_host(*seen);
  return *seen;
}

/// Whether a file may be made there: before what takes minutes.
Result<void> check_place(const std::string& file) {
  if (file.empty()) return {};
  const core::Path folder =
      core::Path(file).has_parent_path() ? core::Path(file).parent_path() : ".";
  const bool is_folder = std::filesystem::is_directory(file);
  if (!is_folder && ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return core::fail(core::ErrorCode::kInvalidArgument, "cannot write '{}': {}", file,
                    is_folder ? "it is a folder" : std::strerror(errno));
}

Result<int> run(DemoArguments& options) {
  COMMENSAL_TRY(check_place(options.json));
  COMMENSAL_ASSIGN(options.demo.model_folder, find_model_folder(options.model_folder));
  COMMENSAL_ASSIGN(options.demo.folder, make_folder(options.folder));
  // As what is shipped by default: in processes of their own.
  options.demo.engines = [] { return WorkerOptions().engines({}); };
  options.host.engines = [](const graph::SessionOptions& session, guest::GuestProcess* guest) {
    return WorkerOptions().engines(session, guest);
  };
  View view;
  fmt::print("A gateway, three providers and an auditor on loopback; the state is in {}\n",
             options.demo.folder.string());
  std::fflush(stdout);
  COMMENSAL_ASSIGN(const DemoReport report,
                   lab::run_demo(options.demo, [&](const DemoReport& now) { view.show(now); }));
  print_report(report, options.demo);
  std::fflush(stdout);
  const std::optional<lab::HostDemo> beside = run_beside_host(options);
  if (!options.json.empty()) {
    Json all = json_of(report);
    all.update(json_of_host(beside));
    const std::string text = all.dump(2) + "\n";
    COMMENSAL_TRY(core::save_for_user(options.json, core::as_bytes(text)));
  }
  return 0;
}

}  // namespace

Run declare_demo(CLI::App& app) {
  const auto options = std::make_shared<DemoArguments>();
  app.add_option("--json", options->json, "Write the report to this file as well");
  app.add_option("--requests", options->demo.requests, "Pictures to send")
      ->check(CLI::Range(1, 400))
      ->capture_default_str();
  app.add_option("--audit-probability", options->demo.audit_probability,
                 "Share of the tickets that win; every winner is re-executed")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--host-seconds", options->host.guest_s,
                 "Beside a host, pictures are counted for so long; 0: without that part")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--data-dir", options->folder, "State of the demo (default: a new one in /tmp)");
  app.add_option("--model-folder", options->model_folder,
                 "Where digits.onnx and its pictures are (default: beside the program)");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
