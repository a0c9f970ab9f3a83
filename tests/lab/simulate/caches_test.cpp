// Worked examples of one line and a few processors, exact to the nanosecond: the cost of each step
// follows from the figures of worked_examples.hpp.
#include <gtest/gtest.h>

#include "worked_examples.hpp"

namespace worked_examples {
namespace {

TEST(Caches, TheFirstAccessIsAMissAndTheNextAHit) {
  scenario s(round_figures());
  s.on(0, [&] {
    s.change();  // 100: from the memory of the local node
    s.note("first");
    s.change();  // 10: a hit
    s.note("again");
    s.load();  // 1
    s.note("read");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"first", 100}, {"again", 110}, {"read", 111}}));
  EXPECT_EQ(*s.word, 2u);
}

TEST(Caches, TwoChangesQueueForTheLine) {
  scenario s(round_figures());
  s.on(0, [&] {
    s.change();
    s.note("first");  // 100
  });
  s.on(1, [&] {
    s.sim->spend(10 * ns);
    s.change();  // requested at 10, served from 100, 60 from the other core
    s.note("second");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"first", 100}, {"second", 160}}));
}

TEST(Caches, ARequestTravelsWhileAnotherIsServed) {
  // Half of a transfer is the request: of 60, 30 have passed for a request since 10, and 10 for a
  // request since 90.
  for (const auto& [requested, served] : {std::pair{10u, 130u}, std::pair{90u, 150u}}) {
    figures f = round_figures();
    f.request = 500;
    scenario s(f);
    s.on(0, [&] { s.change(); });  // 100
    s.on(1, [&] {
      s.sim->spend(requested * ns);
      s.change();
      s.note("second");
    });
    s.run();
    EXPECT_EQ(s.times, (times{{"second", served}}));
  }
}

TEST(Caches, ATransferTakesLongerWithDistance) {
  scenario s(round_figures());
  s.on(0, [&] { s.change(); });  // 100
  s.on(2, [&] {                  // another cache of the node
    s.sim->spend(200 * ns);
    s.change();
    s.note("node");  // 200 + 100
  });
  s.on(4, [&] {  // the other node
    s.sim->spend(400 * ns);
    s.change();
    s.note("package");  // 400 + 180
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"node", 300}, {"package", 580}}));
  EXPECT_EQ(s.sim->counted.transfers[static_cast<std::size_t>(distance::node)], 1u);
  EXPECT_EQ(s.sim->counted.transfers[static_cast<std::size_t>(distance::package)], 1u);
}

TEST(Caches, AWriterKeepsALineForAWhile) {
  for (const picoseconds keep : {0 * ns, 20 * ns}) {
    figures f = round_figures();
    f.keep = keep;
    scenario s(f);
    s.on(0, [&] {
      s.change();  // 100
      s.change();  // 10 if the line is still there, else 60 after the other core's 60
      s.note("again");
    });
    s.on(1, [&] {
      s.sim->spend(50 * ns);
      s.change();  // 60 from when the line may be taken away
      s.note("other");
    });
    s.run();
    EXPECT_EQ(s.times, keep == 0 ? (times{{"other", 160}, {"again", 220}})
                                 : (times{{"again", 110}, {"other", 180}}));
  }
}

