// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/collocation/slice.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Point>& points) {
  Json made = Json::array();
  for (const Point& point : points) made.push_back({point.host_rate, point.images_per_s});
  return made;
}

Json to_json(const std::vector<Epoch>& epochs) {
  Json made = Json::array();
  for (const Epoch& epoch : epochs) {
    made.push_back({{"from_s", epoch.from_s},
                    {"to_s", epoch.to_s},
                    {"is_let", epoch.is_let},
                    {"work", epoch.work},
                    {"work_s", epoch.work_s},
                    {"images", epoch.images},
                    {"latencies_ms", epoch.latencies_ms},
                    {"unhindered_ms", epoch.unhindered_ms}});
  }
  return made;
}

Epoch epoch_of(const Json& json) {
  return {json.at("from_s"), json.at("to_s"),   json.at("is_let"),       json.at("work"),
          json.at("work_s"), json.at("images"), json.at("latencies_ms"), json.at("unhindered_ms")};
}

Slice slice_of(const Json& json) {
  Slice made{json.at("pair"),
             json.at("index"),
             json.at("arm"),
             json.at("block"),
             json.at("begin_s"),
             json.at("seconds"),
             json.at("guest_cpu"),
             json.at("governor_cpu"),
             json.at("said"),
             {},
             {},
             {}};
  if (json.contains("stolen")) made.stolen = json["stolen"].get<double>();
  for (const Json& point : json.at("points")) made.points.push_back({point.at(0), point.at(1)});
  for (const Json& epoch : json.at("epochs")) made.epochs.push_back(epoch_of(epoch));
  return made;
}

}  // namespace

std::string to_line(const Slice& slice) {
  Json made = {{"pair", slice.pair},
               {"index", slice.index},
               {"arm", slice.arm},
               {"block", slice.block},
               {"begin_s", slice.begin_s},
               {"seconds", slice.seconds},
               {"guest_cpu", slice.guest_cpu},
               {"governor_cpu", slice.governor_cpu},
               {"said", slice.said},
               {"points", to_json(slice.points)},
               {"epochs", to_json(slice.epochs)}};
  if (slice.stolen) made["stolen"] = *slice.stolen;
  return made.dump() + "\n";
}

std::string to_line(const Alone& alone) {
  return Json({{"pair", alone.pair}, {"alone_images_per_s", alone.images_per_s}}).dump() + "\n";
}

const Alone* Slices::find_alone(std::string_view pair) const {
  const auto found = std::ranges::find(alone, pair, &Alone::pair);
  return found == alone.end() ? nullptr : &*found;
}

const Slice* Slices::find(std::string_view pair, int index) const {
  const auto found = std::ranges::find_if(
      slices, [&](const Slice& one) { return one.pair == pair && one.index == index; });
  return found == slices.end() ? nullptr : &*found;
}

Result<Slices> read_slices(std::string_view text) {
  Slices made;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return made;  // cut off while it was written
    const Json json = Json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(end + 1);
    try {
      if (json.contains("alone_images_per_s")) {
        made.alone.push_back({json.at("pair"), json.at("alone_images_per_s")});
      } else {
        made.slices.push_back(slice_of(json));
      }
    } catch (const Json::exception&) {
      return fail(ErrorCode::kDataLoss, "line {} is no slice of this benchmark", number);
    }
  }
  return made;
}

}  // namespace commensal::lab::bench::collocation
