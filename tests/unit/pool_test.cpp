// The pools that queue nodes come from.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "observed.hpp"

namespace {

using namespace testing_locks;
using lockwright::native_env::cutter;
using lockwright::native_env::free_list;
using lockwright::native_env::piece;

TEST(FreeList, gives_what_was_put) {
  free_list list;
  EXPECT_EQ(list.take(1), nullptr);
  piece pieces[10];
  for (piece& one : pieces) {
    list.put(&one, &one);
  }
  std::set<piece*> seen;
  for (const std::uint32_t count : {3u, 3u, 100u}) {
    std::uint32_t got = 0;
    for (piece* one = list.take(count); one != nullptr; one = one->next) {
      EXPECT_TRUE(seen.insert(one).second);
      ++got;
    }
    EXPECT_LE(got, count);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(list.take(1), nullptr);
}

// Threads take and put back; no piece is ever with two of them, and none is lost.
TEST(FreeList, no_piece_is_with_two_threads) {
  struct marked : piece {
    std::atomic<int> users{0};
  };
  std::vector<marked> pieces(64);
  free_list list;
  for (marked& one : pieces) {
    list.put(&one, &one);
  }
  std::atomic<int> shared{0};
  in_parallel(4, [&](int i) {
    for (int round = 0; round < 20'000; ++round) {
      piece* first = list.take(static_cast<std::uint32_t>(1 + (round + i) % 5));
      if (first == nullptr) {
        continue;
      }
      piece* last = first;
      for (piece* one = first; one != nullptr; one = one->next) {
        shared += static_cast<marked*>(one)->users.fetch_add(1);
        last = one;
      }
      for (piece* one = first; one != nullptr; one = one->next) {
        static_cast<marked*>(one)->users.fetch_sub(1);
      }
      list.put(first, last);
    }
  });
  EXPECT_EQ(shared.load(), 0);
  std::size_t left = 0;
  for (piece* one = list.take(1'000); one != nullptr; one = one->next) {
    ++left;
  }
  EXPECT_EQ(left, pieces.size());
}

// No more pieces come into being than are in use at the same time, however the threads take turns.
TEST(FreeList, nobody_finds_it_empty_that_leaves_one_for_each) {
  constexpr int threads = 4;
  std::vector<piece> pieces(threads);
  free_list list;
  for (piece& one : pieces) {
    list.put(&one, &one);
  }
  std::atomic<int> empty{0};
  in_parallel(threads, [&](int) {
    for (int round = 0; round < 1'000'000; ++round) {
      if (piece* one = list.take(1)) {
        list.put(one, one);
      } else {
        ++empty;
      }
    }
  });
  EXPECT_EQ(empty.load(), 0);
}

std::size_t mappings() {
  std::ifstream maps{"/proc/self/maps"};
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>{maps}, std::istreambuf_iterator<char>{}, '\n'));
}

// A process can have so many mappings and no more: regions that lie side by side are one.
TEST(Cutter, regions_lie_side_by_side) {
  cutter cut;
  constexpr std::size_t size = cutter::region / 2;
  constexpr std::size_t regions = 200;
  const std::size_t before = mappings();
  for (std::size_t i = 0; i < 2 * regions; ++i) {
    cut.cut(size);
  }
  EXPECT_LT(mappings(), before + regions / 4);
}

TEST(Cutter, cuts_are_zeroed_aligned_and_apart) {
  cutter cut;
  constexpr std::size_t size = 64;
  constexpr std::size_t count = 3 * cutter::region / size;  // over several regions
  std::mutex guard;
  std::vector<std::uintptr_t> starts;
  in_parallel(3, [&](int) {
    std::vector<std::uintptr_t> own;
    for (std::size_t i = 0; i < count / 3; ++i) {
      auto* bytes = static_cast<unsigned char*>(cut.cut(size));
      EXPECT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; }));
      std::memset(bytes, 0xFF, size);
      own.push_back(reinterpret_cast<std::uintptr_t>(bytes));
    }
    const std::lock_guard hold{guard};
    starts.insert(starts.end(), own.begin(), own.end());
  });
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ASSERT_EQ(starts[i] % size, 0u);
    ASSERT_TRUE(i == 0 || starts[i] - starts[i - 1] >= size);
  }
}

TEST(Nodes, a_thread_gets_back_what_it_gave) {
  struct node {
    char bytes[64];
  };
  test_thread{[] {
    std::set<node*> seen;
    for (int i = 0; i < 1'000; ++i) {
      node* one = lockwright::native::take_node<node>();
      node* two = lockwright::native::take_node<node>();
      EXPECT_NE(one, two);
      seen.insert({one, two});
      lockwright::native::give_node(one);
      lockwright::native::give_node(two);
    }
    EXPECT_EQ(seen.size(), 2u);
  }}.join();
}

// Nodes taken by one thread and given by another do not pile up with the giver.
TEST(Nodes, do_not_pile_up_with_the_giver) {
  struct node {
    char bytes[64];
  };
  std::set<node*> seen;
  std::array<std::atomic<node*>, 64> slots{};
  constexpr std::size_t rounds = 50'000;
  // A thread that has to wait sleeps: on a busy machine each yield would cost time slices.
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::microseconds{20}); };
  in_parallel(2, [&](int i) {
    for (std::size_t round = 0; round < rounds; ++round) {
      std::atomic<node*>& slot = slots[round % slots.size()];
      if (i == 0) {
        node* one = lockwright::native::take_node<node>();
        seen.insert(one);
        while (slot.load() != nullptr) {
          pause();
        }
        slot = one;
      } else {
        node* one = nullptr;
        while ((one = slot.exchange(nullptr)) == nullptr) {
          pause();
        }
        lockwright::native::give_node(one);
      }
    }
  });
  EXPECT_LE(seen.size(), 256u);
}

TEST(Threads, have_numbers_of_their_own) {
  std::mutex guard;
  std::set<std::uint32_t> seen;
  for (int round = 0; round < 20; ++round) {
    in_parallel(4, [&](int) {
      const std::uint32_t self = lockwright::native::self();
      EXPECT_NE(self, 0u);
      EXPECT_EQ(lockwright::native::self(), self);
      const std::lock_guard hold{guard};
      EXPECT_TRUE(seen.insert(self).second);
    });
  }
}

}  // namespace
