// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_planner.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/planner/plan.hpp>

namespace commensal::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Profile profile(double busy, double compute, double bandwidth, double memory_gib) {
  Profile made;
  made.name = "it";
  made.device = "a100-40";
  made.busy_share = busy;
  made.compute_share = compute;
  made.bandwidth_share = bandwidth;
  made.memory_gib = memory_gib;
  return made;
}

Plan plan_of(const PlanRequest& request) {
  const auto plan = make_plan(request);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *plan : Plan{};
}

const Candidate& best(const Plan& plan) { return plan.candidates[plan.winner]; }
const Candidate& of(const Plan& plan, Mode mode) {
  return plan.candidates[static_cast<std::size_t>(mode)];
}

TEST(Model, FillsByWeightAndDemand) {
  using Doubles = std::vector<double>;
  EXPECT_THAT(water_fill(Doubles{1, 1}, Doubles{1, 3}, 1), ElementsAre(0.25, 0.75));
  EXPECT_THAT(water_fill(Doubles{0.125, 1, 1}, Doubles{1, 1, 1}, 1),
              ElementsAre(0.125, 0.4375, 0.4375));
  EXPECT_THAT(water_fill(Doubles{0.25, 0.5}, Doubles{1, 1}, 1), ElementsAre(0.25, 0.5));
  EXPECT_THAT(water_fill(Doubles{1, 0}, Doubles{1, 1}, -1), ElementsAre(0, 0));
}

TEST(Model, OfOneProgramInAPart) {
  const Profile one = profile(0.5, 0.4, 0.1, 1);
  EXPECT_DOUBLE_EQ(rate_alone(one, {}), 1);
  EXPECT_DOUBLE_EQ(rate_alone(one, {0.8, 1}), 1);         // its phases need no more
  EXPECT_DOUBLE_EQ(rate_alone(one, {0.2, 1}), 1 / 2.5);   // 0.5 idle, 0.4 / 0.2 busy
  EXPECT_DOUBLE_EQ(rate_alone(one, {1, 0.05}), 1 / 2.5);  // 0.1 / 0.05
  EXPECT_NEAR(rate_alone(one, {1, 0}), 0, 1e-12);
}

TEST(Model, OfProgramsInTurns) {
  const std::vector<Profile> two{profile(0.5, 0.4, 0.1, 1), profile(0.25, 0.1, 0.1, 1)};
  EXPECT_THAT(in_turns(two, {}, false).rates, ElementsAre(1, 1));  // 0.75 of the time
  const std::vector<Profile> full{profile(1, 1, 0, 1), profile(1, 1, 0, 1)};
  EXPECT_THAT(in_turns(full, {}, false).rates, ElementsAre(0.485, 0.485));
}

TEST(Model, OfProgramsSideBySide) {
  // Each needs half of the multiprocessors; the one without traffic loses 0.1 x 0.4 to the other.
  const std::vector<Profile> two{profile(1, 0.5, 0.4, 1), profile(1, 0.5, 0, 1)};
  const Sharing both = side_by_side(two, {});
  EXPECT_THAT(both.percentages, ElementsAre(0.5, 0.5));
  EXPECT_THAT(both.rates, ElementsAre(testing::DoubleEq(1), testing::DoubleEq(0.96)));
}

TEST(Model, SeesAProfileFromAnotherDevice) {
  Profile one = profile(1, 0.5, 1, 1);
  one.rate = 100;
  const auto there = rebased(one, "a100-80");
  ASSERT_TRUE(there);
  EXPECT_NEAR(there->bandwidth_share, 1555.0 / 2039, 1e-9);
  const auto back = rebased(*there, "a100-40");
  ASSERT_TRUE(back);
  EXPECT_NEAR(back->bandwidth_share, 1, 1e-9);
  EXPECT_NEAR(*back->rate, 100, 1e-9);
  const auto other = rebased(one, "h100-80");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "it: a profile of a100-40 says nothing of h100-80");
}

// A host that is busy all the time costs what the guest takes: 0.5 % of the time is left.
TEST(Planner, GovernsAGuestBesideAFullHost) {
  const Plan plan = plan_of({profile(1, 1, 0.5, 10), {profile(1, 0.5, 0.5, 4)}, "auto"});
  EXPECT_EQ(best(plan).mode, Mode::kTimeSlice);
  EXPECT_NEAR(best(plan).worth, 0.005, 1e-9);
  EXPECT_NEAR(best(plan).host_loss, 0.005, 1e-9);
  EXPECT_THAT(of(plan, Mode::kMps).why, HasSubstr("trust domain"));
  EXPECT_THAT(of(plan, Mode::kMig).why, HasSubstr("not movable"));
  EXPECT_THAT(of(plan, Mode::kNested).why, HasSubstr("nobody to share"));
  EXPECT_THAT(of(plan, Mode::kNone).why, HasSubstr("time slice gives"));
}

