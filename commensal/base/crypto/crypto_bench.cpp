// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/crypto/sha256.hpp>

namespace commensal::crypto {
namespace {

core::Bytes random_bytes(benchmark::State& state) {
  core::Bytes bytes(static_cast<std::size_t>(state.range(0)));
  core::CounterRng(1).fill(bytes);
  return bytes;
}

void hash_bytes(benchmark::State& state) {
  const core::Bytes bytes = random_bytes(state);
  for (auto _ : state) benchmark::DoNotOptimize(sha256(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hash_bytes)->Arg(64)->Arg(1 << 20);

void hash_tree(benchmark::State& state) {
  const core::Bytes bytes = random_bytes(state);
  for (auto _ : state) benchmark::DoNotOptimize(merkle_root_of_bytes(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hash_tree)->Arg(1 << 20);

void sign_digest(benchmark::State& state) {
  core::CounterRng rng(1);
  const SecretKey key = SecretKey::generate(rng);
  const Digest digest = rng.next_digest();
  for (auto _ : state) benchmark::DoNotOptimize(sign(key, digest));
}
BENCHMARK(sign_digest);

void recover_address(benchmark::State& state) {
  core::CounterRng rng(1);
  const Digest digest = rng.next_digest();
  const Signature signature = sign(SecretKey::generate(rng), digest);
  for (auto _ : state) benchmark::DoNotOptimize(recover(digest, signature));
}
BENCHMARK(recover_address);

}  // namespace
}  // namespace commensal::crypto
