// SPDX-License-Identifier: Apache-2.0
#include <apps/common/log.hpp>
#include <apps/common/worker_options.hpp>
#include <commensal/serve/worker/inside.hpp>

namespace commensal::apps {

void WorkerOptions::declare(CLI::App& app) {
  app.add_option("--worker", where,
                 "Where models run: each in a process of its own that can do nothing else, or in "
                 "threads of this one, with its rights")
      ->check(CLI::IsMember({"process", "thread"}))
      ->capture_default_str();
}

std::unique_ptr<rollout::EngineFactory> WorkerOptions::engines(
    graph::SessionOptions session, guest::GuestProcess* guest,
    std::map<core::Digest, worker::Fit> fits) const {
  guest::DutyPacer* const pacer = guest == nullptr ? nullptr : guest->pacer();
  const auto ready_thread = [guest] {
    if (guest != nullptr) guest->ready_thread();
  };
  if (where == "thread") {
    session.pacer = pacer;
    return std::make_unique<rollout::SessionEngineFactory>(session, ready_thread);
  }
  worker::ProcessOptions options{.session = std::move(session), .ready_thread = ready_thread};
  options.say = [](const std::string& line) { say(line); };
  options.fits = std::move(fits);
  if (pacer != nullptr) {
    options.pace = pacer->memory();
    options.is_held = [pacer] { return pacer->level() <= 0; };
    options.tell_rest = [pacer](bool rests) { pacer->tell_rest(rests); };
  }
  return std::make_unique<worker::ProcessEngineFactory>(std::move(options));
}

bool is_worker(int argc, char** argv) { return argc == 2 && argv[1] == worker::kWorkerWord; }

int run_worker() { return worker::work({.pacer = guest::follow_pace, .engine = {}}); }

}  // namespace commensal::apps
