// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <apps/common/outputs.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/io/image.hpp>
#include <commensal/serve/client/card.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// What a model's card says of a request for it, where no option says otherwise.

/// The rule by which a card has pictures read, as the options of declare_picture() would have it,
/// bit for bit. Error: kDataLoss (what no gateway takes).
core::Result<io::PictureRule> rule_of(const client::Card::Picture& picture);
/// Changes what `app`'s options have not set.
core::Result<void> apply_card(const CLI::App& app, const client::Card& card, io::PictureRule& rule,
                              Reading& reading);
/// The card's size and colour, in the input that it names, where the model leaves them open.
void fix_size(const client::Card::Picture& picture, graph::Graph& graph);
/// "FILE" as "INPUT=FILE" where the model has several inputs and FILE may be a picture of the one
/// that the card names.
std::string named_input(const client::Card::Picture& picture, const graph::Graph& graph,
                        const std::string& given);

}  // namespace commensal::apps
