// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace commensal::e2e {

/// A network of this test's own, with nothing but addresses of loopback that come and go: who has
/// one that is gone is cut off, and finds its connections again once it is back.
class OwnNetwork {
 public:
  /// For this thread and all that it starts from now on; where the kernel refuses, nothing changes
  /// (then each address of loopback is there for good).
  static OwnNetwork enter();

  bool is_own() const { return is_own_; }
  /// 127.0.0.`number`, 2 to 9. Nothing where the network is everybody's.
  void set(int number, bool is_there) const;

 private:
  bool is_own_ = false;
};

}  // namespace commensal::e2e
