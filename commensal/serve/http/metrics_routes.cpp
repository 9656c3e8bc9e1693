// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/api.hpp>

namespace commensal::http {

namespace {

/// What the loop knows is asked there, in one short turn; it is written elsewhere.
void metrics(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, line, reply = std::move(reply)] {
    const gateway::Load load = services.gateway.load();
    services.lists->post(line, [&services, load, reply] {
      core::MemoryBudget& memory = services.gateway.quotas().memory();
      Response response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.text =
          services.serving.observer.metrics({.providers_connected = load.providers_connected,
                                             .jobs_waiting = load.jobs_waiting,
                                             .jobs_running = load.jobs_running,
                                             .memory_held_bytes = memory.held(),
                                             .memory_max_bytes = memory.bounds().bytes_max});
      reply(std::move(response));
    });
  });
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/metrics", Auth::kOperator, Scope::kMetrics, kSmall, metrics}};
constexpr Route kOpenRoutes[] = {{"GET", "/metrics", Auth::kNone, Scope::kAny, kSmall, metrics}};

}  // namespace

std::span<const Route> metrics_routes() { return kRoutes; }
std::span<const Route> open_metrics_routes() { return kOpenRoutes; }

}  // namespace commensal::http
