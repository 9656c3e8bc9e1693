// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <string>
#include <thread>

namespace commensal::apps {

/// Says on stderr why an answer takes long, as long as it lives: what the gateway says of the
/// model's providers (paused beside their hosts, say), and on a terminal how long it has been.
class Waiting {
 public:
  Waiting(Connection connection, std::string model);

 private:
  std::jthread thread_;
};

}  // namespace commensal::apps
