// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/bench/serve/batching.hpp>
#include <string>
#include <vector>

namespace commensal::lab::bench::serve {

struct ServeBenchOptions {
  core::Path folder;       // for state, on the disk that is to be measured
  core::Path memory;       // likewise, where fdatasync costs nothing; "": what needs it is left out
  core::Path digits;       // the file of the digit network
  std::string parts = "";  // of the bench, by their names, separated by commas; "": all
  std::vector<std::size_t> concurrency = {1, 8, 64, 256};
  int rounds = 7;  // slices of each party, in an order that changes
  std::int64_t slice_ms = 2'000;
  std::size_t at_once = 8;        // requests that a provider may join in one run
  std::size_t requests = 50'000;  // over which memory is looked at
  BatchingOptions batching = {};
};

/// What a gateway and its provider take of a request, on one machine, asked by one client with
/// identical payloads, each beside what bounds it, in turn. Parts:
/// - rates: of Triton's `simple` (two rows of 16 int32, their sum and difference) over gRPC; beside
///   gRPC alone over the same two hops (echo.hpp), once and twice, the same faces and links without
///   dispatcher, money and receipts, one process that does nothing but run the network, and nginx
///   with a static answer;
/// - added: latency of the digit network over gRPC and REST, less that of a direct run;
/// - large: a tensor of 10 MB on its way in, state on the disk and in memory; gRPC alone over two
///   hops with it, and writing it alone;
/// - memory: of both daemons, from a tenth of the requests to the last; where these are more than
///   receipts are kept, from then on too;
/// - batching: what joining requests brings (batching.hpp).
/// Starts processes: call it before this one has threads. Errors: those of the parties.
core::Result<Report> run_serve_bench(const ServeBenchOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::serve