// A host that needs a quarter of the device keeps its rate in 3g.20gb; the guest gets 4g.20gb.
TEST(Planner, PutsAMovableHostIntoAnInstance) {
  Profile host = profile(1, 0.25, 0.25, 8);
  host.movable = true;
  const Plan plan = plan_of({host, {profile(1, 1, 0.2, 15)}, "auto"});
  EXPECT_EQ(best(plan).mode, Mode::kMig);
  EXPECT_NEAR(best(plan).worth, 56.0 / 108, 1e-9);
  EXPECT_EQ(best(plan).host_loss, 0);
  EXPECT_EQ(best(plan).guests[0].where, "4g.20gb@0");
  host.compute_share = 1;  // no instance is as large as the device
  EXPECT_THAT(of(plan_of({host, {profile(1, 1, 0.2, 15)}, "auto"}), Mode::kMig).why,
              HasSubstr("the host loses"));
}

TEST(Planner, NestsWhatDoesNotGetAnInstanceEach) {
  std::vector<Profile> guests(4, profile(0.2, 0.02, 0.02, 9));
  Profile host = profile(1, 0.25, 0.25, 19);
  host.movable = true;
  guests.resize(2);
  const Plan plan = plan_of({host, guests, "auto"});
  const Candidate& nested = of(plan, Mode::kNested);
  ASSERT_TRUE(nested.is_possible) << nested.why;
  EXPECT_THAT(nested.guests[0].where, HasSubstr("in turns"));
  EXPECT_LE(nested.memory_gib, nested.memory_room);
  guests.resize(5, guests[0]);  // 45 GiB beside 19
  EXPECT_THAT(of(plan_of({host, guests, "auto"}), Mode::kNested).why, HasSubstr("memory"));
}

TEST(Planner, KnowsProcessors) {
  Profile host = profile(0.5, 0.5, 0, 1);
  host.device = "cpu";
  host.device_memory_gib = 8;
  Profile guest = host;
  const Plan plan = plan_of({host, {guest}, "auto"});
  EXPECT_EQ(plan.device, "cpu");
  EXPECT_NEAR(best(plan).worth, 0.1, 1e-9);  // 0.005 of 0.1 x 0.5
  EXPECT_THAT(of(plan, Mode::kMig).why, HasSubstr("cpu cannot be cut"));
  guest.memory_gib = 7.5;
  EXPECT_EQ(best(plan_of({host, {guest}, "auto"})).mode, Mode::kNone);
}

Profile random_profile(core::Rng& rng) {
  const auto draw = [&] { return rng.next_unit(); };
  const double busy = 0.05 + 0.95 * draw();
  Profile made = profile(busy, busy * draw(), busy * draw(), 14 * draw());
  made.weight = 0.5 + 2 * draw();
  made.movable = draw() < 0.5;
  made.trust = draw() < 0.7 ? "one" : "other";
  return made;
}

void expect_sound(const Plan& plan, const PlanRequest& request) {
  const Candidate& winner = best(plan);
  EXPECT_TRUE(winner.is_possible);
  EXPECT_LE(winner.memory_gib, winner.memory_room);
  for (const Candidate& one : plan.candidates) {
    if (!one.is_possible) continue;
    EXPECT_LE(one.host_loss, kSetPoint + 1e-9) << name_of(one.mode);
    EXPECT_LE(one.worth, winner.worth + 1e-9);
    EXPECT_LE(one.memory_gib, one.memory_room + 1e-9);
    EXPECT_EQ(one.guests.size(), request.guests.size());
    for (const Seat& seat : one.guests) {
      EXPECT_GE(seat.rate, 0);
      EXPECT_LE(seat.rate, 1 + 1e-9);
    }
  }
}

// More of a host never gives more to guests, whatever it is more of.
TEST(Planner, GivesNoMoreBesideAHostThatAsksForMore) {
  core::CounterRng rng(7);
  for (int trial = 0; trial < 300; ++trial) {
    PlanRequest request{random_profile(rng), {}, "a100-40"};
    for (std::uint64_t left = 1 + rng.next_u64() % 3; left > 0; --left) {
      request.guests.push_back(random_profile(rng));
    }
    const Plan plan = plan_of(request);
    expect_sound(plan, request);
    const Profile host = *request.host;
    const double more = 1 + rng.next_unit();
    const auto capped = [&](double share) { return std::min(share * more, host.busy_share); };
    std::vector<Profile> greater(4, host);
    greater[0].compute_share = capped(host.compute_share);
    greater[1].bandwidth_share = capped(host.bandwidth_share);
    greater[2].memory_gib *= more;
    const double all = std::min(more, 1 / host.busy_share);
    greater[3].busy_share *= all;
    greater[3].compute_share *= all;
    greater[3].bandwidth_share *= all;
    for (const Profile& one : greater) {
      const PlanRequest harder{one, request.guests, "a100-40"};
      EXPECT_LE(best(plan_of(harder)).worth, best(plan).worth + 1e-6) << "trial " << trial;
    }
  }
}

