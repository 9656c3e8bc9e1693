// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <commensal/lab/bench/serve/load.hpp>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace commensal::lab::bench::serve {
namespace {

constexpr std::size_t kConnections = 4;  // a server takes so and so many calls of each
constexpr double kUsPerNs = 1e-3;

double quantile(std::vector<std::int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[at]) * kUsPerNs;
}

}  // namespace

struct Load::State {
  State(Question asked, const core::Clock& clock_) : question(std::move(asked)), clock{clock_} {
    for (std::size_t i = 0; i < kConnections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetMaxReceiveMessageSize(-1);
      stubs.push_back(std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
          question.address, grpc::InsecureChannelCredentials(), arguments)));
    }
    const grpc::Slice slice(question.message);
    request = grpc::ByteBuffer(&slice, 1);
  }

  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    grpc::ByteBuffer answer;
    std::int64_t since_ns = 0;
  };

  void ask(std::size_t index) {
    Slot& slot = slots[index];
    slot.context = std::make_unique<grpc::ClientContext>();
    if (!question.authorization.empty())
      slot.context->AddMetadata("authorization", question.authorization);
    slot.answer.Clear();
    slot.since_ns = clock.monotonic_ns();
    stubs[index % stubs.size()]->UnaryCall(
        slot.context.get(), question.method, grpc::StubOptions(), &request, &slot.answer,
        [this, index](const grpc::Status& status) { answered(index, status); });
  }
  void answered(std::size_t index, const grpc::Status& status) {
    const std::int64_t now_ns = clock.monotonic_ns();
    {
      const std::lock_guard lock(mutex);
      if (!status.ok() && failed.empty()) failed = status.error_message();
      took_ns.push_back(now_ns - slots[index].since_ns);
      if (!status.ok() || now_ns >= end_ns) {
        last_ns = now_ns;
        if (--under_way == 0) ended.notify_all();
        return;
      }
    }
    ask(index);
  }

  const Question question;
  const core::Clock& clock;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  grpc::ByteBuffer request;
  std::vector<Slot> slots;
  std::mutex mutex;  // guards the rest
  std::condition_variable ended;
  std::size_t under_way = 0;
  std::int64_t end_ns = 0, last_ns = 0;
  std::vector<std::int64_t> took_ns;
  std::string failed;
};

Load::Load(Question question, const core::Clock& clock)
    : state_(std::make_unique<State>(std::move(question), clock)) {}
Load::~Load() = default;

core::Result<Loaded> Load::run(std::size_t concurrency, std::int64_t ms) {
  State& state = *state_;
  const std::int64_t begin_ns = state.clock.monotonic_ns();
  state.slots.clear();
  state.slots.resize(concurrency);
  state.took_ns.clear();
  state.failed.clear();
  state.end_ns = begin_ns + ms * 1'000'000;
  state.under_way = concurrency;
  for (std::size_t i = 0; i < concurrency; ++i) state.ask(i);
  std::unique_lock lock(state.mutex);
  state.ended.wait(lock, [&] { return state.under_way == 0; });
  if (!state.failed.empty()) {
    return core::fail(core::ErrorCode::kUnavailable, "{} at {}: {}", state.question.method,
                      state.question.address, state.failed);
  }
  std::sort(state.took_ns.begin(), state.took_ns.end());
  return Loaded{.answers = state.took_ns.size(),
                .seconds = static_cast<double>(state.last_ns - begin_ns) * 1e-9,
                .p50_us = quantile(state.took_ns, 0.5),
                .p99_us = quantile(state.took_ns, 0.99),
                .answer_bytes = state.slots[0].answer.Length()};
}

}  // namespace commensal::lab::bench::serve
