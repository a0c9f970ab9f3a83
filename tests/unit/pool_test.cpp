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
  for (piece& element : pieces) {
    list.put(&element, &element);
  }
  std::set<piece*> pieces_taken;
  for (const std::uint32_t count : {3u, 3u, 100u}) {
    std::uint32_t number = 0;
    for (piece* taken = list.take(count); taken != nullptr; taken = taken->next) {
      EXPECT_TRUE(pieces_taken.insert(taken).second);
      ++number;
    }
    EXPECT_LE(number, count);
  }
  EXPECT_EQ(pieces_taken.size(), 10u);
  EXPECT_EQ(list.take(1), nullptr);
}

// Threads take and put back; no piece ever belongs to two of them, and none is lost.
TEST(FreeList, no_piece_belongs_to_two_threads) {
  struct marked : piece {
    std::atomic<int> users{0};
  };
  std::vector<marked> pieces(64);
  free_list list;
  for (marked& element : pieces) {
    list.put(&element, &element);
  }
  std::atomic<int> shared{0};
  in_parallel(4, [&](int i) {
    for (int round = 0; round < 20'000; ++round) {
      piece* first = list.take(static_cast<std::uint32_t>(1 + (round + i) % 5));
      if (first == nullptr) {
        continue;
      }
      piece* last = first;
      for (piece* taken = first; taken != nullptr; taken = taken->next) {
        shared += static_cast<marked*>(taken)->users.fetch_add(1);
        last = taken;
      }
      for (piece* taken = first; taken != nullptr; taken = taken->next) {
        static_cast<marked*>(taken)->users.fetch_sub(1);
      }
      list.put(first, last);
    }
  });
  EXPECT_EQ(shared.load(), 0);
  std::size_t left = 0;
  for (piece* taken = list.take(1'000); taken != nullptr; taken = taken->next) {
    ++left;
  }
  EXPECT_EQ(left, pieces.size());
}

// No more pieces are created than are in use at the same time, in any interleaving.
TEST(FreeList, is_never_empty_with_a_piece_for_each_thread) {
  constexpr int threads = 4;
  std::vector<piece> pieces(threads);
  free_list list;
  for (piece& element : pieces) {
    list.put(&element, &element);
  }
  std::atomic<int> empty{0};
  in_parallel(threads, [&](int) {
    for (int round = 0; round < 1'000'000; ++round) {
      if (piece* taken = list.take(1)) {
        list.put(taken, taken);
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

// The mappings of a process are limited: adjacent regions are one mapping.
TEST(Cutter, regions_are_adjacent) {
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
    std::vector<std::uintptr_t> cuts;
    for (std::size_t i = 0; i < count / 3; ++i) {
      auto* bytes = static_cast<unsigned char*>(cut.cut(size));
      EXPECT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; }));
      std::memset(bytes, 0xFF, size);
      cuts.push_back(reinterpret_cast<std::uintptr_t>(bytes));
    }
    const std::lock_guard hold{guard};
    starts.insert(starts.end(), cuts.begin(), cuts.end());
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
    std::set<node*> nodes;
    for (int i = 0; i < 1'000; ++i) {
      node* first = lockwright::native::take_node<node>();
      node* second = lockwright::native::take_node<node>();
      EXPECT_NE(first, second);
      nodes.insert({first, second});
      lockwright::native::give_node(first);
      lockwright::native::give_node(second);
    }
    EXPECT_EQ(nodes.size(), 2u);
  }}.join();
}

// Nodes taken by one thread and given back by another do not accumulate in the cache of the latter.
TEST(Nodes, do_not_accumulate) {
  struct node {
    char bytes[64];
  };
  std::set<node*> nodes;
  std::array<std::atomic<node*>, 64> slots{};
  constexpr std::size_t rounds = 50'000;
  in_parallel(2, [&](int i) {
    for (std::size_t round = 0; round < rounds; ++round) {
      std::atomic<node*>& slot = slots[round % slots.size()];
      if (i == 0) {
        node* taken = lockwright::native::take_node<node>();
        nodes.insert(taken);
        wait_until([&] { return slot.load() == nullptr; });
        slot = taken;
      } else {
        node* given = nullptr;
        wait_until([&] { return (given = slot.exchange(nullptr)) != nullptr; });
        lockwright::native::give_node(given);
      }
    }
  });
  EXPECT_LE(nodes.size(), 256u);
}

TEST(Threads, have_distinct_numbers) {
  std::mutex guard;
  std::set<std::uint32_t> numbers;
  for (int round = 0; round < 20; ++round) {
    in_parallel(4, [&](int) {
      const std::uint32_t self = lockwright::native::self();
      EXPECT_NE(self, 0u);
      EXPECT_EQ(lockwright::native::self(), self);
      const std::lock_guard hold{guard};
      EXPECT_TRUE(numbers.insert(self).second);
    });
  }
}

}  // namespace
