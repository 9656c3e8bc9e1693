// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <commensal/collocation/probe/cpu.hpp>
#include <commensal/lab/bench/collocation/pair_run.hpp>
#include <nlohmann/json.hpp>
#include <thread>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr double kSettleS = 2;       // between slices, with the guest off
constexpr double kCalibrationS = 3;  // of a server's work
constexpr double kWarmS = 1;         // of a guest, before it is measured alone

/// Does a job again and again on a thread of its own, from construction to destruction, and counts
/// the processor time that this takes.
class Ticker {
 public:
  explicit Ticker(Job job)
      : thread_([this, job = std::move(job)](const std::stop_token& stop) {
          guest::repeat(stop, [&] {
            const double again_s = job();
            cpu_ns_ = core::thread_cpu_ns();
            return again_s;
          });
        }) {}
  double cpu_s() const { return 1e-9 * static_cast<double>(cpu_ns_.load()); }

 private:
  std::atomic<std::int64_t> cpu_ns_ = 0;
  std::jthread thread_;  // last: it uses the other
};

/// The tickers of a slice; they end together.
std::vector<std::unique_ptr<Ticker>> start(std::vector<Job> jobs) {
  std::vector<std::unique_ptr<Ticker>> made;
  for (Job& job : jobs) made.push_back(std::make_unique<Ticker>(std::move(job)));
  return made;
}

std::optional<double> stolen_between(const Result<probe::CpuTicks>& before,
                                     const Result<probe::CpuTicks>& after) {
  if (!before || !after || after->all <= before->all || after->stolen < before->stolen)
    return std::nullopt;
  return static_cast<double>(after->stolen - before->stolen) /
         static_cast<double>(after->all - before->all);
}

}  // namespace

double PairRun::now_s() const { return 1e-9 * static_cast<double>(clock_.monotonic_ns()); }

void PairRun::sleep_until(double at_s) const {
  const double left = at_s - now_s();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

Result<Guest*> PairRun::guest_of(Rank rank) {
  auto& guest = guests_[rank];
  if (!guest) {
    const std::string file = fmt::format("{}.onnx", pair_.network);
    COMMENSAL_ASSIGN(guest, Guest::start(place_.models_folder / file, rank));
  }
  return guest.get();
}

Result<Alone> PairRun::measure_alone(double seconds) {
  COMMENSAL_ASSIGN(Guest* const guest, guest_of(Rank::kPlain));
  guest->set_level(1);
  sleep_until(now_s() + kWarmS);
  const std::uint64_t before = guest->images();
  const double begin_s = now_s();
  sleep_until(begin_s + seconds);
  const double images = static_cast<double>(guest->images() - before);
  const double lasted_s = now_s() - begin_s;
  guest->set_level(0);
  return Alone{std::string(pair_.name), images / lasted_s};
}

Result<void> PairRun::start_host(int block) {
  std::vector<std::string> arguments(pair_.arguments.begin(), pair_.arguments.end());
  const core::Path program = place_.hosts_folder / pair_.host;
  if (pair_.is_server) {
    if (steps_per_ms_ <= 0) {
      COMMENSAL_ASSIGN(host_, HostProgram::start(program, arguments));
      sleep_until(now_s() + kCalibrationS);
      COMMENSAL_ASSIGN(const std::string line, host_->stop());
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object()) steps_per_ms_ = json.value("steps_per_ms", 0.0);
      if (steps_per_ms_ <= 0) return fail(ErrorCode::kDataLoss, "the server said: {}", line);
    }
    arguments.insert(arguments.end(), {"--seed", std::to_string(block + 1), "--steps-per-ms",
                                       fmt::format("{}", steps_per_ms_)});
  }
  COMMENSAL_ASSIGN(host_, HostProgram::start(program, arguments));
  const std::string spec = host_->probe_spec(pair_.metric);
  for (CurrentProbe* probe : {&probe_, &truth_}) {
    COMMENSAL_ASSIGN(auto opened, probe::open(spec, {clock_}));
    probe->set(std::move(opened));
  }
  return {};
}

Result<Control*> PairRun::control_of(const Arm& arm) {
  COMMENSAL_ASSIGN(Guest* const guest, guest_of(arm.rank));
  auto& control = controls_[arm.name];
  if (!control) control = make_control(arm.law, {clock_, rng_, probe_, *guest});
  return control.get();
}