TEST(Planner, RefusesByName) {
  const Profile guest = profile(1, 1, 1, 1);
  for (const auto& [request, what] :
       {std::pair(PlanRequest{{}, {}, "auto"}, "0 guests, expected 1 to 5"),
        {PlanRequest{{}, {6, guest}, "auto"}, "6 guests"},
        {PlanRequest{{}, {guest}, "a1000"}, "no device 'a1000'"},
        {PlanRequest{profile(1, 1, 1, 41), {guest}, "auto"}, "the host asks for 41.0 GiB"},
        {PlanRequest{{}, {guest}, "cpu"}, "it: a profile of a100-40 says nothing of cpu"}}) {
    const auto plan = make_plan(request);
    ASSERT_FALSE(plan) << what;
    EXPECT_THAT(plan.error().message, StartsWith(what));
  }
}

// What was seen of trainings on an A100 with 40 GB: small ones gain, medium and large ones hardly.
TEST(Planner, SaysOfTheExamplesWhatWasSeen) {
  const auto read = [](const std::string& name) {
    return read_profile(std::string(COMMENSAL_SOURCE_DIR) + "/examples/collocation/" + name);
  };
  const auto small = read("small.yaml");
  const auto medium = read("medium.yaml");
  const auto large = read("large.yaml");
  ASSERT_TRUE(small && medium && large);
  const auto gain = [](const Profile& one) {
    return best(plan_of({{}, {one, one}, "a100-40"})).worth;  // alone in turn: 1
  };
  EXPECT_GT(gain(*small), 1.8);
  EXPECT_LT(gain(*medium), 1.2);
  EXPECT_LT(gain(*large), 1.05);
  const MigProfile& least = mig_profiles("a100-40").front();
  ASSERT_EQ(least.name, "1g.5gb");
  EXPECT_LT(small->memory_gib, least.memory_gib);
  EXPECT_GT(medium->memory_gib, least.memory_gib);
  EXPECT_FALSE(of(plan_of({{}, {5, *medium}, "a100-40"}), Mode::kMig).is_possible);
}

constexpr const char* kGood =
    "name: it\ndevice: a100-40\nbusy_share: 0.9\ncompute_share: 0.5\nbandwidth_share: 0.25\n"
    "memory_gib: 3\n";

TEST(ProfileYaml, IsReadBack) {
  auto one = parse_profile(std::string(kGood) +
                           "threads_per_block: 256\nregisters_per_thread: 32\nrate: 12.5\n"
                           "unit: images\nweight: 2\ntrust: lab\nmovable: true\n");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->compute_share, 0.5);
  EXPECT_EQ(one->kernel->threads, 256);
  EXPECT_TRUE(one->movable);
  const std::string text = profile_yaml(*one, "said by nobody\ntwice");
  EXPECT_THAT(text, StartsWith("# said by nobody\n# twice\nname: it\n"));
  const auto again = parse_profile(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(profile_yaml(*again, ""), profile_yaml(*one, ""));
  EXPECT_EQ(again->unit, "images");
}

TEST(ProfileYaml, RefusesByNameInOneLine) {
  const std::string good = kGood;
  const auto with = [&](const std::string& more) { return good + more + "\n"; };
  for (const auto& [yaml, what] :
       {std::pair(std::string("name: it\n"), "device: expected, and not there"),
        {std::string(""), "expected a map"},
        {std::string("- a\n"), "expected a map"},
        {std::string("a: [1\n"), "line "},
        {with("colour: blue"), "colour: there is no such field"},
        {with("memory_gib: 4"), "memory_gib: it is there twice"},
        {with("weight: 0"), "weight: '0', expected a number of 0.001 to 1000"},
        {with("weight: 1e999"), "weight: "},
        {with("weight: nan"), "weight: 'nan'"},
        {with("weight: 3 kg"), "weight: '3 kg'"},
        {with("weight:"), "weight: expected one value"},
        {with("weight: [1]"), "weight: expected one value"},
        {with("[1]: 2"), "a field's name is no text"},
        {with("movable: yes"), "movable: 'yes', expected true or false"},
        {with("unit: ''"), "unit: expected a text"},
        {with("unit: \"a\\nb\""), "unit: expected a text"},
        {with("threads_per_block: 1.5"), "threads_per_block: '1.5', expected a whole number"},
        {with("threads_per_block: 2048"), "kernel: 2048 threads a block"},
        {std::string(limits::kProfileBytesMax + 1, ' '), "more than 65536 bytes"},
        {std::string(40000, '['), "line "}}) {
    const auto read = parse_profile(yaml);
    ASSERT_FALSE(read) << what;
    EXPECT_EQ(read.error().code, core::ErrorCode::kInvalidArgument);
    EXPECT_THAT(read.error().message, StartsWith(what));
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
  std::string greedy = good;
  greedy.replace(greedy.find("0.5"), 3, "0.95");
  EXPECT_EQ(parse_profile(greedy).error().message,
            "compute_share: 0.95, expected at most busy_share (0.9)");
  std::string elsewhere = good;
  elsewhere.replace(elsewhere.find("a100-40"), 7, "abacus");
  EXPECT_THAT(parse_profile(elsewhere).error().message, StartsWith("device: 'abacus', expected"));
  elsewhere.replace(elsewhere.find("abacus"), 6, "cpu");
  EXPECT_THAT(parse_profile(elsewhere).error().message, StartsWith("device_memory_gib: expected"));
}

}  // namespace
}  // namespace commensal::planner
