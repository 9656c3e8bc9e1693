// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <commensal/lab/bench/serve/load.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <condition_variable>
#include <mutex>

namespace commensal::lab::bench::serve {
namespace {

constexpr std::size_t kConnections = 4;  // a server takes so and so many calls of each
constexpr std::int64_t kPatienceS = 30;

class GrpcLoad final : public Load {
 public:
  GrpcLoad(Question question, const core::Clock& clock)
      : question_(std::move(question)), clock_(clock) {
    for (std::size_t i = 0; i < kConnections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetMaxReceiveMessageSize(-1);
      stubs_.push_back(std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
          question_.address, grpc::InsecureChannelCredentials(), arguments)));
    }
    const grpc::Slice slice(question_.message);
    request_ = grpc::ByteBuffer(&slice, 1);
  }

  core::Result<Loaded> run(std::size_t concurrency, std::int64_t ms) override;

 private:
  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    grpc::ByteBuffer answer;
    std::int64_t since_ns = 0;
  };

  void ask(std::size_t index) {
    Slot& slot = slots_[index];
    slot.context = std::make_unique<grpc::ClientContext>();
    slot.context->set_deadline(gpr_time_from_seconds(kPatienceS, GPR_TIMESPAN));
    if (!question_.authorization.empty())
      slot.context->AddMetadata("authorization", question_.authorization);
    slot.answer.Clear();
    slot.since_ns = clock_.monotonic_ns();
    stubs_[index % stubs_.size()]->UnaryCall(
        slot.context.get(), question_.method, grpc::StubOptions(), &request_, &slot.answer,
        [this, index](const grpc::Status& status) { answered(index, status); });
  }
  void answered(std::size_t index, const grpc::Status& status) {
    const std::int64_t now_ns = clock_.monotonic_ns();
    {
      const std::lock_guard lock(mutex_);
      if (!status.ok() && failed_.empty()) failed_ = status.error_message();
      took_ns_.push_back(now_ns - slots_[index].since_ns);
      if (!status.ok() || now_ns >= end_ns_) {
        last_ns_ = now_ns;
        if (--under_way_ == 0) ended_.notify_all();
        return;
      }
    }
    ask(index);
  }

  const Question question_;
  const core::Clock& clock_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::ByteBuffer request_;
  std::vector<Slot> slots_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable ended_;
  std::size_t under_way_ = 0;
  std::int64_t end_ns_ = 0, last_ns_ = 0;
  std::vector<std::int64_t> took_ns_;
  std::string failed_;
};

core::Result<Loaded> GrpcLoad::run(std::size_t concurrency, std::int64_t ms) {
  const std::int64_t begin_ns = clock_.monotonic_ns();
  slots_.clear();
  slots_.resize(concurrency);
  took_ns_.clear();
  failed_.clear();
  end_ns_ = begin_ns + ms * 1'000'000;
  under_way_ = concurrency;
  for (std::size_t i = 0; i < concurrency; ++i) ask(i);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return under_way_ == 0; });
  if (!failed_.empty()) {
    return core::fail(core::ErrorCode::kUnavailable, "{} at {}: {}", question_.method,
                      question_.address, failed_);
  }
  return loaded_of(took_ns_, static_cast<double>(last_ns_ - begin_ns) * 1e-9,
                   slots_[0].answer.Length());
}

}  // namespace

std::unique_ptr<Load> grpc_load(Question question, const core::Clock& clock) {
  return std::make_unique<GrpcLoad>(std::move(question), clock);
}

Loaded loaded_of(const std::vector<std::int64_t>& took_ns, double seconds,
                 std::size_t answer_bytes) {
  std::vector<double> us;
  for (const std::int64_t ns : took_ns) us.push_back(static_cast<double>(ns) * 1e-3);
  if (us.empty()) us.push_back(0);
  return Loaded{.answers = took_ns.size(),
                .seconds = seconds,
                .p50_us = quantile(us, 0.5),
                .p99_us = quantile(us, 0.99),
                .answer_bytes = answer_bytes};
}

}  // namespace commensal::lab::bench::serve
