// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>

/// What receipts and tickets cost a provider.
namespace commensal::lab::bench::overhead {

struct OverheadOptions {
  core::Path model;            // an ONNX file; its inputs are float32
  core::Path folder;           // for the provider's state, on the disk that is to be measured
  int rounds = 15;             // of the three slices below, in an order that changes
  std::size_t requests = 256;  // in one slice
  std::size_t in_flight = 32;  // requests that the provider has at any time
};

/// As a share of plain execution: the median over rounds, and its quartiles.
struct Share {
  double value = 0, low = 0, high = 0;
};

struct Overhead {
  double plain_s = 0;         // processor time of one request without receipts
  double batch = 0;           // receipts under one signature, on average
  std::uint64_t winners = 0;  // tickets that were paid
  Share ingest;               // processor time of hashing the request's own bytes
  Share beyond_ingest;  // all else that receipts and tickets add: processor time of all threads
  Share beyond_ingest_outside;  // of that, what is not the model's own runs. These are the same
  Share beyond_ingest_inside;   // work on each side: what they take longer is caches, and drift
  Share beyond_ingest_wall;     // and what the requests take longer, one after the other
  Share all;                    // processor time of both
};

/// Drives three servers in turn with the same requests, each request with a picture that is not the
/// last one's, on the same thread for work and engine of one thread: one that only computes and
/// delivers; one that opens the job's c_0 as well; and a Provider with a SQLite store, which
/// commits, signs, is countersigned, draws its tickets and claims the winners. What the
/// gateway's side takes is left out. Wall time is that from the first execution to the end of the
/// last one, which is what a queue waits for.
/// Errors: those of the model, the store and the provider.
core::Result<Overhead> measure_overhead(const OverheadOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::overhead
