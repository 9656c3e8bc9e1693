// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/serve/load.hpp>
#include <commensal/lab/bench/serve/part.hpp>
#include <memory>

/// What bounds a server that runs a network: the network alone, in the asker's own process or
/// behind one hop of gRPC, and HTTP alone.
namespace commensal::lab::bench::serve {

/// Runs the network in the calling process, one request at a time, with inputs of zeros of the
/// shapes that it declares, free dimensions 1. Error: those of reading it.
core::Result<std::unique_ptr<Load>> direct_load(const core::Path& model, const core::Clock& clock);

/// A server of one process that answers ModelInfer: it reads the request, runs the network, writes
/// the answer. Nothing is checked, counted or kept. Says "host:port".
core::Result<void> one_process(const Part::Side& side, const core::Path& model);

/// nginx with an answer of so many bytes, one worker. Says "host:port". Error: kUnavailable (it is
/// not installed).
core::Result<void> nginx(const Part::Side& side, const core::Path& folder,
                         std::size_t answer_bytes);

}  // namespace commensal::lab::bench::serve
