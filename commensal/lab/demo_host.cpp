// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/guest/guest_process.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/lab/bench/collocation/host_program.hpp>
#include <commensal/lab/demo_host.hpp>
#include <commensal/lab/demo_money.hpp>
#include <commensal/lab/demo_world.hpp>
#include <commensal/lab/sim/terms.hpp>
#include <commensal/lab/squeezenet.hpp>
#include <thread>
#include <utility>

namespace commensal::lab {
namespace {

using bench::collocation::HostProgram;
using core::ErrorCode;
using core::Result;

constexpr const char* kModel = "demo/squeezenet";
constexpr const char* kPasses = "equihash_bucket_passes_total";
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr double kAloneS = 45;        // more than the governor's first look at the host takes
constexpr double kLearningS = 20;     // what a guest costs; pictures are answered, but not counted
constexpr double kAfterS = 15;        // the host alone again
constexpr double kFreeS = 5;          // the guest without the host
constexpr int kPeople = 4;            // who ask, each one picture after the other
constexpr double kWin = 0.0002;       // of a ticket: who audits a winner takes the host's time too
constexpr int kRequests = 100'000;    // that there is money for
constexpr double kHostPictures = 20;  // as many a second cost what the host earns

double now_s() {
  const core::SystemClock clock;
  return static_cast<double>(clock.monotonic_ns()) * 1e-9;
}

tensor::NamedTensors picture(std::uint64_t number) {
  std::vector<float> pixels(3 * 224 * 224);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = core::counter_symmetric_f32(1, number, i);
  }
  return {{"image", tensor::Tensor::of<float>({1, 3, 224, 224}, pixels)}};
}

/// People who ask for pictures to be read, without end.
class Stream {
 public:
  explicit Stream(const client::ClientOptions& consumer) : consumer_(consumer) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    stop();
    for (std::thread& person : people_) person.join();
  }

  void start() {
    for (std::uint64_t i = 0; i < kPeople; ++i) people_.emplace_back([this, i] { ask(i); });
  }
  void stop() { is_over_ = true; }
  std::uint64_t answered() const { return answered_; }

 private:
  void ask(std::uint64_t number) {
    const tensor::NamedTensors inputs = picture(number);
    auto client = client::Client::create(consumer_);
    while (client && !is_over_) {
      if (client->infer(kModel, 0, inputs)) {
        ++answered_;
      } else {
        std::this_thread::sleep_for(kLook);  // the providers pause
      }
    }
  }

  const client::ClientOptions& consumer_;
  std::atomic<std::uint64_t> answered_ = 0;
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> people_;
};

/// The host's own count of its work, read beside the governor.
class OwnCount {
 public:
  Result<void> open(const std::string& spec) {
    COMMENSAL_ASSIGN(probe_, probe::open(spec, {clock_}));
    return rate().map([](double) {});
  }
  /// Work a second since the last call.
  Result<double> rate() {
    constexpr double kPatienceS = 5;  // on a machine that stands still for a while
    const probe::Sample before = last_;
    const double end_s = now_s() + kPatienceS;
    for (last_ = probe_->sample(); !last_.is_fresh() && now_s() < end_s;) {
      std::this_thread::sleep_for(kLook);
      last_ = probe_->sample();
    }
    if (last_.is_fresh()) {
      return (last_.value - before.value) * 1e9 / static_cast<double>(last_.at_ns - before.at_ns);
    }
    return core::fail(ErrorCode::kUnavailable, "the host's counter: {}", last_.why);
  }

 private:
  core::SystemClock clock_;
  std::unique_ptr<probe::Probe> probe_;
  probe::Sample last_;
};

Result<void> wait_for(const std::function<bool()>& is_so, double seconds, const char* what) {
  for (const double end_s = now_s() + seconds; now_s() < end_s;) {
    if (is_so()) return {};
    std::this_thread::sleep_for(kLook);
  }
  return core::fail(ErrorCode::kUnavailable, "{} within {} s", what, seconds);
}

