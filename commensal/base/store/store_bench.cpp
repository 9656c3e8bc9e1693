// SPDX-License-Identifier: Apache-2.0
// What a batch costs on each twin that is durable: docs/scale-out.md has the figures.
#include <benchmark/benchmark.h>

#include <commensal/base/store/postgres_store.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/testing/postgres_server.hpp>

namespace commensal::store {
namespace {

/// As of one request: some rows of some hundred bytes, new keys and a total.
core::Store::Batch batch_of(std::uint32_t number) {
  core::Store::Batch batch;
  for (std::uint8_t row = 0; row < 8; ++row) {
    core::Bytes key = {row, static_cast<std::uint8_t>(number >> 16),
                       static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
    if (row == 0) key.resize(1);
    batch.push_back({"rows", key, core::Bytes(300, static_cast<std::uint8_t>(number))});
  }
  return batch;
}

void apply_all(benchmark::State& state, core::Store& store) {
  std::uint32_t number = 0;
  for (auto _ : state) {
    if (!store.apply(batch_of(++number))) state.SkipWithError("a batch was not applied");
  }
}

void on_sqlite(benchmark::State& state) {
  const auto folder = *core::TemporaryFolder::make("commensal-bench");
  apply_all(state, **open_sqlite_store(folder.path() / "store"));
}

void on_postgres(benchmark::State& state) {
  if (const auto missing = testing::PostgresServer::missing_package()) {
    return state.SkipWithError(missing->c_str());
  }
  static testing::PostgresServer server;
  const core::SystemClock clock;
  apply_all(state, **open_postgres_store(server.url(), {.owner = "bench"}, clock));
}

BENCHMARK(on_sqlite)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(on_postgres)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace commensal::store
