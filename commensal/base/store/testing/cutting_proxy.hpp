// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <functional>
#include <string>
#include <thread>

namespace commensal::store::testing {

/// What becomes of the message at which a connection is cut.
enum class Cut : std::uint8_t {
  kBefore,  // the server never sees it
  kDuring,  // it is on its way there when the client's side ends
  kAfter,   // it is answered, which nobody hears
};

/// Stands before a server on a Unix socket and cuts connections at a chosen message, counted over
/// all of them. Thread-safety: arm() and count() any thread.
class CuttingProxy {
 public:
  /// `server`: the folder of its socket.
  explicit CuttingProxy(core::Path server);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  core::Path folder() const { return folder_.path(); }
  /// Cuts at the `number`-th message from now, counted from 0; `and_then` is called before the
  /// client can see it.
  void arm(
      int number, Cut cut, std::function<void()> and_then = [] {});
  bool has_cut() const { return left_ < 0; }

 private:
  void serve(const std::stop_token& stop);
  void pass(int client, int server);

  const core::Path server_;
  core::TemporaryFolder folder_;
  core::Descriptor listening_;
  std::atomic<int> left_ = -1;
  Cut cut_ = Cut::kBefore;
  std::function<void()> and_then_;
  std::atomic<bool> is_ending_ = false;
  std::jthread thread_;
};

}  // namespace commensal::store::testing