governor::Status status_of(const guest::GuestProcess& guest) {
  const auto view = guest.view().view;
  return view ? view->governor : governor::Status{};
}

/// Gateway and providers on loopback; they end with the object, providers first.
struct World {
  sim::Terms terms = sim::play_terms(kWin, kRequests);
  DemoPurses purses;
  std::unique_ptr<daemon::GatewayDaemon> gateway;
  client::ClientOptions consumer;
  std::vector<std::unique_ptr<daemon::ProviderDaemon>> providers;

  Result<void> open(const HostDemoOptions& options, guest::GuestProcess& guest) {
    daemon::GatewayDaemonConfig config;
    config.folder = options.folder / "gateway";
    config.engines = options.engines({}, nullptr);
    config.http_port = 0;
    config.provider_address = "127.0.0.1:0";
    config.gateway.audit_probability = 0;  // the gateway's own work would be laid to the guest
    config.gateway.money = terms.gateway;
    COMMENSAL_ASSIGN(gateway, daemon::GatewayDaemon::start(config));
    COMMENSAL_ASSIGN(consumer, make_account(*gateway, "demo", "consumer"));
    COMMENSAL_TRY(push_model(consumer, kModel, squeezenet(1)));
    for (const char* name : {"ada", "bob"}) {
      daemon::ProviderDaemonConfig one;
      one.folder = options.folder / name;
      one.gateway = fmt::format("127.0.0.1:{}", gateway->provider_port());
      one.name = name;
      one.why_paused = guest.why_paused();
      one.purse = terms.provider;
      COMMENSAL_ASSIGN(auto daemon,
                       daemon::ProviderDaemon::start(one, options.engines({.threads = 1}, &guest)));
      providers.push_back(std::move(daemon));
    }
    COMMENSAL_TRY(wait_for_providers(*gateway, providers.size()));
    crypto::Address payer;
    gateway->ask([&](gateway::Gateway& live) { payer = live.account_address("demo"); });
    return purses.fund(*gateway, terms, payer, providers.size());
  }

  /// What the providers have to do, and what their tickets are worth.
  guest::Work work() const {
    guest::Work sum{.earned = 0};
    for (const auto& provider : providers) {
      const provider::ProviderStatus status = provider->status();
      sum.waiting += status.queued;
      sum.served += status.delivered;
      sum.earned = *sum.earned + static_cast<double>(status.tickets.expected.low());
    }
    return sum;
  }

  /// Models are fetched and made ready before anybody looks at the host.
  Result<void> warm_up(guest::DutyPacer& pacer) const {
    pacer.set_level(1);
    COMMENSAL_ASSIGN(auto client, client::Client::create(consumer));
    for (std::uint64_t i = 0; i < 2 * providers.size(); ++i) {
      COMMENSAL_TRY(client.infer(kModel, 0, picture(i)));
    }
    pacer.set_level(0);
    return {};
  }
};

}  // namespace

HostDemo report_of(const governor::Status& status, double promise) {
  HostDemo report;
  report.promise = promise;
  report.host_rate = status.reference;
  if (status.hour_s > 0) {
    report.kept = 1 - status.loss;
    report.kept_lower = std::max(0.0, 1 - status.loss_high);
    report.is_shown = report.kept_lower >= 1 - promise;
    report.scatter = status.scatter;
    report.not_given = status.not_given;
  }
  report.budget = status.budget;
  report.cost = status.cost;
  report.guest_is_off = status.level > 0 ? "" : status.why;
  return report;
}

namespace {

/// A world beside a host, and what is counted there.
class Stage {
 public:
  Stage(const HostDemoOptions& options, const HostProgram& host, const core::Path& meeting)
      : host_(host),
        guest_({.client = {.folder = meeting / "run",
                           .host = host.probe_spec(kPasses),
                           .guest = {.name = "demo", .threads = 2},
                           .host_income_per_hour = 3600 * kHostPictures * price()},
                .is_whole = false}),
        options_(options) {}

