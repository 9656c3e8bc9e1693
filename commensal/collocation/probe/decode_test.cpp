// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/testing/fake_server.hpp>

namespace commensal::probe {
namespace {

using namespace testing;
using core::ErrorCode;
using ::testing::HasSubstr;

struct Format {
  const char* kind;
  const char* file;
  double value;
  std::optional<double> uptime_s;
  const char* field;   // the figure, as it stands in the file
  const char* name;    // what an error calls it
  const char* number;  // of the field
};

const Format kFormats[] = {
    {"xmrig", "xmrig.json", 1207.19, 2113, "\"total\": [1207.19", "hashrate.total[0]", "1207.19"},
    {"lolminer", "lolminer.json", 121765400, 3604, "\"Total_Performance\": 121.7654",
     "Algorithms[0].Total_Performance", "121.7654"},
    {"trex", "trex.json", 45290543, 3108, "\"hashrate\": 45290543,\n  \"hashrate_day\"", "hashrate",
     "45290543"},
    {"nbminer",
     "nbminer.json",
     36309872.44,
     {},
     "\"total_hashrate_raw\": 36309872.44",
     "miner.total_hashrate_raw",
     "36309872.44"},
    {"gminer", "gminer.json", 105, 19566, "\"speed\": 53", "devices[].speed", "53"},
    {"excavator", "excavator.json", 9199373.942307692, 19.18597412109375,
     "\"speed\": 9198932.692307692", "algorithms[].speed", "9198932.692307692"},
};

TEST(Decoders, ReadWhatMinersAnswer) {
  for (const Format& format : kFormats) {
    const auto figure = find_miner(format.kind)->decode(recorded(format.file));
    ASSERT_TRUE(figure) << format.kind << ": " << figure.error().message;
    EXPECT_DOUBLE_EQ(figure->value, format.value) << format.kind;
    EXPECT_EQ(figure->uptime_s, format.uptime_s) << format.kind;
  }
}

TEST(Decoders, RefuseWhatIsNoFigureByName) {
  for (const Format& format : kFormats) {
    const std::string text = recorded(format.file);
    const auto refusal = [&](const std::string& number) {
      const std::string other = bent(format.field, format.number, number);
      const auto figure = find_miner(format.kind)->decode(bent(text, format.field, other));
      return figure ? "accepted" : figure.error().message;
    };
    EXPECT_THAT(refusal("-1"), HasSubstr(std::string(format.name) + " is negative"));
    EXPECT_THAT(refusal("1e300"), HasSubstr(std::string(format.name) + " is above 1e+18"));
    EXPECT_THAT(refusal("\"12\""), HasSubstr(std::string(format.name) + " is string"));
    EXPECT_THAT(refusal("true"), HasSubstr(std::string(format.name) + " is boolean"));
    EXPECT_THAT(refusal("NaN"), HasSubstr("no JSON"));
    EXPECT_THAT(refusal("1e999"), HasSubstr("no JSON"));
    EXPECT_EQ(refusal("0"), "accepted") << format.kind;
  }
}

TEST(Decoders, RefuseOtherTexts) {
  const std::string deep = "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}";
  const std::string large = "{\"a\":\"" + std::string(limits::kProbeBodyBytesMax, 'x') + "\"}";
  for (const Miner& miner : miners()) {
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"),
          std::string("<html>"), std::string("{}"), std::string("{} {}"), deep, large}) {
      const auto figure = miner.decode(text);
      ASSERT_FALSE(figure) << miner.name << " " << text.substr(0, 20);
      EXPECT_EQ(figure.error().code, ErrorCode::kDataLoss) << miner.name;
    }
    for (const Format& format : kFormats) {  // one miner's answer is not another's
      if (miner.name == format.kind) continue;
      EXPECT_FALSE(miner.decode(recorded(format.file))) << miner.name << " of " << format.kind;
    }
  }
}

TEST(Decoders, TellWhenThereIsNoFigureYet) {
  const auto code = [](const char* kind, const std::string& text) {
    const auto figure = find_miner(kind)->decode(text);
    return figure ? ErrorCode::kInternal : figure.error().code;
  };
  EXPECT_EQ(code("xmrig", bent(recorded("xmrig.json"), "[1207.19", "[null")),
            ErrorCode::kUnavailable);
  for (const char* kind : {"xmrig", "trex"}) {
    std::string text = recorded(std::string(kind) + ".json");
    const std::size_t at = text.rfind("\"paused\": false");
    EXPECT_EQ(code(kind, text.replace(at, 15, "\"paused\": true")), ErrorCode::kUnavailable);
  }
  EXPECT_EQ(code("excavator", R"({"algorithms":[],"id":1,"error":null})"), ErrorCode::kUnavailable);
  EXPECT_EQ(code("excavator", R"({"id":1,"error":"no"})"), ErrorCode::kUnavailable);
}

