// The allocator of malloc-stress: blocks do not overlap, and freed memory is merged.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "workload/random.hpp"
#include "workload/splay_heap.hpp"

namespace {

TEST(Heap, BlocksDoNotOverlapAndFreedMemoryIsMerged) {
  bench::splay_heap heap(1 << 18);
  bench::random_source random(1);
  EXPECT_TRUE(heap.is_whole());
  std::map<char*, std::pair<std::size_t, char>> held;
  std::size_t refused = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    if (random.below(100) < 52) {
      const std::size_t bytes = 1 + random.below(random.below(2) == 0 ? 100 : 5000);
      auto* const at = static_cast<char*>(heap.take(bytes));
      if (at == nullptr) {
        ++refused;
        continue;
      }
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0U);
      const auto next = held.lower_bound(at);
      ASSERT_TRUE(next == held.end() || at + bytes <= next->first);
      ASSERT_TRUE(next == held.begin() ||
                  std::prev(next)->first + std::prev(next)->second.first <= at);
      const auto mark = static_cast<char>(turn);
      std::memset(at, mark, bytes);
      held[at] = {bytes, mark};
    } else if (!held.empty()) {
      auto one = held.begin();
      std::advance(one, random.below(held.size()));
      for (std::size_t i = 0; i < one->second.first; ++i) {
        ASSERT_EQ(one->first[i], one->second.second);
      }
      heap.give_back(one->first);
      held.erase(one);
      ASSERT_FALSE(heap.is_whole() && !held.empty());
    }
  }
  EXPECT_GT(refused, 0U) << "the heap was never full";
  for (const auto& [at, what] : held) {
    heap.give_back(at);
  }
  EXPECT_TRUE(heap.is_whole());
}

TEST(Heap, TakesTheSmallestBlockThatIsLargeEnough) {
  bench::splay_heap heap(1 << 16);
  std::vector<void*> walls;
  std::map<std::size_t, void*> holes;
  for (const std::size_t bytes : {1000U, 200U, 3000U, 500U, 2000U}) {
    holes[bytes] = heap.take(bytes);
    walls.push_back(heap.take(16));
  }
  for (const auto& [bytes, at] : holes) {
    heap.give_back(at);
  }
  EXPECT_EQ(heap.take(450), holes[500]);
  EXPECT_EQ(heap.take(100), holes[200]);
  EXPECT_EQ(heap.take(1500), holes[2000]);
}

}  // namespace
