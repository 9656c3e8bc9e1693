// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/lab/demo_world.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <thread>

namespace commensal::lab {
namespace {

using core::ErrorCode;
using core::Result;

constexpr auto kWatchEvery = std::chrono::milliseconds(100);
constexpr int kSettleWaits = 300;  // times kWatchEvery

struct Pictures {
  tensor::Tensor images;  // float32[count,1,8,8]
  tensor::Tensor labels;  // int64[count]

  tensor::NamedTensors at(std::int64_t i) const {
    const std::int64_t size = images.elements() / images.shape()[0];
    const auto pixels = images.data<float>().subspan(static_cast<std::size_t>(i * size),
                                                     static_cast<std::size_t>(size));
    const tensor::Shape shape{1, images.shape()[1], images.shape()[2], images.shape()[3]};
    return {{"image", tensor::Tensor::of<float>(shape, pixels)}};
  }
  std::int64_t label(std::int64_t i) const {
    return labels.data<std::int64_t>()[static_cast<std::size_t>(i)];
  }
};

Result<Pictures> load_pictures(const core::Path& folder, int needed) {
  Pictures pictures;
  COMMENSAL_ASSIGN(pictures.images, io::read_npy_file(folder / "held_out_images.npy"));
  COMMENSAL_ASSIGN(pictures.labels, io::read_npy_file(folder / "held_out_labels.npy"));
  const tensor::Tensor& images = pictures.images;
  if (images.dtype() != tensor::DType::kFloat32 || images.shape().rank() != 4 ||
      pictures.labels.dtype() != tensor::DType::kInt64 ||
      pictures.labels.elements() != images.shape()[0]) {
    return core::fail(ErrorCode::kInvalidArgument, "'{}': expected float32 pictures, int64 labels",
                      folder.string());
  }
  if (images.shape()[0] < needed) {
    return core::fail(ErrorCode::kInvalidArgument, "{} pictures are there, {} were asked for",
                      images.shape()[0], needed);
  }
  return pictures;
}

std::int64_t digit_of(const tensor::NamedTensors& outputs) {
  const auto logits = outputs.at(0).value.data<float>();
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

/// What the consumer holds of one picture.
struct Held {
  core::Digest receipt{};
  bool is_correct = false;
};

/// Sends the pictures over several connections at once.
class Senders {
 public:
  Senders(const client::ClientOptions& consumer, const Pictures& pictures, int requests,
          DemoRecorder& recorder)
      : consumer_(consumer),
        pictures_(pictures),
        held_(static_cast<std::size_t>(requests)),
        recorder_(recorder) {}

  void start(int connections) {
    for (int i = 0; i < connections; ++i) threads_.emplace_back([this] { send_all(); });
  }
  bool done() const { return done_ == held_.size() || failed_; }
  Result<std::vector<Held>> finish() {
    for (std::thread& thread : threads_) thread.join();
    if (failed_) return tl::unexpected(error_);
    return std::move(held_);
  }

 private:
  void send_all() {
    auto client = client::Client::create(consumer_);
    while (client && !failed_) {
      const std::size_t i = next_++;
      if (i >= held_.size()) return;
      auto answer = client->infer(kDemoModel, 0, pictures_.at(static_cast<std::int64_t>(i)));
      if (!answer) return fail(answer.error());
      const bool is_correct =
          digit_of(answer->outputs) == pictures_.label(static_cast<std::int64_t>(i));
      held_[i] = {answer->receipt, is_correct};
      recorder_.answered(is_correct);
      ++done_;
    }
    if (!client) fail(client.error());
  }
  void fail(const core::Error& error) {
    if (!failed_.exchange(true)) error_ = error;
  }

  const client::ClientOptions& consumer_;
  const Pictures& pictures_;
  std::vector<Held> held_;  // each element is written by one thread
  DemoRecorder& recorder_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> failed_ = false;
  core::Error error_;  // written once, by whoever set failed_
  std::vector<std::thread> threads_;
};

Result<void> wait_until_settled(daemon::GatewayDaemon& gateway, const std::function<void()>& tick) {
  for (int i = 0; i < kSettleWaits; ++i) {
    std::size_t pending = 0;
    gateway.ask([&](gateway::Gateway& live) {
      pending = live.audits_pending() + live.tickets_pending() + live.accusations_pending();
    });
    if (pending == 0) return {};
    tick();
    std::this_thread::sleep_for(kWatchEvery);
  }
  return core::fail(ErrorCode::kDeadlineExceeded,
                    "tickets, audits and re-executions did not come to an end");
}

/// The answers that count: where a receipt was replaced, what its successor opens to.
Result<int> count_correct(client::Client& client, const std::vector<Held>& held,
                          const Pictures& pictures) {
  int correct = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    COMMENSAL_ASSIGN(const auto info, client.receipt(held[i].receipt));
    if (!info.replaced_by) {
      correct += held[i].is_correct ? 1 : 0;
      continue;
    }
    COMMENSAL_ASSIGN(const core::Bytes bytes, client.opening(*info.replaced_by));
    COMMENSAL_ASSIGN(const auto opening, protocol::decode<receipt::Opening>(bytes));
    correct += digit_of(opening.outputs) == pictures.label(static_cast<std::int64_t>(i)) ? 1 : 0;
  }
  return correct;
}

/// What was heard on the way and what the ledger says at the end.
DemoMoney merged(const DemoMoney& heard, DemoMoney counted) {
  counted.cheat_slashed = heard.cheat_slashed;
  counted.cheat_burnt = heard.cheat_burnt;
  counted.auditor_slashed = heard.auditor_slashed;
  return counted;
}

}  // namespace

Result<DemoReport> run_demo(const DemoOptions& options,
                            const std::function<void(const DemoReport&)>& watch,
                            const std::function<void(const DemoReport&)>& hold) {
  COMMENSAL_ASSIGN(const Pictures pictures, load_pictures(options.model_folder, options.requests));
  DemoRecorder recorder;
  COMMENSAL_ASSIGN(const DemoWorld world, DemoWorld::start(options, recorder));
  recorder.edit([&](DemoReport& report) {
    report.gateway_url = world.consumer.url;
    report.token_file = world.gateway->token_file().string();
    report.requests_total = options.requests;
  });
  const auto tick = [&] { watch(recorder.report()); };

  const core::SystemClock clock;
  const std::int64_t started_ns = clock.monotonic_ns();
  Senders senders(world.consumer, pictures, options.requests, recorder);
  senders.start(options.clients);
  while (!senders.done()) {
    tick();
    std::this_thread::sleep_for(kWatchEvery);
  }
  COMMENSAL_ASSIGN(const std::vector<Held> held, senders.finish());
  const double seconds = static_cast<double>(clock.monotonic_ns() - started_ns) * 1e-9;
  COMMENSAL_TRY(wait_until_settled(*world.gateway, tick));

  COMMENSAL_ASSIGN(auto client, client::Client::create(world.consumer));
  COMMENSAL_ASSIGN(const int correct, count_correct(client, held, pictures));
  recorder.edit([&](DemoReport& report) {
    report.correct = correct;
    report.accuracy = static_cast<double>(correct) / options.requests;
    report.seconds = seconds;
    report.requests_per_second = options.requests / seconds;
  });
  const DemoMoney money = world.purses.report(*world.gateway, world.terms);
  recorder.edit([&](DemoReport& report) { report.money = merged(report.money, money); });
  tick();
  if (hold) hold(recorder.report());
  return recorder.report();
}

}  // namespace commensal::lab
