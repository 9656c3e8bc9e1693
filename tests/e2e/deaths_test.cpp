// SPDX-License-Identifier: Apache-2.0
// Providers that die one after the other while customers ask nearly as much as all of them can do.
#include <grpcpp/grpcpp.h>
#include <inference/grpc_service.grpc.pb.h>

#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/trade/pay/ticket/record.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <tests/e2e/books.hpp>
#include <tests/e2e/grpc_request.hpp>
#include <tests/e2e/paid_system.hpp>
#include <tests/e2e/right_answers.hpp>

namespace commensal::e2e {
namespace {

constexpr std::uint64_t kPictures = 64;
constexpr int kCustomers = 24, kProviders = 3, kPeakS = 8, kDeathEveryS = 10;
constexpr double kShareOfPeak = 0.7;
constexpr std::int64_t kWaitMs = 30'000;
constexpr std::int64_t kSettleNs = 60'000'000'000;  // for tickets to be drawn and paid
constexpr const char* kServed = "operator/digits";

/// When the next request is due, for all customers together, and what they have seen.
/// Thread-safety: any thread.
class Pace {
 public:
  /// So many a second from now on; 0: one after the other.
  void set(double per_second) {
    const std::lock_guard lock(mutex_);
    per_second_ = per_second;
    begun_ns_ = clock_.monotonic_ns();
    given_ = answers_ = 0;
  }
  std::int64_t due_ns() {
    const std::lock_guard lock(mutex_);
    if (per_second_ <= 0) return 0;
    return begun_ns_ + static_cast<std::int64_t>(1e9 * static_cast<double>(given_++) / per_second_);
  }
  void answered(const std::string& account, std::string receipt) {
    const std::lock_guard lock(mutex_);
    ++answers_;
    receipts_[account].push_back(std::move(receipt));
  }
  void failed(const std::string& why) {
    const std::lock_guard lock(mutex_);
    ++failures_[why];
  }
  void wrong() { ++wrong_; }

  std::uint64_t answers() const {  // since set()
    const std::lock_guard lock(mutex_);
    return answers_;
  }
  std::uint64_t wrongs() const { return wrong_; }
  std::map<std::string, std::uint64_t> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  Acknowledged receipts() const {
    const std::lock_guard lock(mutex_);
    return receipts_;
  }

 private:
  const core::SystemClock clock_{};
  std::atomic<std::uint64_t> wrong_ = 0;
  mutable std::mutex mutex_;  // guards the rest
  double per_second_ = 0;
  std::int64_t begun_ns_ = 0;
  std::uint64_t given_ = 0, answers_ = 0;
  Acknowledged receipts_;
  std::map<std::string, std::uint64_t> failures_;
};

/// Asks over gRPC, one question at a time.
class Customer {
 public:
  Customer(std::string name, client::Client operators, const std::string& grpc,
           const std::vector<std::string>& right, Pace& pace)
      : name_(std::move(name)),
        operators_(std::move(operators)),
        right_(right),
        pace_(pace),
        stub_(inference::GRPCInferenceService::NewStub(channel(grpc))),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  static std::shared_ptr<grpc::Channel> channel(const std::string& grpc) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(grpc, grpc::InsecureChannelCredentials(), arguments);
  }
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (token_.empty() || answers_ == kAnswersOfOne) {
        account_ = fmt::format("{}-{}", name_, ++accounts_);
        token_ = operators_.create_account(account_, "consumer").value().token;
        answers_ = 0;
      }
      const std::int64_t due_ns = pace_.due_ns();
      while (!stop.stop_requested() && clock_.monotonic_ns() < due_ns) pause_ms(1);
      if (!stop.stop_requested()) ask(++asked_ % kPictures);
    }
  }
  void ask(std::uint64_t which) {
    const auto request = digit_request(kServed, picture(which));
    inference::ModelInferResponse response;
    grpc::ClientContext context;
    prepare(context, token_, kWaitMs);
    const grpc::Status status = stub_->ModelInfer(&context, request, &response);
    if (!status.ok()) return pace_.failed(status.error_message());
    ++answers_;
    pace_.answered(account_, response.parameters().at("commensal_receipt").string_param());
    if (response.raw_output_contents(0) != right_[which]) pace_.wrong();
  }

  const core::SystemClock clock_{};
  const std::string name_;
  client::Client operators_;
  const std::vector<std::string>& right_;
  Pace& pace_;
  std::size_t answers_ = 0, accounts_ = 0;
  std::uint64_t asked_ = 0;
  std::string account_, token_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
  std::jthread thread_;  // last: it sees the others
};

/// What a process holds.
struct Held {
  double mib = 0;
  int files = 0;
  std::uint64_t answers = 0;  // by then
};

