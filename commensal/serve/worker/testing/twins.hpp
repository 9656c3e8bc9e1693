// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/worker/process_engine.hpp>

/// Both twins of the engines' factory: for tests only.
namespace commensal::worker::testing {

struct InThread {
  static std::unique_ptr<rollout::EngineFactory> make(const graph::SessionOptions& session) {
    return std::make_unique<rollout::SessionEngineFactory>(session);
  }
};
struct InProcess {
  static std::unique_ptr<rollout::EngineFactory> make(const graph::SessionOptions& session) {
    return std::make_unique<ProcessEngineFactory>(ProcessOptions{.session = session});
  }
};

}  // namespace commensal::worker::testing
