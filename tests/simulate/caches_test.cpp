// One line and two or three processors, to the nanosecond: what each step costs was worked out by
// hand from the figures of by_hand.hpp.
#include <gtest/gtest.h>

#include "by_hand.hpp"

namespace by_hand {
namespace {

TEST(Caches, FirstTouchIsFromMemoryAndThenItIsAHit) {
  story s(round());
  s.on(0, [&] {
    s.change();  // 100: memory of the own node; the change itself is at its end
    s.note("mine");
    s.change();  // 10: a hit
    s.note("again");
    s.load();  // 1
    s.note("read");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"mine", 100}, {"again", 110}, {"read", 111}}));
  EXPECT_EQ(*s.word, 2u);
}

TEST(Caches, TwoChangesQueueForTheLine) {
  story s(round());
  s.on(0, [&] {
    s.change();
    s.note("first");  // 100
  });
  s.on(1, [&] {
    s.in->spend(10 * ns);
    s.change();  // asked at 10, served from 100 on, 60 more from the neighbour's cache
    s.note("second");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"first", 100}, {"second", 160}}));
}

TEST(Caches, ARequestIsUnderWayWhileAnotherIsServed) {
  // Half of a transfer is the request: of 60, 30 have passed for one that waits since 10, and 10 for
  // one that waits since 90.
  for (const auto& [asked, served] : {std::pair{10u, 130u}, std::pair{90u, 150u}}) {
    figures f = round();
    f.request = 500;
    story s(f);
    s.on(0, [&] { s.change(); });  // 100
    s.on(1, [&] {
      s.in->spend(asked * ns);
      s.change();
      s.note("second");
    });
    s.run();
    EXPECT_EQ(s.times, (times{{"second", served}}));
  }
}

TEST(Caches, TheDistanceDecides) {
  story s(round());
  s.on(0, [&] { s.change(); });  // 100
  s.on(2, [&] {                  // another cache of the node
    s.in->spend(200 * ns);
    s.change();
    s.note("node");  // 200 + 100
  });
  s.on(4, [&] {  // the other node
    s.in->spend(400 * ns);
    s.change();
    s.note("package");  // 400 + 180
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"node", 300}, {"package", 580}}));
  EXPECT_EQ(s.in->counted.transfers[static_cast<std::size_t>(distance::node)], 1u);
  EXPECT_EQ(s.in->counted.transfers[static_cast<std::size_t>(distance::package)], 1u);
}

