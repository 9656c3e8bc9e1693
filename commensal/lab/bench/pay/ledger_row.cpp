// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/lab/bench/pay/pay_bench.hpp>
#include <commensal/trade/pay/ledger/book.hpp>

namespace commensal::lab::bench::pay {
namespace {

using core::Result;
using ledger::Amount;
using ledger::Book;
using ledger::Transaction;

constexpr double kLimitPerS = 5000;
constexpr std::size_t kConsumers = 64;

/// Somebody with a key that follows from a number.
struct Person {
  crypto::SecretKey key;
  crypto::Address address;

  explicit Person(std::uint8_t number)
      : key(*crypto::SecretKey::from_bytes(core::Digest{7, number})), address(key.address()) {}
};

/// A gateway that debits its consumers, as it does for every request.
class Payments {
 public:
  Payments() {
    for (std::size_t i = 0; i < kConsumers; ++i) {
      consumers_.emplace_back(static_cast<std::uint8_t>(10 + i));
    }
  }

  Result<void> set_up(Book& book) {
    ledger::Config config;
    config.operator_address = operator_.address;
    COMMENSAL_TRY(stage(book, operator_, ledger::Genesis{config}));
    for (std::uint8_t i = 0; i < consumers_.size(); ++i) {
      const Amount plenty(std::uint64_t{1} << 40);
      COMMENSAL_TRY(
          stage(book, operator_, ledger::Deposit{consumers_[i].address, plenty, core::Digest{i}}));
      COMMENSAL_TRY(stage(book, consumers_[i], ledger::Allow{operator_.address, plenty}));
    }
    return book.commit();
  }

  /// Signed ahead: who signs is somebody else's time.
  std::vector<Transaction> debits(const Book& book, std::size_t count) {
    std::vector<Transaction> made;
    const std::uint64_t nonce = book.state().nonces.get(operator_.address);
    for (std::size_t i = 0; i < count; ++i) {
      const Person& payer = consumers_[i % consumers_.size()];
      ledger::Debit debit{
          payer.address, operator_.address, ledger::AccountKind::kAvailable, Amount(1 + i), {},
          core::Digest{}};
      made.push_back(signed_by(operator_, nonce + i, debit));
    }
    return made;
  }

 private:
  Result<void> stage(Book& book, const Person& sender, ledger::Body body) {
    const std::uint64_t nonce = book.state().nonces.get(sender.address);
    COMMENSAL_TRY(book.stage(signed_by(sender, nonce, std::move(body)), 0));
    return {};
  }
  Transaction signed_by(const Person& sender, std::uint64_t nonce, ledger::Body body) const {
    Transaction made;
    made.ledger = operator_.address;
    made.sender = sender.address;
    made.nonce = nonce;
    made.body = std::move(body);
    ledger::sign(sender.key, made);
    return made;
  }

  Person operator_{1};
  std::vector<Person> consumers_;
};

}  // namespace

Result<bench::Row> bench_ledger(const PayBenchOptions& options, const core::Clock& clock) {
  COMMENSAL_ASSIGN(const auto store, store::open_sqlite_store(options.folder / "ledger.sqlite"));
  const ledger::Signatures signatures;
  COMMENSAL_ASSIGN(Book book, Book::open(*store, signatures));
  Payments payments;
  COMMENSAL_TRY(payments.set_up(book));
  std::vector<double> rates;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const std::size_t count = options.group * options.groups;
    const std::vector<Transaction> debits = payments.debits(book, count);
    const std::int64_t begin_ns = clock.monotonic_ns();
    for (std::size_t i = 0; i < count; ++i) {
      COMMENSAL_TRY(book.stage(debits[i], 0));
      if (book.staged() == options.group) COMMENSAL_TRY(book.commit());
    }
    const double seconds = static_cast<double>(clock.monotonic_ns() - begin_ns) * 1e-9;
    rates.push_back(static_cast<double>(count) / seconds);
  }
  return bench::row_at_least(
      "ledger_durable_commits_per_s", kLimitPerS, std::move(rates),
      fmt::format("debits, one signature each, SQLite with fsync after every {}, one "
                  "thread, {} repeats of {}",
                  options.group, options.repeats, options.group * options.groups));
}

}  // namespace commensal::lab::bench::pay
