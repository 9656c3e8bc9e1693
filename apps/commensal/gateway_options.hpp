// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <string>

/// Options of `commensal gateway` that belong together: each function declares some, which set what
/// it is given, as long as `app` lives.
namespace commensal::apps {

void declare_encryption(CLI::App& app, daemon::GatewayDaemonConfig& daemon);
void declare_serving(CLI::App& app, oip::Options& serving);
/// `folder`: "" where there is none.
void declare_page(CLI::App& app, core::Path& folder);
void declare_signup(CLI::App& app, gateway::GatewayConfig& gateway);
/// `metrics`: IP:PORT, as typed.
void declare_observation(CLI::App& app, std::string& metrics, observe::Options& observe);
void declare_quotas(CLI::App& app, gateway::QuotaConfig& quotas);

}  // namespace commensal::apps