TEST(Decoders, KnowLolminersUnits) {
  const struct {
    const char* unit;
    double factor;
  } units[] = {{"h/s", 1}, {"kh/s", 1e3}, {"Mh/s", 1e6},   {"Gh/s", 1e9},
               {"g/s", 1}, {"Sol/s", 1},  {"kSol/s", 1e3}, {"MH/s", 1e6}};
  const std::string text = recorded("lolminer.json");
  for (const auto& unit : units) {
    const auto figure = decode_lolminer(bent(text, "Mh/s", unit.unit));
    ASSERT_TRUE(figure) << unit.unit;
    EXPECT_DOUBLE_EQ(figure->value, 121.7654 * unit.factor) << unit.unit;
  }
  for (const char* unit : {"", "apples", "Xh/s", "MMh/s"})
    EXPECT_FALSE(decode_lolminer(bent(text, "Mh/s", unit))) << unit;
}

Selector selector(std::string_view text) { return *parse_selector(text); }

TEST(PrometheusDecoder, SumsTheSeriesThatFit) {
  const std::string text = recorded("training.prom");
  const auto value = [&](std::string_view of) {
    return decode_prometheus(text, selector(of))->value;
  };
  EXPECT_EQ(value("steps_total{job=\"train\"}"), 2350);
  EXPECT_EQ(value("steps_total"), 2367);
  EXPECT_EQ(value("steps_total{device=\"0\",job=\"evaluate\"}"), 17);
  EXPECT_EQ(value("images_per_second"), 431.5);
  EXPECT_EQ(value("steps_total_seconds"), 2500);
  EXPECT_EQ(value("steps_total_seconds{note=\"a \\\"quoted\\\" \\\\ name, with } in it\"}"), 2500);
}

TEST(PrometheusDecoder, Refuses) {
  const std::string text = recorded("training.prom");
  const auto refusal = [&](std::string_view of) {
    const auto figure = decode_prometheus(text, selector(of));
    return figure ? "accepted" : figure.error().message;
  };
  EXPECT_THAT(refusal("steps"), HasSubstr("no metric steps"));
  EXPECT_THAT(refusal("steps_total{job=\"other\"}"), HasSubstr("no metric steps_total"));
  EXPECT_THAT(refusal("rate:steps_total"), HasSubstr("write work:steps_total"));
  EXPECT_THAT(refusal("loss"), HasSubstr("loss is not a number"));
  EXPECT_THAT(refusal("free_bytes"), HasSubstr("free_bytes"));
  EXPECT_THAT(refusal("temperature_celsius"), HasSubstr("negative"));
  for (const char* bad :
       {"", "{", "a{", "a{b}", "a{b=c}", "a{b=\"c\"", "a{b=\"c\"}x", "a b", "rate:"})
    EXPECT_FALSE(parse_selector(bad)) << bad;
  EXPECT_FALSE(decode_prometheus("a 1e19\n", selector("a")));
  EXPECT_FALSE(decode_prometheus("a{b=\"\n", selector("a")));
  EXPECT_FALSE(decode_prometheus("a\n", selector("a")));
}

TEST(PrometheusDecoder, ReadsWorkByTheProgramsOwnTime) {
  const std::string_view text = "steps_total{of=\"a/b\"} 70\nbusy_seconds_total 3.5\nload 1\n";
  const auto both = parse_selectors("steps_total{of=\"a/b\"}/busy_seconds_total");
  ASSERT_TRUE(both) << both.error().message;
  const auto figure = decode_prometheus(text, *both);
  ASSERT_TRUE(figure) << figure.error().message;
  EXPECT_EQ(figure->value, 70);
  EXPECT_EQ(figure->own_s, 3.5);
  EXPECT_EQ(decode_prometheus(text, *parse_selectors("steps_total"))->own_s, std::nullopt);
  for (const char* of : {"steps_total/load", "load/busy_seconds_total", "steps_total/", "/a_total",
                         "a_total/b_total/c_total"}) {
    EXPECT_FALSE(parse_selectors(of)) << of;
  }
  EXPECT_FALSE(decode_prometheus(text, *parse_selectors("steps_total/idle_seconds_total")));
}

TEST(PrometheusDecoder, KnowsCountersByTheirNames) {
  EXPECT_EQ(selector("x_total").quantity, Quantity::kWork);
  EXPECT_EQ(selector("x_total{a=\"b\"}").quantity, Quantity::kWork);
  EXPECT_EQ(selector("x").quantity, Quantity::kRate);
  EXPECT_EQ(selector("work:x").quantity, Quantity::kWork);
  EXPECT_EQ(selector("rate:x_total").quantity, Quantity::kRate);
}

TEST(ProcessStat, IsReadBehindTheLastParenthesis) {
  const auto stat = parse_process_stat(recorded("stat.txt"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a (b) c) d");
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->cpu_ticks, 300U);
  EXPECT_EQ(stat->start_ticks, 123456U);
  for (const char* bad : {"", "(", ")(", "1 (a)", "1 (a) R", "1 (a) R 1 2 3",
                          "1 (a) R 1 1 1 0 -1 4 1 0 0 0 x 50 7 8 20 0 2 0 123456"})
    EXPECT_FALSE(parse_process_stat(bad)) << bad;
}

}  // namespace
}  // namespace commensal::probe
