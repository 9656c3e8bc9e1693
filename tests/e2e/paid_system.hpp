// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {

/// Where answers cost something: asked as the gateway's operator asks, by the program.
class PaidSystem : public System {
 protected:
  /// The program's JSON, asked at the gateway as its operator.
  Json ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--gateway", url(), "--token-file", token_file_, "--json"});
    int status = -1;
    const std::string text = run(arguments, status);
    EXPECT_EQ(status, 0) << arguments[0] << " " << arguments[1];
    return Json::parse(text, nullptr, false);
  }
  std::string balance(const std::string& owner, const char* kind) {
    return ask({"account", "balance", owner}).at("balances").value(kind, "0");
  }
  /// Waits, ten seconds at most.
  void wait_for(const std::function<bool()>& done) {
    for (int i = 0; i < 200 && !done(); ++i) pause_ms(50);
    EXPECT_TRUE(done());
  }
};

}  // namespace commensal::e2e