TEST(Caches, AModifiedLineMigratesToItsReader) {
  for (const std::uint64_t migratory : {0u, 1u}) {
    figures f = round();
    f.migratory = migratory;
    story s(f);
    s.on(0, [&] { s.change(); });  // 100
    s.on(1, [&] {
      s.in->spend(200 * ns);
      s.load();    // 40 from the other core of the cache
      s.change();  // 10 if the line came for writing, else 60
      s.note("changed");
    });
    s.on(0, [&] {  // from 100 on, when the first thread has left its processor
      s.in->spend(1'000 * ns);
      s.load();  // 40
      s.note("read");
    });
    s.run();
    EXPECT_EQ(s.times, (times{{"changed", migratory != 0 ? 250 : 300}, {"read", 1'140}}));
  }
}

TEST(Caches, AnUnmodifiedLineIsShared) {
  figures f = round();
  f.migratory = 1;
  story s(f);
  s.on(0, [&] { s.change(); });  // 100
  s.on(1, [&] {
    s.in->spend(200 * ns);
    s.load();  // takes the modified line
  });
  s.on(0, [&] {
    s.in->spend(1'000 * ns);
    s.load();  // 40: the other has not written to it
  });
  s.on(1, [&] {  // from 240 on
    s.in->spend(2'000 * ns);
    s.load();
    s.note("hit");  // 1
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"hit", 2'241}}));
}

TEST(Caches, AReadLeavesACopyAndAWriterTakesAllAway) {
  story s(round());
  s.on(0, [&] {
    s.change();  // 100
    s.in->spend(400 * ns);
    s.change();  // 500: a copy at 1 and one at 4: 180 for the farther, 3 for the other
    s.note("written");
  });
  s.on(1, [&] {
    s.in->spend(200 * ns);
    EXPECT_EQ(s.load(), 1u);
    s.note("near");  // 200 + 40
  });
  s.on(4, [&] {
    s.in->spend(300 * ns);
    EXPECT_EQ(s.load(), 1u);
    s.note("far");  // 300 + 160
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"near", 240}, {"far", 460}, {"written", 683}}));
  EXPECT_EQ(s.in->counted.invalidations, 2u);
}

TEST(Caches, ReadersOfACleanLineFollowClosely) {
  story s(round());
  s.on(0, [&] { s.change(); });  // 100
  for (const std::uint32_t reader : {1u, 2u, 3u}) {
    s.on(reader, [&, reader] {
      s.in->spend(200 * ns);
      s.load();
      s.note(std::to_string(reader));
    });
  }
  s.run();
  // 1 has it from 0 at 240. 2 is served then, from the next cache: 320; 3 follows after 5, and its
  // neighbour has no copy yet.
  EXPECT_EQ(s.times, (times{{"1", 240}, {"2", 320}, {"3", 325}}));
}

TEST(Caches, ADirectoryMakesARemoteHomeSlow) {
  for (const bool by_home : {false, true}) {
    figures f = round();
    f.directory = by_home ? 1 : 0;
    story s(f);
    s.on(4, [&] { s.change(); });  // The home is node 1; 100
    s.on(0, [&] {
      s.in->spend(200 * ns);
      s.change();  // 180 from the other node
    });
    s.on(2, [&] {
      s.in->spend(400 * ns);
      s.change();  // 100 from the next cache, or 180 by way of node 1
      s.note("changed");
    });
    s.run();
    EXPECT_EQ(s.times, (times{{"changed", by_home ? 580u : 500u}}));
  }
}

TEST(Caches, AStoreWaitsInTheBufferAndIsSeenByItsThread) {
  figures f = round();
  f.store_buffer = 8;
  story s(f);
  s.on(0, [&] {
    s.in->store(s.word, 7, sizeof *s.word);
    s.note("stored");         // 1: it does not wait for the line
    EXPECT_EQ(s.load(), 7u);  // from the buffer
    s.note("own");            // 2
    s.change();               // the store has the line at 100, when the other's load is served;
    s.note("drained");        // so it is asked for again at 140: 200
  });
  s.on(1, [&] {
    s.in->spend(50 * ns);
    EXPECT_EQ(s.load(), 7u);  // served at 100, has it at 140
    s.note("other");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"stored", 1}, {"own", 2}, {"other", 140}, {"drained", 200}}));
}

TEST(Caches, StoreBuffersAreWhatTwoThreadsMissEachOtherBy) {
  // The litmus test SB: each writes one word and reads the other's. Without a fence both may read 0,
  // with a read-modify-write in between they may not.
  for (const bool fenced : {false, true}) {
    figures f = round();
    f.store_buffer = 8;
    story s(f);
    std::uint64_t* other = s.word + 8;
    std::uint64_t* own = s.word + 16;
    std::uint64_t seen[2] = {9, 9};
    const auto thread = [&](int i, std::uint64_t* write, std::uint64_t* read) {
      s.in->load(read, 8);  // So that each has what it reads.
      s.in->spend(1'000 * ns - s.in->time.now);
      s.in->store(write, 1, 8);
      if (fenced) {
        s.in->begin_change(own + 8 * i);
      }
      seen[i] = s.in->load(read, 8);
    };
    s.on(0, [&] { thread(0, s.word, other); });
    s.on(1, [&] { thread(1, other, s.word); });
    s.run();
    EXPECT_EQ(seen[0] + seen[1] == 0, !fenced);
  }
}

TEST(Caches, NearestFirstPassesAFarRequestAFewTimes) {
  for (const bool nearest : {false, true}) {
    figures f = round();
    f.nearest_first = nearest ? 10 : 0;
    story s(f);
    s.on(0, [&] { s.change(); });  // 100
    s.on(4, [&] {
      s.in->spend(10 * ns);
      s.change();
      s.note("far");
    });
    s.on(1, [&] {
      s.in->spend(20 * ns);
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
}  // namespace by_hand
