// SPDX-License-Identifier: Apache-2.0
// The gateway's routes, the whole market behind them: requests one after the other, each a line
// "WHO METHOD TARGET [JSON BYTES]" (who: r, the operator, a, an account, x, nobody), two bytes of
// length, and a body. Every request gets one answer, what is refused in one line.
#include <unistd.h>

#include <algorithm>
#include <commensal/lab/sim/testing/market.hpp>
#include <commensal/serve/http/api.hpp>
#include <sstream>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

constexpr int kRequestsMax = 12;
constexpr std::int64_t kPatienceMs = 200'000;  // longer than any of the gateway's

class Town {
 public:
  Town()
      : market_(1, std::filesystem::temp_directory_path() / fmt::format("fuzz-api-{}", ::getpid()),
                config()) {
    core::check(market_.start_gateway().has_value(), "a gateway starts");
    root_ = *market_.gateway().accounts().create("root", gateway::Role::kOperator);
    alice_ = *market_.gateway().accounts().create("alice", gateway::Role::kConsumer);
    (void)market_.add_provider("p");
    market_.rest_ms(100);
  }

  void ask(std::string_view line, core::ByteView body) {
    const auto later = [this](oip::Task task) { market_.loop().post(std::move(task)); };
    const auto turns = std::make_shared<oip::Turns>(later, market_.clock());
    core::CounterRng rng(1);
    oip::Serving serving{.observer = {market_.clock(), rng, {}}};
    const oip::Services services{.gateway = market_.gateway(),
                                 .loop = market_.loop(),
                                 .clock = market_.clock(),
                                 .turns = turns,
                                 .codec = later,
                                 .staging = turns,
                                 .pieces = turns,
                                 .heavy = turns,
                                 .lists = turns,
                                 .serving = serving};
    std::istringstream words{std::string(line)};
    std::string who, json_bytes;
    http::Request head;
    words >> who >> head.method >> head.target;
    head.from.party = "somebody";
    head.from.is_strangers = true;
    if (words >> json_bytes) head.json_bytes = json_bytes;
    if (who == "r") head.from.authorization = "Bearer " + root_;
    if (who == "a") head.from.authorization = "Bearer " + alice_;
    auto answers = std::make_shared<int>(0);
    const auto reply = [answers](http::Response response) {
      ++*answers;
      core::check(http::reason_phrase(response.status) != "", "a status has a name");
      core::check(response.status < 400 || response.text.find('\n') == std::string::npos,
                  "an error is one line");
    };
    core::Bytes bytes(body.begin(), body.end());
    http::admit(services, head, [&](http::CallPtr call, std::optional<http::Response> refusal) {
      if (refusal) return reply(std::move(*refusal));
      if (static_cast<std::int64_t>(bytes.size()) > call->route->body_bytes_max) return reply({});
      std::ranges::copy(bytes, call->body.prepare(bytes.size(), bytes.size()).begin());
      call->body.commit(bytes.size());
      call->route->handle(services, call, reply);
    });
    market_.rest_ms(kPatienceMs);
    core::check(*answers == 1, "a request has one answer");
  }

 private:
  static gateway::GatewayConfig config() {
    gateway::GatewayConfig made;
    made.audit_probability = 0.5;
    made.open_signup = protocol::Amount();
    return made;
  }

  sim::testing::Market market_;
  std::string root_, alice_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Town town;
  core::ByteView rest(data, size);
  for (int i = 0; i < kRequestsMax && !rest.empty(); ++i) {
    const std::string_view text = core::as_text(rest);
    const std::string_view line = text.substr(0, text.find('\n'));
    rest = rest.subspan(std::min(rest.size(), line.size() + 1));
    fuzz::Choices length(rest);
    const std::size_t wanted = length.word(2);
    rest = rest.subspan(std::min<std::size_t>(rest.size(), 2));
    const std::size_t taken = std::min(rest.size(), wanted);
    town.ask(line, rest.first(taken));
    rest = rest.subspan(taken);
  }
  return 0;
}
