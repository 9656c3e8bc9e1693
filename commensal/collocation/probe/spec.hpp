// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace commensal::probe {

/// "http://[TOKEN@]HOST:PORT[/TARGET]" or "tcp://HOST:PORT". HOST is a numeric address, an IPv6 one
/// in brackets, or "localhost": a probe waits for no name server.
struct Endpoint {
  bool is_tcp = false;
  std::string token;  // sent as a bearer's
  std::string host;   // numeric, without brackets
  std::uint16_t port = 0;
  std::string target;  // "" or begins with "/"
};

/// Error: kInvalidArgument.
core::Result<Endpoint> parse_endpoint(std::string_view text);

/// A spec's parts: "KIND:PLACE" or "KIND:PLACE#DETAIL". The first '#' divides. At the end of
/// either,
/// "@PID" is the process whose time is read beside, "@listener" the one that listens at PLACE.
///   xmrig:http://127.0.0.1:4067       (the same for lolminer, trex, nbminer, gminer, excavator)
///   excavator:tcp://127.0.0.1:3456
///   prometheus:http://127.0.0.1:9100/metrics#steps_total{job="train"}
///   prometheus:...#rate:NAME          (a gauge of work a second) or #work:NAME (a counter)
///   prometheus:...#steps_total/busy_seconds_total   (work by the program's own time)
///   log:/var/log/train.log#step (\d+) (or #rate:REGEX: the number is a rate)
///   counter:/run/train/steps          (a file that holds one growing number)
///   counter:/run/train/steps@1234     (... by the time that process 1234 needed)
///   process:1234                      (CPU time of a process)
struct Spec {
  std::string kind;
  std::string place;
  std::optional<std::string> detail{};
  std::optional<int> process{};  // 0: the listener
};

/// Error: kInvalidArgument.
core::Result<Spec> parse_spec(std::string_view text);

/// The same without the token of its endpoint: what may be shown, logged and kept.
std::string without_token(std::string_view spec);

/// One line of plain ASCII, whatever it was: what a host's own files and programs say.
std::string printable(std::string_view text);

}  // namespace commensal::probe
