// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/exchange.hpp>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <functional>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

/// Whatever is asked over a connection.
class RemoteProbe final : public Probe {
 public:
  using Ask = std::function<Result<std::string>()>;
  using Decode = std::function<Result<Figure>(std::string_view)>;

  RemoteProbe(const Dependencies& deps, const Traits& traits, Ask ask, Decode decode)
      : clock_(deps.clock),
        traits_(traits),
        ask_(std::move(ask)),
        decode_(std::move(decode)),
        liveness_(traits.stale_after_s) {}

  const Traits& traits() const override { return traits_; }

  Sample sample() override {
    const std::int64_t asked_ns = clock_.monotonic_ns();
    const Result<std::string> text = ask_();
    // The figure was read somewhere between question and answer.
    const std::int64_t at_ns = asked_ns + (clock_.monotonic_ns() - asked_ns) / 2;
    if (!text) return {at_ns, 0, State::kInvalid, text.error().message};
    const Result<Figure> figure = decode_(*text);
    if (!figure) return {at_ns, 0, State::kInvalid, figure.error().message};
    return liveness_.judge(at_ns, *figure);
  }

 private:
  const core::Clock& clock_;
  Traits traits_;
  Ask ask_;
  Decode decode_;
  Liveness liveness_;
};

}  // namespace

Result<std::string> ask(const Miner& miner, const Endpoint& endpoint, const core::Clock& clock,
                        std::int64_t wait_ms) {
  if (endpoint.is_tcp) return tcp_ask(endpoint, miner.line, clock, wait_ms);
  const bool has_target = endpoint.target.size() > 1;
  return http_get(endpoint, has_target ? endpoint.target : miner.target, clock, wait_ms);
}

Result<std::unique_ptr<Probe>> open_miner(const Miner& miner, const Spec& spec,
                                          const Dependencies& deps) {
  if (spec.detail)
    return fail(ErrorCode::kInvalidArgument, "{} takes nothing after '#'", miner.name);
  COMMENSAL_ASSIGN(const Endpoint endpoint, parse_endpoint(spec.place));
  if (endpoint.is_tcp && miner.line.empty())
    return fail(ErrorCode::kInvalidArgument, "{} speaks HTTP: expected http://HOST:PORT",
                miner.name);
  return std::make_unique<RemoteProbe>(
      deps, miner.traits,
      [&miner, endpoint, &clock = deps.clock] {
        return ask(miner, endpoint, clock, limits::kProbeWaitMs);
      },
      miner.decode);
}

Result<std::unique_ptr<Probe>> open_prometheus(const Spec& spec, const Dependencies& deps) {
  COMMENSAL_ASSIGN(Endpoint endpoint, parse_endpoint(spec.place));
  if (endpoint.is_tcp || !spec.detail)
    return fail(ErrorCode::kInvalidArgument,
                "expected prometheus:http://HOST:PORT/metrics#METRIC{{label=\"value\"}}");
  if (endpoint.target.empty()) endpoint.target = "/metrics";
  COMMENSAL_ASSIGN(const Selectors selectors, parse_selectors(*spec.detail));
  // A gauge is renewed whenever it is asked for, as far as anybody knows.
  const Traits traits{"units of the metric", selectors.figure.quantity, 1, 0, 30};
  return std::make_unique<RemoteProbe>(
      deps, traits,
      [endpoint, &clock = deps.clock] {
        return http_get(endpoint, endpoint.target, clock, limits::kProbeWaitMs);
      },
      [selectors](std::string_view text) { return decode_prometheus(text, selectors); });
}

}  // namespace commensal::probe
