// SPDX-License-Identifier: Apache-2.0
// The processes in which real daemons run models: where they are, and what their end costs.
#include <signal.h>

#include <vector>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

class WorkersOf : public System {
 protected:
  /// Polls for as long as a busy machine may take.
  static std::vector<pid_t> wait_for_children(pid_t parent, std::size_t count) {
    std::vector<pid_t> found;
    for (int tries = 0; tries < 400 && (found = children_of(parent)).size() != count; ++tries) {
      pause_ms(25);
    }
    EXPECT_EQ(found.size(), count);
    return found;
  }
  void wait_for_match(client::Client& client, const core::Digest& receipt) {
    std::string audit;
    for (int tries = 0; tries < 400; ++tries) {
      const auto info = client.receipt(receipt);
      ASSERT_TRUE(info) << info.error().message;
      if ((audit = info->audit) != "drawn") break;
      pause_ms(25);
    }
    EXPECT_EQ(audit, "matched");
  }
};

TEST_F(WorkersOf, DaemonsCostNobodyAnythingWhenTheyAreKilled) {
  start_gateway({"--audit-probability", "1"});
  auto client = connect();
  push(client);
  const auto provider = start_provider("one");
  for (std::uint64_t i = 0; i < 3; ++i) {
    const client::Answer answer = insist(client, i);
    wait_for_match(client, answer.receipt);
    for (const pid_t daemon : {provider->pid(), gateway_->pid()}) {
      const auto workers = wait_for_children(daemon, 1);
      ASSERT_EQ(workers.size(), 1);
      EXPECT_EQ(::kill(workers[0], SIGKILL), 0);
    }
  }
}

TEST_F(WorkersOf, DaemonsEndWithThem) {
  start_gateway({"--audit-probability", "1"});
  auto client = connect();
  push(client);
  const auto provider = start_provider("one");
  wait_for_match(client, insist(client, 1).receipt);
  std::vector<pid_t> workers = wait_for_children(provider->pid(), 1);
  const auto audits = wait_for_children(gateway_->pid(), 1);
  workers.insert(workers.end(), audits.begin(), audits.end());
  provider->kill();
  gateway_->kill();
  for (const pid_t worker : workers) {
    EXPECT_TRUE(is_gone(worker));
  }
}

TEST_F(WorkersOf, DaemonsAreNotThereWithThreads) {
  start_gateway({"--audit-probability", "1", "--worker", "thread"});
  auto client = connect();
  push(client);
  const auto provider = start_provider("one", {"--worker", "thread"});
  wait_for_match(client, insist(client, 1).receipt);
  EXPECT_TRUE(children_of(provider->pid()).empty());
  EXPECT_TRUE(children_of(gateway_->pid()).empty());
}

}  // namespace
}  // namespace commensal::e2e