Held held_by(pid_t process) {
  const std::filesystem::path at = "/proc/" + std::to_string(process);
  std::ifstream file(at / "statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  Held held{static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)) / (1 << 20), 0, 0};
  for (const auto& entry : std::filesystem::directory_iterator(at / "fd")) {
    held.files += entry.path().empty() ? 0 : 1;
  }
  return held;
}

int seconds_of_deaths() {
  const char* const asked = std::getenv("COMMENSAL_DEATHS_S");
  return asked == nullptr ? 30 : std::atoi(asked);
}

class Deaths : public PaidSystem {
 protected:
  void start() {
    money_ = Money::kByDefault;
    // All that it answers is looked for in the end: by default it keeps the newest 2^18.
    start_gateway({"--grpc", "127.0.0.1:0", "--receipts", "1000000"});
    auto client = connect();
    push(client);
    for (int i = 0; i < kProviders; ++i) start_one(i);
    insist(client, 0);
  }
  void start_one(int i) {
    providers_[i] = start_provider(fmt::format("provider{}", i), {"--threads", "1"});
  }
  double peak(Pace& pace) {
    pause_ms(2'000);  // accounts are opened, models loaded
    pace.set(0);
    pause_ms(kPeakS * 1'000);
    return static_cast<double>(pace.answers()) / kPeakS;
  }
  std::vector<Held> suffer(Pace& pace);
  std::uint64_t paid_by_the_providers_books();
  Losers losers_of_the_providers();
  void expect_tickets(const Kept& kept, std::uint64_t answers);
  void expect_store(const Acknowledged& acknowledged, const Kept& kept);

  const core::SystemClock clock_{};
  std::array<std::unique_ptr<Process>, kProviders> providers_;
};

/// Returns what the gateway held, each second.
std::vector<Held> Deaths::suffer(Pace& pace) {
  std::vector<Held> held;
  for (int second = 1; second <= seconds_of_deaths(); ++second) {
    pause_ms(1'000);
    held.push_back(held_by(gateway_->pid()));
    held.back().answers = pace.answers();
    if (second % kDeathEveryS != 0) continue;
    const int dies = second / kDeathEveryS % kProviders;
    providers_[dies]->kill();
    start_one(dies);
  }
  return held;
}

std::uint64_t Deaths::paid_by_the_providers_books() {
  std::uint64_t paid = 0;
  for (int i = 0; i < kProviders; ++i) {
    const Json book = ask({"tickets", "--data-dir", folder_.at(fmt::format("provider{}", i))});
    paid += std::stoull(book.at("ever").at("value_paid").get<std::string>());
  }
  return paid;
}

Losers Deaths::losers_of_the_providers() {
  Losers all;
  for (int i = 0; i < kProviders; ++i) {
    const core::Path folder = folder_.at(fmt::format("provider{}", i));
    const auto store = store::open_sqlite_store(folder / "state.sqlite");
    EXPECT_TRUE(store) << folder;
    if (store) all.join(losers_in(**store));
  }
  return all;
}

/// Each answer that was delivered has its ticket, drawn and, where it has won, paid, as both sides'
/// books say. What a provider had signed for when it died was not delivered, has no receipt and is
/// owed nothing: where it has won it waits for its provider for 600 rounds, of which there are none
/// once nobody asks.
void Deaths::expect_tickets(const Kept& kept, std::uint64_t answers) {
  const auto store = store::open_sqlite_store(core::Path(folder_.at("gateway")) / "state.sqlite");
  ASSERT_TRUE(store) << store.error().message;
  Json ever;
  std::uint64_t issued = 0, decided = 0, paid = 0, own = 0;
  std::set<std::string> unclaimed;
  std::ptrdiff_t unpaid = 0;  // of those
  const std::int64_t until_ns = clock_.monotonic_ns() + kSettleNs;
  for (bool is_late = false; !is_late; pause_ms(1'000)) {
    is_late = clock_.monotonic_ns() > until_ns;
    unclaimed = receipts_in(**store, ticket::State::kWon);
    unpaid = std::ranges::count_if(unclaimed, [&](const auto& one) { return kept.contains(one); });
    ever = ask({"tickets"}).at("ever");
    issued = ever.at("issued");
    decided = unclaimed.size();
    for (const char* end : {"lost", "paid", "penalised", "slashed", "void"})
      decided += ever.at(end).get<std::uint64_t>();
    paid = std::stoull(ever.at("value_paid").get<std::string>());
    own = paid_by_the_providers_books();
    if (issued == decided && unpaid == 0 && own == paid) break;
  }
  fmt::print("tickets: {}, the providers' books: {} paid, {} winners that were not delivered\n",
             ever.dump(), own, unclaimed.size());
  EXPECT_GE(issued, answers);
  EXPECT_EQ(decided, issued);
  EXPECT_EQ(unpaid, 0);
  EXPECT_EQ(own, paid);
  // Nothing that was delivered: not countersigned when its provider died, or never opened.
  for (const std::string& one : receipts_in(**store, ticket::State::kVoid))
    EXPECT_FALSE(kept.contains(one)) << one;
}

void Deaths::expect_store(const Acknowledged& acknowledged, const Kept& kept) {
  gateway_->signal(SIGTERM);
  EXPECT_EQ(gateway_->wait(), 0);
  const auto store = store::open_sqlite_store(core::Path(folder_.at("gateway")) / "state.sqlite");
  ASSERT_TRUE(store) << store.error().message;
  expect_books(**store, acknowledged, kept, losers_of_the_providers());
}

/// Of the first third, the last third, and all of it.
void expect_no_leak(const std::vector<Held>& held) {
  // The gateway keeps of each answer 51 bytes in the book of receipts (measured,
  // docs/benchmarks.md), and in the book of tickets the record, its place by round and its row on
  // the shelf, a node of a map each; that is all. And what allocators keep of what comes and goes.
  constexpr double kNodeBytes = 48;  // of a map, with the allocator's
  constexpr double kReceiptBytes = 51;
  constexpr double kTicketBytes = sizeof(core::Digest) + sizeof(ticket::Record) + kNodeBytes +
                                  2 * sizeof(core::Digest) + 8 + kNodeBytes + sizeof(core::Digest) +
                                  16 + kNodeBytes;
  constexpr double kMibOfAnswer = (kReceiptBytes + kTicketBytes) / (1 << 20), kMibAtOnce = 8;
  constexpr int kFilesAtOnce = 2 * kProviders * 4 + 8;  // streams, downloads, both sides' copies
  const std::size_t third = held.size() / 3;
  const Held& early = held[third];
  double late_mib = 0;
  int early_files = 0, late_files = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i < third) early_files = std::max(early_files, held[i].files);
    if (i < held.size() - third) continue;
    late_mib = std::max(late_mib, held[i].mib);
    late_files = std::max(late_files, held[i].files);
  }
  const auto more = static_cast<double>(held.back().answers - early.answers);
  fmt::print(
      "gateway: {:.1f} MiB after {} answers, at most {:.1f} later ({:.0f} bytes an answer, {:.0f} "
      "are kept); files {} at most, {} later\n",
      early.mib, early.answers, late_mib, (late_mib - early.mib) * (1 << 20) / more,
      kReceiptBytes + kTicketBytes, early_files, late_files);
  EXPECT_LE(late_mib, early.mib + kMibAtOnce + kMibOfAnswer * more);
  EXPECT_LE(late_files, early_files + kFilesAtOnce);
}

TEST_F(Deaths, OfProvidersLoseNothingAtSeventyPercentOfThePeak) {
  const auto right = right_answers(kPictures);
  start();
  Pace pace;
  std::vector<Held> held;
  std::uint64_t answers = 0;
  double peak_rate = 0;
  {
    std::vector<std::unique_ptr<Customer>> customers;
    for (int i = 0; i < kCustomers; ++i) {
      customers.push_back(
          std::make_unique<Customer>(fmt::format("c{}", i), connect(), grpc_, right, pace));
    }
    peak_rate = peak(pace);
    pace.set(kShareOfPeak * peak_rate);
    held = suffer(pace);
    answers = pace.answers();
  }
  std::uint64_t failures = 0;
  for (const auto& [why, times] : pace.failures()) {
    failures += times;
    fmt::print("  {:5} {}\n", times, why);
  }
  fmt::print("{} s, peak {:.0f}/s: {} answers ({:.0f}/s), {} failures, {} wrong\n", held.size(),
             peak_rate, answers, static_cast<double>(answers) / static_cast<double>(held.size()),
             failures, pace.wrongs());
  EXPECT_EQ(pace.wrongs(), 0U);
  EXPECT_EQ(failures, 0U);
  // Where others use the machine too, it may not do for long what it did then.
  EXPECT_GE(answers, static_cast<std::uint64_t>(0.5 * kShareOfPeak * peak_rate) * held.size());
  expect_no_leak(held);
  const Acknowledged acknowledged = pace.receipts();
  auto client = connect();
  const Kept kept = expect_receipts(client, acknowledged);
  std::uint64_t all = 0;
  for (const auto& [account, receipts] : acknowledged) all += receipts.size();
  expect_tickets(kept, all);
  expect_store(acknowledged, kept);
}

}  // namespace
}  // namespace commensal::e2e
