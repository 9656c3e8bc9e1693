// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/serve/part.hpp>
#include <cstddef>
#include <string>

/// A gateway and its provider, each a Part of its own: the daemons, and the same faces with next to
/// nothing between them.
namespace commensal::lab::bench::serve {

struct StackOptions {
  core::Path folder;         // for state, on the disk that is to be measured
  std::size_t at_once = 64;  // requests that the provider may join in one run
  int threads = 1;           // of the provider's model
  double audit_probability = 0.1;
};

/// Where a gateway is, as it says: "GRPC HTTP PROVIDERS TOKEN".
struct GatewayPlace {
  std::string grpc, http, providers, token;
  static core::Result<GatewayPlace> read(const std::string& said);
};

core::Result<void> gateway(const Part::Side& side, const StackOptions& options);
core::Result<void> provider(const Part::Side& side, const StackOptions& options,
                            const GatewayPlace& place);

/// What a provider writes as it ends: how often it ran models for answers, and for how many.
core::Path runs_file(const StackOptions& options);

/// The same faces, links and engines around the least that can be between them: nothing is chosen,
/// priced, committed to, signed, countersigned, audited or kept. It serves one model, whose file
/// both are given.
core::Result<void> plain_gateway(const Part::Side& side, const StackOptions& options,
                                 const std::string& model_name, core::ByteView model);
core::Result<void> plain_provider(const Part::Side& side, const StackOptions& options,
                                  const GatewayPlace& place, const core::Path& model);

}  // namespace commensal::lab::bench::serve
