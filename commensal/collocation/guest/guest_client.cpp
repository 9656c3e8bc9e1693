// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/guest/guest_client.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::guest {
namespace {

constexpr int kStepMs = 50;
constexpr double kSilentS = 3;    // without a word the governor is as good as gone
constexpr double kReportS = 1;    // how often a guest says how it does at least
constexpr double kLingerS = 0.2;  // a guest wants for so long after it wanted last
constexpr double kRetryS = 2;     // after it could not govern
constexpr double kAskS = 2;

}  // namespace

GuestClient::GuestClient(Dependencies deps, GuestClientOptions options, std::optional<Lock> lock)
    : deps_(std::move(deps)),
      options_(std::move(options)),
      lock_(std::move(lock)),
      promise_(options_.guest.asked.value_or(Promise{})) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

GuestClient::~GuestClient() {
  thread_.request_stop();
  thread_.join();
}

double GuestClient::now_s() const { return static_cast<double>(deps_.clock.monotonic_ns()) * 1e-9; }

void GuestClient::tell(const Report& report) {
  const std::lock_guard lock(mutex_);
  told_ = report;
}

GuestClientView GuestClient::view() const {
  const std::lock_guard lock(mutex_);
  GuestClientView made{has_joined_, deps_.pacer.level(), {}};
  if (governing_) {
    made.view = governing_->view();
    made.incomes = governing_->incomes();
  }
  return made;
}

void GuestClient::say_once(const std::string& line) {
  if (line != said_) options_.say(line);
  said_ = line;
}

Report GuestClient::report() {
  const std::lock_guard lock(mutex_);
  if (told_.wants || deps_.pacer.is_resting()) wanted_s_ = now_s();
  Report made = told_;
  made.wants = now_s() - wanted_s_ < kLingerS;
  return made;
}

void GuestClient::stand_still() {
  deps_.pacer.set_level(0);
  const std::lock_guard lock(mutex_);
  has_joined_ = false;
  governing_.reset();
}

void GuestClient::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!lock_) {
      auto taken = Lock::try_take(options_.folder);
      if (taken) lock_ = std::move(*taken);
      if (!taken) say_once(taken.error().message);
    }
    if (lock_) {
      govern(stop);
    } else {
      join(stop);
    }
    stand_still();
    lock_.reset();
    // Random, so that those who lost their governor do not run into each other.
    wait(stop, 0.05 + 0.1 * deps_.rng.next_unit());
  }
}

core::Result<std::string> GuestClient::choose_host() const {
  if (options_.host == "auto" && !kept_.empty()) {
    const auto probe = deps_.open_probe(kept_);
    if (probe && (*probe)->sample().state != probe::State::kInvalid) return kept_;
  }
  return deps_.choose_host(options_.host);
}

core::Result<std::unique_ptr<Governing>> GuestClient::begin_to_govern() {
  if (options_.guest.asked) promise_ = stricter(promise_, *options_.guest.asked);
  COMMENSAL_ASSIGN(kept_, choose_host());
  COMMENSAL_ASSIGN(auto probe, deps_.open_probe(kept_));
  return Governing::begin({deps_.clock, deps_.rng},
                          {.socket = socket_of(options_.folder),
                           .host = kept_,
                           .own = options_.guest,
                           .processors = options_.processors,
                           .host_income_per_hour = options_.host_income_per_hour,
                           .promise = promise_,
                           .memory = options_.memory,
                           .say = options_.say},
                          std::move(probe));
}

void GuestClient::govern(const std::stop_token& stop) {
  const std::string joined = kept_;
  auto begun = begin_to_govern();
  if (!begun) {
    say_once(begun.error().message);
    return wait(stop, kRetryS);
  }
  {
    const std::lock_guard lock(mutex_);
    governing_ = std::move(*begun);
    has_joined_ = true;
  }
  const bool was_other = !joined.empty() && joined != kept_;
  say_once("this process is the machine's governor and keeps " + probe::without_token(kept_) +
           (was_other ? "; nobody keeps " + probe::without_token(joined) + " any more" : "") +
           promises());
  const std::stop_callback at_once(stop, [this] { governing_->wake(); });
  while (!stop.stop_requested()) deps_.pacer.set_level(governing_->step(report()));
}

/// ... and what its owner asked for, where that is not the same.
std::string GuestClient::promises() const {
  const auto& asked = options_.guest.asked;
  const bool is_other = asked && words(*asked) != words(promise_);
  return ": guests may cost it " + words(promise_) + (is_other ? ", not " + words(*asked) : "");
}

void GuestClient::take(const ToGuest& said) {
  if (const auto* joined = std::get_if<Joined>(&said)) {
    const bool is_other = options_.host != "auto" && options_.host != joined->host;
    kept_ = joined->host;
    promise_ = joined->promise;
    say_once("joined the machine's governor, which keeps " + probe::without_token(kept_) +
             (is_other ? ", not " + probe::without_token(options_.host) : "") + promises());
    const std::lock_guard lock(mutex_);
    has_joined_ = true;
  } else {
    deps_.pacer.set_level(std::get<Level>(said).level);
  }
}

void GuestClient::join(const std::stop_token& stop) {
  auto lines = Lines::connect(socket_of(options_.folder), limits::kGuestLineBytesMax);
  if (!lines) return;  // it has not begun yet, or ends
  lines->send(line_of(options_.guest));
  double heard_s = now_s();
  double told_s = -kReportS;
  Report told;
  while (!stop.stop_requested() && lines->is_open() && now_s() - heard_s < kSilentS) {
    const Report now = report();
    if (now.wants != told.wants || now_s() - told_s >= kReportS) {
      lines->send(line_of(now));
      told = now;
      told_s = now_s();
    }
    wait_for(lines->fd(), kStepMs);
    lines->receive();
    if (!lines->is_open()) break;  // what it said before it went counts no more
    while (const auto line = lines->next()) {
      const auto said = parse_to_guest(*line);
      if (!said) return say_once(said.error().message);
      heard_s = now_s();
      take(*said);
    }
  }
}

core::Result<std::string> ask_status(const core::Path& folder, const core::Clock& clock) {
  auto found = Lines::connect(socket_of(folder), limits::kGuestStatusBytesMax);
  if (!found && found.error().code == core::ErrorCode::kNotFound) {
    return core::fail(core::ErrorCode::kUnavailable,
                      "no governor runs here; `commensal provider --host ...` starts one");
  }
  COMMENSAL_ASSIGN(Lines lines, std::move(found));
  lines.send(line_of(Ask{}));
  const std::int64_t end_ns = clock.monotonic_ns() + static_cast<std::int64_t>(kAskS * 1e9);
  while (lines.is_open() && clock.monotonic_ns() < end_ns) {
    wait_for(lines.fd(), kStepMs);
    lines.receive();
    if (auto line = lines.next()) return std::move(*line);
  }
  return core::fail(core::ErrorCode::kDeadlineExceeded, "the governor of {} does not answer",
                    folder.string());
}

}  // namespace commensal::guest
