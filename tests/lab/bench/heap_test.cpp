// Tests of the allocator of malloc-stress.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "workload/splay_heap.hpp"

namespace {

TEST(Heap, BlocksDoNotOverlapAndFreedMemoryIsMerged) {
  bench::splay_heap heap(1 << 18);
  bench::random_source random(1);
  EXPECT_TRUE(heap.is_whole());
  std::map<char*, std::pair<std::size_t, char>> blocks;
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    if (random.below(100) < 52) {
      const std::size_t bytes = 1 + random.below(random.below(2) == 0 ? 100 : 5000);
      auto* const block = static_cast<char*>(heap.take(bytes));
      if (block == nullptr) {
        ++refused;
        continue;
      }
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
      const auto next = blocks.lower_bound(block);
      ASSERT_TRUE(next == blocks.end() || block + bytes <= next->first);
      ASSERT_TRUE(next == blocks.begin() ||
                  std::prev(next)->first + std::prev(next)->second.first <= block);
      const auto mark = static_cast<char>(round);
      std::memset(block, mark, bytes);
      blocks[block] = {bytes, mark};
    } else if (!blocks.empty()) {
      auto chosen = blocks.begin();
      std::advance(chosen, random.below(blocks.size()));
      for (std::size_t i = 0; i < chosen->second.first; ++i) {
        ASSERT_EQ(chosen->first[i], chosen->second.second);
      }
      heap.give_back(chosen->first);
      blocks.erase(chosen);
      ASSERT_FALSE(heap.is_whole() && !blocks.empty());
    }
  }
  EXPECT_GT(refused, 0U) << "the heap was never full";
  for (const auto& [block, contents] : blocks) {
    heap.give_back(block);
  }
  EXPECT_TRUE(heap.is_whole());
}

TEST(Heap, TakesTheSmallestBlockThatIsLargeEnough) {
  bench::splay_heap heap(1 << 16);
  std::vector<void*> separators;
  std::map<std::size_t, void*> holes;
  for (const std::size_t bytes : {1000U, 200U, 3000U, 500U, 2000U}) {
    holes[bytes] = heap.take(bytes);
    separators.push_back(heap.take(16));
  }
  for (const auto& [bytes, block] : holes) {
    heap.give_back(block);
  }
  EXPECT_EQ(heap.take(450), holes[500]);
  EXPECT_EQ(heap.take(100), holes[200]);
  EXPECT_EQ(heap.take(1500), holes[2000]);
}

}  // namespace