TEST(Caches, AModifiedLineMigratesToItsReader) {
  for (const std::uint64_t migratory : {0u, 1u}) {
    figures f = round_figures();
    f.migratory = migratory;
    scenario s(f);
    s.on(0, [&] { s.change(); });  // 100
    s.on(1, [&] {
      s.sim->spend(200 * ns);
      s.load();    // 40 from the other core of the cache
      s.change();  // 10 if the line arrived for writing, else 60
      s.note("changed");
    });
    s.on(0, [&] {  // from 100, when the first thread has ended
      s.sim->spend(1'000 * ns);
      s.load();  // 40
      s.note("read");
    });
    s.run();
    EXPECT_EQ(s.times, (times{{"changed", migratory != 0 ? 250 : 300}, {"read", 1'140}}));
  }
}

TEST(Caches, AnUnmodifiedLineIsShared) {
  figures f = round_figures();
  f.migratory = 1;
  scenario s(f);
  s.on(0, [&] { s.change(); });  // 100
  s.on(1, [&] {
    s.sim->spend(200 * ns);
    s.load();  // takes the modified line
  });
  s.on(0, [&] {
    s.sim->spend(1'000 * ns);
    s.load();  // 40: the other core has not written to the line
  });
  s.on(1, [&] {  // from 240
    s.sim->spend(2'000 * ns);
    s.load();
    s.note("hit");  // 1
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"hit", 2'241}}));
}

TEST(Caches, AReadLeavesACopyAndAWriteInvalidatesAll) {
  scenario s(round_figures());
  s.on(0, [&] {
    s.change();  // 100
    s.sim->spend(400 * ns);
    s.change();  // 500: 180 for the farther copy, at 4, and 3 for that at 1
    s.note("written");
  });
  s.on(1, [&] {
    s.sim->spend(200 * ns);
    EXPECT_EQ(s.load(), 1u);
    s.note("near");  // 200 + 40
  });
  s.on(4, [&] {
    s.sim->spend(300 * ns);
    EXPECT_EQ(s.load(), 1u);
    s.note("far");  // 300 + 160
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"near", 240}, {"far", 460}, {"written", 683}}));
  EXPECT_EQ(s.sim->counted.invalidations, 2u);
}

TEST(Caches, ReadsOfACleanLineOverlap) {
  scenario s(round_figures());
  s.on(0, [&] { s.change(); });  // 100
  for (const std::uint32_t reader : {1u, 2u, 3u}) {
    s.on(reader, [&, reader] {
      s.sim->spend(200 * ns);
      s.load();
      s.note(std::to_string(reader));
    });
  }
  s.run();
  // 1 has the line from 0 at 240. Then 2 is served from the next cache, until 320, and 3 after 5
  // more, since the other core of its cache has no copy yet.
  EXPECT_EQ(s.times, (times{{"1", 240}, {"2", 320}, {"3", 325}}));
}

TEST(Caches, ADirectoryMakesARemoteHomeSlow) {
  for (const bool by_home : {false, true}) {
    figures f = round_figures();
    f.directory = by_home ? 1 : 0;
    scenario s(f);
    s.on(4, [&] { s.change(); });  // 100; the home is node 1
    s.on(0, [&] {
      s.sim->spend(200 * ns);
      s.change();  // 180 from the other node
    });
    s.on(2, [&] {
      s.sim->spend(400 * ns);
      s.change();  // 100 from the next cache, or 180 through node 1
      s.note("changed");
    });
    s.run();
    EXPECT_EQ(s.times, (times{{"changed", by_home ? 580u : 500u}}));
  }
}

TEST(Caches, AStoreWaitsInTheBufferAndIsReadByItsThread) {
  figures f = round_figures();
  f.store_buffer = 8;
  scenario s(f);
  s.on(0, [&] {
    s.sim->store(s.word, 7, sizeof *s.word);
    s.note("stored");         // 1: it does not wait for the line
    EXPECT_EQ(s.load(), 7u);  // from the buffer
    s.note("loaded");         // 2
    s.change();               // the store has the line at 100, and the other load is served then;
    s.note("drained");        // requested again at 140: 200
  });
  s.on(1, [&] {
    s.sim->spend(50 * ns);
    EXPECT_EQ(s.load(), 7u);  // served at 100, has it at 140
    s.note("other");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"stored", 1}, {"loaded", 2}, {"other", 140}, {"drained", 200}}));
}

TEST(Caches, AStoreBufferLetsALoadPassAStore) {
  // The litmus test SB: each thread writes a word and reads the other thread's word. Both may read
  // 0, but not with a read-modify-write in between.
  for (const bool fenced : {false, true}) {
    figures f = round_figures();
    f.store_buffer = 8;
    scenario s(f);
    std::uint64_t* other = s.word + 8;
    std::uint64_t* fence = s.word + 16;
    std::uint64_t loaded[2] = {9, 9};
    const auto thread = [&](int i, std::uint64_t* write, std::uint64_t* read) {
      s.sim->load(read, 8);  // Each thread gets the line that it reads.
      s.sim->spend(1'000 * ns - s.sim->time.now);
      s.sim->store(write, 1, 8);
      if (fenced) {
        s.sim->begin_change(fence + 8 * i);
      }
      loaded[i] = s.sim->load(read, 8);
    };
    s.on(0, [&] { thread(0, s.word, other); });
    s.on(1, [&] { thread(1, other, s.word); });
    s.run();
    EXPECT_EQ(loaded[0] + loaded[1] == 0, !fenced);
  }
}

TEST(Caches, NearestFirstPassesAFarRequestAFewTimes) {
  for (const bool nearest : {false, true}) {
    figures f = round_figures();
    f.nearest_first = nearest ? 10 : 0;
    scenario s(f);
    s.on(0, [&] { s.change(); });  // 100
    s.on(4, [&] {
      s.sim->spend(10 * ns);
      s.change();
      s.note("far");
    });
    s.on(1, [&] {
      s.sim->spend(20 * ns);
      s.change();
      s.note("near");
    });
    s.run();
    if (nearest) {
      EXPECT_EQ(s.times, (times{{"near", 160}, {"far", 340}}));
    } else {
      EXPECT_EQ(s.times, (times{{"far", 280}, {"near", 460}}));
    }
  }
}

}  // namespace
}  // namespace worked_examples
