// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/compute/io/image.hpp>

namespace commensal::apps {

/// --image-resize, --image-convert, --image-layout, --image-colour, --image-mean and --image-scale:
/// how pictures become inputs. `rule` outlives the parsing.
void declare_picture(CLI::App& app, io::PictureRule& rule);

}  // namespace commensal::apps
