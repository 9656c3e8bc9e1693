// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/host_options.hpp>
#include <charconv>
#include <commensal/collocation/probe/spec.hpp>
#include <filesystem>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;

CLI::Option* declare_share(CLI::App& app, const std::string& name, std::optional<double>& share,
                           const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &share](const std::string& text) {
            const auto read = share_from_text(text);
            if (!read) throw CLI::ValidationError(name, read.error().message);
            share = *read;
          },
          help)
      ->type_name("SHARE");
}

}  // namespace

core::Result<double> share_from_text(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest == "%") value /= 100;
  // Who writes 1 means a hundredth.
  const bool is_share = rest == "%" || (rest.empty() && value < 1);
  if (error == std::errc() && is_share && value > 0 && value <= 1) return value;
  return fail(ErrorCode::kInvalidArgument,
              "'{}' is no share such as 1% or 0.01, above 0, at most 100%", text);
}

void HostOptions::declare(CLI::App& app) {
  given_ = app.add_option(
      "--host", guest_.client.host,
      "What runs here and must not be disturbed: a probe such as "
      "xmrig:http://127.0.0.1:4067 or process:PID, or auto (commensal probe --help)");
  const auto of_a_host = [this](const CLI::Option* option) { of_a_host_.push_back(option); };
  of_a_host(app.add_option("--weight", guest_.client.guest.weight,
                           "Share of what the host leaves, beside this machine's guests")
                ->check(CLI::Range(1.0, guest::kWeightMax))
                ->capture_default_str());
  app.add_option("--guest-memory-max", guest_.memory_bytes_max,
                 "Memory that this guest may have, such as 4GiB; beyond it, it is ended")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  of_a_host(
      declare_share(app, "--host-loss-max", loss_max_,
                    "Of the host's work in an hour, what guests may cost it (default: 1%); of what "
                    "this machine's guests ask for, the strictest counts"));
  of_a_host(declare_share(app, "--host-loss-minute-max", loss_minute_max_,
                          "... and in any minute (default: 3%)"));
  of_a_host(
      app.add_option("--host-income-per-hour", guest_.client.host_income_per_hour,
                     "What the host earns, shown beside what guests earn; in the ledger's unit")
          ->check(CLI::NonNegativeNumber));
  of_a_host(app.add_flag("--show-host", shows_,
                         "Tell the gateway the host's rate, and what it earns where that is given: "
                         "its page shows both beside the guest's, to every account there"));
  of_a_host(declare_share(
      app, "--host-kept-min", kept_min_,
      "Income instead of a loss: guests run while they earn more than the host loses, "
      "which keeps at least so much of an hour's work, such as 90%"));
}

core::Result<guest::GuestProcessOptions> HostOptions::settle() const {
  if (host().empty() && given_ != nullptr && given_->count() > 0) {
    return fail(ErrorCode::kInvalidArgument,
                "--host '', expected KIND:WHERE such as xmrig:http://127.0.0.1:4067");
  }
  if (const auto spec = probe::parse_spec(host()); spec && spec->kind == "process") {
    std::error_code ignored;
    const bool is_number = spec->place.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) {
      return fail(ErrorCode::kInvalidArgument, "--host '{}', expected process:PID, a number",
                  host());
    }
    if (!std::filesystem::exists(core::Path("/proc") / spec->place, ignored)) {
      return fail(ErrorCode::kNotFound, "--host {}: there is no process {}", host(), spec->place);
    }
  }
  if (host().empty()) {
    for (const CLI::Option* option : of_a_host_) {
      if (option->count() == 0) continue;
      return fail(ErrorCode::kInvalidArgument, "{} is about a host: --host says which",
                  option->get_name());
    }
  }
  guest::GuestProcessOptions made = guest_;
  COMMENSAL_ASSIGN(made.client.guest.asked, asked());
  return made;
}

core::Result<std::optional<guest::Promise>> HostOptions::asked() const {
  const std::optional<double> income = guest_.client.host_income_per_hour;
  if (kept_min_ && loss_max_) {
    return fail(ErrorCode::kInvalidArgument,
                "--host-kept-min and --host-loss-max promise the same: one of them");
  }
  if (kept_min_ && income.value_or(0) <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                "--host-kept-min needs to know what the host earns: --host-income-per-hour");
  }
  if (kept_min_ == 1.0) {
    return fail(ErrorCode::kInvalidArgument, "--host-kept-min 1 leaves guests nothing: less");
  }
  if (!kept_min_ && !loss_max_ && !loss_minute_max_) return std::optional<guest::Promise>();
  const guest::Promise usual;
  const double hour = kept_min_ ? 1 - *kept_min_ : loss_max_.value_or(usual.hour);
  const double minute = loss_minute_max_.value_or(std::max(usual.minute, hour));
  if (minute < hour) {
    return fail(ErrorCode::kInvalidArgument,
                "--host-loss-minute-max {:.6g} is less than what an hour may lose, {:.6g}", minute,
                hour);
  }
  return guest::Promise{hour, minute, kept_min_ ? income : std::nullopt};
}

}  // namespace commensal::apps