Result<PairRun::Work> PairRun::look(const Guest& guest) {
  const probe::Sample sample = truth_.sample();
  if (!sample.is_fresh()) return fail(ErrorCode::kUnavailable, "the host: {}", sample.why);
  const double at_s = 1e-9 * static_cast<double>(sample.at_ns);
  // As the governor has it (probe::Meter): waits for locks, memory and disks are not in it.
  const double time_s = sample.own_s ? *sample.own_s : sample.host ? sample.host->needed_s() : at_s;
  return Work{sample.value, time_s, at_s, static_cast<double>(guest.images())};
}

Result<HostProgram::Latencies> PairRun::latencies() {
  if (!pair_.is_server) return HostProgram::Latencies{};
  return host_->latencies(clock_);
}

Result<Slice> PairRun::measure(const Step& step, double seconds, double stretch_s) {
  if (!host_) COMMENSAL_TRY(start_host(step.block));
  COMMENSAL_ASSIGN(Control* const control, control_of(*step.arm));
  COMMENSAL_ASSIGN(Guest* const guest, guest_of(step.arm->rank));
  sleep_until(now_s() + kSettleS);
  COMMENSAL_ASSIGN(Slice made, watch(step, *control, *guest, seconds, stretch_s));
  if (pair_.is_server) {
    COMMENSAL_TRY(host_->stop());
    host_.reset();
  }
  return made;
}

Result<Slice> PairRun::watch(const Step& step, Control& control, Guest& guest, double seconds,
                             double stretch_s) {
  Slice made;
  made.pair = pair_.name;
  made.arm = step.arm->name;
  made.block = step.block;
  made.begin_s = 1e-3 * static_cast<double>(clock_.wall_ms());
  const double begin_s = now_s();
  const double guest_s = guest.cpu_s();
  const auto ticks = probe::read_cpu_ticks();
  control.begin();
  auto tickers = start(control.jobs());
  const auto drawn = draw(guest, seconds, stretch_s, made);
  made.stolen = stolen_between(ticks, probe::read_cpu_ticks());
  made.seconds = now_s() - begin_s;
  made.guest_cpu = (guest.cpu_s() - guest_s) / made.seconds;
  for (const auto& ticker : tickers) made.governor_cpu += ticker->cpu_s() / made.seconds;
  tickers.clear();
  guest.set_level(0);
  guest.gate().let();
  COMMENSAL_TRY(drawn);
  made.said = control.said();
  return made;
}

Result<void> PairRun::draw(Guest& guest, double seconds, double stretch_s, Slice& made) {
  const auto points_of = [](double some_s) { return static_cast<int>(some_s / kPointS + 0.5); };
  const int stretch = points_of(stretch_s), settling = points_of(kSettlingS);
  const int drawn = points_of(seconds) / stretch * stretch;
  const double begin_s = now_s();
  COMMENSAL_ASSIGN(Work last, look(guest));
  Work first = last;  // of the epoch
  for (int i = 0; i * kPointS < seconds; ++i) {
    if (i == drawn) guest.gate().let();
    if (i < drawn && i % stretch == 0) {
      const bool is_let = coins_.next_unit() < 0.5;
      guest.gate().set(is_let);
      made.epochs.push_back({.is_let = is_let});
    }
    if (i < drawn && i % stretch == settling) {
      first = last;
      COMMENSAL_TRY(latencies());  // from now on they count
    }
    sleep_until(begin_s + kPointS * (i + 1));
    COMMENSAL_ASSIGN(const Work now, look(guest));
    const double own_s = now.time_s - last.time_s;
    made.points.push_back({own_s > 0 ? (now.done - last.done) / own_s : 0,
                           (now.images - last.images) / (now.at_s - last.at_s)});
    last = now;
    if (i >= drawn || (i + 1) % stretch != 0) continue;
    Epoch& epoch = made.epochs.back();
    epoch.from_s = first.at_s - begin_s;
    epoch.to_s = now.at_s - begin_s;
    epoch.work = now.done - first.done;
    epoch.work_s = now.time_s - first.time_s;
    epoch.images = now.images - first.images;
    COMMENSAL_ASSIGN(HostProgram::Latencies late, latencies());
    epoch.latencies_ms = std::move(late.ms);
    epoch.unhindered_ms = std::move(late.unhindered_ms);
  }
  return {};
}

}  // namespace commensal::lab::bench::collocation
