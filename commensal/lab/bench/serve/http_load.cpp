// SPDX-License-Identifier: Apache-2.0
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <commensal/lab/bench/serve/load.hpp>

namespace commensal::lab::bench::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using Error = boost::system::error_code;

/// Connections are kept from run to run. One thread, the caller's, serves all of them.
class HttpLoad final : public Load {
 public:
  HttpLoad(const std::string& address, std::string request, const core::Clock& clock)
      : request_(std::move(request)), clock_(clock) {
    const std::size_t colon = address.rfind(':');
    host_ = address.substr(0, colon);
    port_ = address.substr(colon + 1);
  }

  core::Result<Loaded> run(std::size_t concurrency, std::int64_t ms) override {
    took_ns_.clear();
    failed_.clear();
    const std::int64_t begin_ns = clock_.monotonic_ns();
    end_ns_ = begin_ns + ms * 1'000'000;
    while (clients_.size() < concurrency) clients_.push_back(std::make_unique<Client>(io_));
    for (std::size_t i = 0; i < concurrency; ++i) ask(*clients_[i]);
    io_.restart();
    io_.run();
    if (!failed_.empty()) {
      clients_.clear();
      return core::fail(core::ErrorCode::kUnavailable, "HTTP at {}:{}: {}", host_, port_, failed_);
    }
    const double seconds = static_cast<double>(clock_.monotonic_ns() - begin_ns) * 1e-9;
    return loaded_of(took_ns_, seconds, answer_bytes_);
  }

 private:
  struct Client {
    explicit Client(asio::io_context& io) : socket(io) {}
    tcp::socket socket;
    beast::flat_buffer buffer;
    beast::http::response<beast::http::string_body> answer;
    std::int64_t since_ns = 0;
  };

  void ask(Client& client) {
    if (!client.socket.is_open()) {
      Error error;
      tcp::resolver resolver(io_);
      asio::connect(client.socket, resolver.resolve(host_, port_, error), error);
      if (error) return fail(client, error.message());
      client.socket.set_option(tcp::no_delay(true));
    }
    client.since_ns = clock_.monotonic_ns();
    client.answer = {};
    asio::async_write(client.socket, asio::buffer(request_),
                      [this, &client](const Error& error, std::size_t) {
                        if (error) return fail(client, error.message());
                        read(client);
                      });
  }
  void read(Client& client) {
    beast::http::async_read(client.socket, client.buffer, client.answer,
                            [this, &client](const Error& error, std::size_t bytes) {
                              if (error) return fail(client, error.message());
                              answered(client, bytes);
                            });
  }
  void answered(Client& client, std::size_t bytes) {
    if (client.answer.result_int() != 200) return fail(client, client.answer.body());
    const std::int64_t now_ns = clock_.monotonic_ns();
    took_ns_.push_back(now_ns - client.since_ns);
    answer_bytes_ = bytes;
    if (now_ns < end_ns_ && failed_.empty()) ask(client);
  }
  void fail(Client& client, const std::string& why) {
    if (failed_.empty()) failed_ = why;
    Error ignored;
    client.socket.close(ignored);
  }

  const std::string request_;
  const core::Clock& clock_;
  std::string host_, port_;
  asio::io_context io_{1};
  std::vector<std::unique_ptr<Client>> clients_;
  std::int64_t end_ns_ = 0;
  std::vector<std::int64_t> took_ns_;
  std::size_t answer_bytes_ = 0;
  std::string failed_;
};

}  // namespace

std::unique_ptr<Load> http_load(const std::string& address, std::string request,
                                const core::Clock& clock) {
  return std::make_unique<HttpLoad>(address, std::move(request), clock);
}

}  // namespace commensal::lab::bench::serve
