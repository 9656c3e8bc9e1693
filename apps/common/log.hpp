// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace commensal::apps {

/// A line of a service's log: on stderr, after the time in UTC. Any thread.
void say(std::string_view line);
/// The same for one that has the time in it.
void say_as_is(std::string_view line);

}  // namespace commensal::apps
