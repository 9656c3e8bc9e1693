// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/gateway_options.hpp>
#include <apps/common/log.hpp>

namespace commensal::apps {
namespace {

constexpr std::int64_t kMemoryMin = std::int64_t{4} << 20;  // a quarter takes a picture

}  // namespace

void declare_encryption(CLI::App& app, daemon::GatewayDaemonConfig& daemon) {
  const auto set = [&daemon](tls::Encryption to) {
    return [&daemon, to](std::int64_t) { daemon.encryption = to; };
  };
  CLI::Option* const always =
      app.add_flag_function("--tls", set(tls::Encryption::kAlways),
                            "TLS on loopback too; beyond it ports speak TLS anyway, with a "
                            "certificate that signs itself, "
                            "made and kept in the data folder, unless another is given");
  CLI::Option* const certificate =
      app.add_option(
             "--tls-cert", daemon.tls_certificate,
             "Certificate, or chain with the own one first (PEM), for every port, on loopback too; "
             "read again when it changes")
          ->check(CLI::ExistingFile);
  CLI::Option* const key = app.add_option("--tls-key", daemon.tls_key, "Its private key (PEM)")
                               ->check(CLI::ExistingFile);
  certificate->needs(key);
  key->needs(certificate);
  app.add_flag_function("--plain", set(tls::Encryption::kNever),
                        "No TLS, beyond loopback neither: everybody on the way reads and changes "
                        "what is sent, tokens included")
      ->excludes(always)
      ->excludes(certificate);
}

void declare_serving(CLI::App& app, oip::Options& serving) {
  app.add_option(
         "--server-name", serving.server_name,
         "Name in the Open Inference Protocol's metadata (Triton's clients expect 'triton')")
      ->capture_default_str();
  app.add_option("--anonymous", serving.anonymous,
                 "Account (a consumer's) of who shows no token: it pays for what they infer, and "
                 "they may do nothing else");
  app.add_flag("--shared-memory", serving.system_memory,
               "Clients on this host may pass tensors in POSIX shared memory: they name it, and "
               "the gateway opens it as its own user");
}

void declare_page(CLI::App& app, core::Path& folder) {
  std::error_code error;
  const core::Path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const core::Path installed = program.parent_path().parent_path() / "share/commensal/page";
  if (!error && std::filesystem::is_directory(installed, error)) folder = installed;
  app.add_option_function<std::string>(
         "--page", [&folder](const std::string& text) { folder = text == "off" ? "" : text; },
         "Folder of the page that browsers are shown at /, as scripts/build-page makes it; off: "
         "none. Default: ../share/commensal/page beside the program, if it is there")
      ->type_name("FOLDER");
}

void declare_signup(CLI::App& app, gateway::GatewayConfig& gateway) {
  app.add_option_function<std::string>(
      "--open-signup",
      [&gateway](const std::string& text) {
        const auto credit = protocol::amount_from_text(text);
        if (!credit)
          throw CLI::ValidationError("--open-signup", fmt::format("'{}', expected units", text));
        gateway.open_signup = *credit;
      },
      "Whoever reaches the gateway may make an account, with so much test money (0: none); four "
      "at once, one a minute and 32 a day of each network");
  app.add_option("--open-signups-max", gateway.open_signups_max,
                 "With --open-signup: accounts that were made so, and are there")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

void declare_observation(CLI::App& app, std::string& metrics, observe::Options& observe) {
  app.add_option("--metrics", metrics,
                 "IP:PORT where GET /metrics is for everybody who reaches it, without a token, for "
                 "Prometheus; operators have it at --http anyway");
  app.add_flag("--triton-metrics", observe.triton_metrics,
               "Metrics under the names of Triton's server too (nv_inference_...)");
  app.add_flag_callback(
      "--log-requests", [&observe] { observe.log = say_as_is; },
      "A line of JSON on stderr for each inference");
}

void declare_quotas(CLI::App& app, gateway::QuotaConfig& quotas) {
  app.add_option("--account-requests", quotas.requests_per_s,
                 "Requests a second of one account, on average")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_option("--account-models", quotas.models.models_max,
                 "Models of one account, deleted ones included")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--account-disk", quotas.models.bytes_max,
                 "Bytes of one account's models, deleted ones included, and of its rollouts' "
                 "states, of which the oldest rollouts that are over give way")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--account-rollouts", quotas.rollouts_max, "Running rollouts of one account")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--memory", quotas.memory_bytes_max,
                 "Bytes of requests, and of answers until they are read; a quarter for one account")
      ->check(CLI::Range(kMemoryMin, std::int64_t{1} << 50))
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

}  // namespace commensal::apps