  Result<void> open() {
    host_.suspend();
    COMMENSAL_TRY(open_world());
    guest_.pacer()->set_level(1);
    report_.images_alone_per_s = count(kFreeS);
    guest_.pacer()->set_level(0);
    host_.resume();
    return own_.open(host_.probe_spec(kPasses));
  }

  Result<HostDemo> play(const std::function<void(const std::string&)>& watch) {
    watch("the host is looked at alone");
    COMMENSAL_TRY(guest_.join());
    COMMENSAL_TRY(wait_for([&] { return status_of(guest_).level > 0; }, kAloneS,
                           "the host's own rate was not known"));
    COMMENSAL_ASSIGN(const double own_before, own_.rate());
    const double begin_s = now_s();
    watch("the governor learns what the guest costs");
    (void)count(kLearningS);
    watch("pictures are counted");
    const double counted_s = now_s();
    const std::uint64_t before = stream_->answered();
    (void)count(options_.guest_s);
    const double alone = report_.images_alone_per_s;
    report_ = report_of(status_of(guest_), governor::Rules{}.promise);
    report_.images_alone_per_s = alone;
    report_.images = stream_->answered() - before;
    report_.guest_s = now_s() - counted_s;
    report_.measured_s = now_s() - begin_s;
    report_.own_before = own_before;
    report_.images_per_s = static_cast<double>(report_.images) / report_.guest_s;
    report_.price = price();
    report_.incomes = guest_.view().incomes;
    stream_->stop();
    guest_.release();  // what is at hand fails, and nobody waits for it
    watch("the host is alone again");
    COMMENSAL_ASSIGN(report_.own_beside, own_.rate());
    std::this_thread::sleep_for(std::chrono::duration<double>(kAfterS));
    COMMENSAL_ASSIGN(report_.own_after, own_.rate());
    return report_;
  }

 private:
  /// Gateway and people would stand on machines of their own. Here they are as much a burden to
  /// the host as the guest is: all threads that they start run where nobody else wants to.
  Result<void> open_world() {
    Result<void> opened;
    std::thread([&] {
      guest_.ready_thread();
      opened = world_.open(options_, guest_);
      if (opened) opened = world_.warm_up(*guest_.pacer());
      if (!opened) return;
      stream_.emplace(world_.consumer);
      stream_->start();
    }).join();
    return opened;
  }
  static double price() {
    return static_cast<double>(sim::play_terms(kWin, kRequests).gateway.price.low());
  }
  /// Pictures a second, while the governor is told what the guest does.
  double count(double seconds) {
    const double begin_s = now_s();
    const std::uint64_t before = stream_->answered();
    for (const double end_s = begin_s + seconds; now_s() < end_s;) {
      guest_.tell(world_.work());
      std::this_thread::sleep_for(kLook);
    }
    return static_cast<double>(stream_->answered() - before) / (now_s() - begin_s);
  }

  const HostProgram& host_;
  guest::GuestProcess guest_;
  const HostDemoOptions& options_;
  HostDemo report_;
  OwnCount own_;
  World world_;
  std::optional<Stream> stream_;
};

}  // namespace

Result<HostDemo> run_host_demo(const HostDemoOptions& options,
                               const std::function<void(const std::string&)>& watch) {
  std::filesystem::create_directories(options.folder);
  COMMENSAL_ASSIGN(const auto host, HostProgram::start(options.program, {"--threads", "1"}));
  COMMENSAL_ASSIGN(const auto meeting, core::TemporaryFolder::make("commensal-demo"));
  Stage stage(options, *host, meeting.path());
  COMMENSAL_TRY(stage.open());
  COMMENSAL_ASSIGN(HostDemo report, stage.play(watch));
  COMMENSAL_TRY(host->stop());
  return report;
}

}  // namespace commensal::lab
