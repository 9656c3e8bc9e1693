// SPDX-License-Identifier: Apache-2.0
// A party breaks off at each of its writes, in each of the ways a write can go wrong; started again
// on its store it goes on to the same final state, and nobody signs two commitments to one step.
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::rollout::testing {
namespace {

using store::testing::Fault;

struct Case {
  bool of_client;
  std::uint64_t fault_at;
  Fault fault;
};

class RolloutCrash : public RolloutTest {
 protected:
  /// The parties on stores that outlive them; messages are remembered.
  struct Run {
    std::map<std::uint64_t, core::Digest> committed;  // what reached the client
    core::Digest final_root{};
    int starts = 0;
  };

  core::Result<bool> is_there(core::Store& store) const {
    return JobRows(store, protocol::job_id(record_.job)).is_there();
  }
  core::Result<ClientJob> client_on(core::Store& store) const {
    COMMENSAL_ASSIGN(const bool is_known, is_there(store));
    return is_known ? ClientJob::load(client_deps(store), protocol::job_id(record_.job))
                    : ClientJob::start(client_deps(store), record_);
  }
  core::Result<ProviderJob> provider_on(core::Store& store) {
    COMMENSAL_ASSIGN(const bool is_known, is_there(store));
    if (!is_known) return ProviderJob(provider_deps(store), record_);
    return ProviderJob::load(provider_deps(store), protocol::job_id(record_.job));
  }

  core::Result<void> life(core::Store& client_store, core::Store& provider_store, Run& run) {
    ++run.starts;
    COMMENSAL_ASSIGN(auto client, client_on(client_store));
    COMMENSAL_ASSIGN(auto provider, provider_on(provider_store));
    while (!client.is_finished()) {
      auto pending = client.pending();
      if (!pending) {
        COMMENSAL_ASSIGN(const auto begin, client.begin());
        COMMENSAL_ASSIGN(const auto commit, provider.begin(begin, *engine_, 7));
        const auto [known, is_new] = run.committed.try_emplace(commit.step, commit.commitment);
        EXPECT_EQ(known->second, commit.commitment) << "two commitments to step " << commit.step;
        COMMENSAL_ASSIGN(pending, client.on_commit(commit));
      }
      COMMENSAL_ASSIGN(const auto delivery, provider.countersign(*pending));
      COMMENSAL_TRY(client.on_deliver(delivery));
    }
    run.final_root = receipt::outputs_root(*graph_, client.outputs());
    return {};
  }

  Run run(const Case& one) {
    Run made;
    store::MemoryStore client_store, provider_store;
    store::testing::FaultStore faulty(one.of_client ? client_store : provider_store, one.fault_at,
                                      one.fault);
    core::Store& first_client = one.of_client ? static_cast<core::Store&>(faulty) : client_store;
    core::Store& first_provider =
        one.of_client ? static_cast<core::Store&>(provider_store) : faulty;
    auto done = life(first_client, first_provider, made);
    while (!done && made.starts < 4) done = life(client_store, provider_store, made);
    EXPECT_TRUE(done) << done.error().message;
    writes_ = faulty.applies();
    return made;
  }

  std::uint64_t writes_ = 0;
};

TEST_F(RolloutCrash, AtEveryWriteOfEitherParty) {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  for (const bool of_client : {true, false}) {
    const Run whole = run({of_client, kNever, Fault::kCrashBefore});
    EXPECT_EQ(whole.starts, 1);
    EXPECT_EQ(writes_, 1 + 2 * kSteps);
    for (std::uint64_t at = 0; at < 1 + 2 * kSteps; ++at) {
      for (const Fault fault :
           {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
        SCOPED_TRACE(fmt::format("{} write {} fault {}", of_client ? "client" : "provider", at,
                                 static_cast<int>(fault)));
        const Run broken = run({of_client, at, fault});
        EXPECT_EQ(broken.starts, 2);
        EXPECT_EQ(broken.final_root, whole.final_root);
      }
    }
  }
}

}  // namespace
}  // namespace commensal::rollout::testing
