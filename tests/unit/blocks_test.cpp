// The blocks that lie outside of locks: whose they are, and how those of locks that are gone come
// back.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "lockwright/parts/lazy_part.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using lockwright::lazy_part;
using lockwright::native_env::block_pool;

/// Where a lock has its pointer, as far as the pool looks at it.
struct alignas(8) owner {
  const void* block = nullptr;
};

void* reserve_and_install(block_pool& pool, std::size_t bytes, owner& whose) {
  void* block = pool.reserve(bytes, &whose);
  whose.block = block;
  block_pool::install(block, &whose);
  return block;
}

TEST(Blocks, are_zeroed_again) {
  block_pool pool;
  owner whose;
  for (const std::size_t size : {1u, 64u, 65u, 1'000u, 100'000u, 300'000u, 5'000'000u}) {
    for (int round = 0; round < 4; ++round) {
      auto* bytes = static_cast<unsigned char*>(pool.reserve(size, &whose));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0u);
      ASSERT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; }));
      std::memset(bytes, 0xEE, size);
      pool.unreserve(bytes, size, &whose);
    }
  }
}

TEST(Blocks, lie_side_by_side) {
  block_pool pool;
  owner whose;
  for (const std::size_t bytes : {1u, 64u, 65u, 192u, 1'000u, 20'000u}) {
    const auto* one = static_cast<unsigned char*>(pool.reserve(bytes, &whose));
    const auto* next = static_cast<unsigned char*>(pool.reserve(bytes, &whose));
    EXPECT_EQ(static_cast<std::size_t>(next - one), block_pool::size_of(bytes));
  }
}

TEST(Blocks, that_are_given_back_are_used_again) {
  block_pool pool;
  owner whose;
  std::set<void*> seen;
  for (int i = 0; i < 10'000; ++i) {
    void* block = pool.reserve(200, &whose);
    seen.insert(block);
    pool.unreserve(block, 200, &whose);
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST(Blocks, know_whose_they_are) {
  block_pool pool;
  owner whose;
  owner other;
  for (const std::size_t bytes : {64u, 100'000u, 300'000u}) {
    void* block = pool.reserve(bytes, &whose);
    EXPECT_TRUE(block_pool::is_reserved_for(block, &whose));
    EXPECT_FALSE(block_pool::is_reserved_for(block, &other));
    block_pool::install(block, &whose);
    EXPECT_TRUE(block_pool::is_reserved_for(block, &whose));
    pool.unreserve(block, bytes, &other);
    EXPECT_TRUE(block_pool::is_reserved_for(block, &whose)) << "given back by another lock";
    pool.unreserve(block, bytes, &whose);
    EXPECT_FALSE(block_pool::is_reserved_for(block, &whose));
    pool.unreserve(block, bytes, &whose);  // a second time
    EXPECT_NE(pool.reserve(bytes, &whose), pool.reserve(bytes, &other));
  }
}

// In three ways: its pointer was written over, it lies in memory that is not there any more, or in
// memory that cannot be read.
TEST(Blocks, whose_owner_is_gone_come_back) {
  constexpr int number = 100'000;
  constexpr std::size_t page = 4'096;
  for (int way = 0; way < 3; ++way) {
    block_pool pool;
    std::set<void*> seen;
    for (int i = 0; i < number; ++i) {
      void* memory =
          mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      auto* whose = ::new (memory) owner;
      seen.insert(reserve_and_install(pool, 64, *whose));
      whose->block = nullptr;
      if (way == 2 && i % 1'000 == 0) {
        mprotect(memory, page, PROT_NONE);
      } else if (way != 0 || i % 1'000 != 0) {
        munmap(memory, page);
      }
    }
    EXPECT_LT(seen.size(), 5'000u);
  }
}

TEST(Blocks, in_use_are_never_taken_back) {
  block_pool pool;
  constexpr std::size_t number = 20'000;
  const auto owners = std::make_unique<owner[]>(number);
  std::set<void*> seen;
  for (std::size_t i = 0; i < number; ++i) {
    EXPECT_TRUE(seen.insert(reserve_and_install(pool, 64, owners[i])).second);
    owner gone;
    reserve_and_install(pool, 64, gone);
    gone.block = nullptr;
  }
  for (std::size_t i = 0; i < number; ++i) {
    EXPECT_TRUE(block_pool::is_reserved_for(owners[i].block, &owners[i]));
  }
  // Twice as many as there are, at most.
  EXPECT_LE(pool.bytes(), 2 * number * block_pool::taken_by(64) + (512 << 10));
}

// Being installed: there is no pointer yet.
TEST(Blocks, about_to_be_used_are_never_taken_back) {
  block_pool pool;
  owner early;
  void* block = pool.reserve(64, &early);
  for (int i = 0; i < 50'000; ++i) {
    owner gone;
    EXPECT_NE(reserve_and_install(pool, 64, gone), block);
    gone.block = nullptr;
  }
  EXPECT_TRUE(block_pool::is_reserved_for(block, &early));
}

struct part {
  std::atomic<int> users;
  static std::size_t bytes() { return sizeof(part); }
};
using lazy = lazy_part<lockwright::native, part>;

// Threads make, abandon and destroy parts at the same time, and use some that stay: none is ever
// with two locks.
TEST(Blocks, no_part_is_with_two_locks) {
  constexpr std::size_t staying = 500;
  const auto stay = std::make_unique<lazy[]>(staying);
  std::atomic<int> shared{0};
  in_parallel(4, [&](int me) {
    alignas(lazy) unsigned char room[sizeof(lazy)];
    for (std::size_t round = 0; round < 20'000; ++round) {
      auto* one = ::new (room) lazy;
      part* mine = one->get();
      shared += mine->users.fetch_add(1) == 0 ? 0 : 1;
      mine->users.fetch_sub(1);
      if ((round + static_cast<std::size_t>(me)) % 2 == 0) {
        one->~lazy();
      }
      part* kept = stay[round % staying].get();
      kept->users.fetch_add(1 << 16);
      shared += (kept->users.load() & 0xFFFF) == 0 ? 0 : 1;
    }
  });
  EXPECT_EQ(shared.load(), 0);
  for (std::size_t i = 0; i < staying; ++i) {
    EXPECT_EQ(stay[i].get()->users.load(), 4 * 20'000 / static_cast<int>(staying) << 16);
  }
}

TEST(LazyPart, a_copy_makes_its_own) {
  alignas(lazy) unsigned char first[sizeof(lazy)];
  unsigned char bytes[sizeof(lazy)];
  alignas(lazy) unsigned char second[sizeof(lazy)];
  auto* original = ::new (first) lazy;
  part* of_original = original->get();
  auto* copy = ::new (second) lazy;
  std::memcpy(static_cast<void*>(second), first, sizeof first);
  EXPECT_EQ(copy->made(), nullptr);
  EXPECT_NE(copy->get(), of_original);
  EXPECT_EQ(copy->get(), copy->made());
  EXPECT_EQ(original->get(), of_original);
  std::memcpy(bytes, first, sizeof first);
  original->~lazy();
  // The copy of a lock that is gone, while its part is free, and when it is the copy's.
  std::memcpy(static_cast<void*>(second), bytes, sizeof bytes);
  EXPECT_NE(copy->get(), nullptr);
  EXPECT_EQ(copy->get(), copy->made());
}

/// The kernel gives nothing.
struct no_memory : lockwright::native {
  static void* reserve(std::size_t, const void*) { return nullptr; }
};

TEST(LazyPart, without_memory_the_word_is_a_lock) {
  lazy_part<no_memory, part> word;
  EXPECT_EQ(word.get(), nullptr);
  EXPECT_EQ(word.made(), nullptr);
  EXPECT_EQ(word.held(), nullptr);
  long count = 0;
  in_parallel(4, [&](int) {
    for (int i = 0; i < 20'000; ++i) {
      EXPECT_EQ(word.get(), nullptr);
      word.lock_word();
      ++count;
      word.unlock_word();
    }
  });
  EXPECT_EQ(count, 80'000);
  EXPECT_TRUE(word.try_lock_word());
  EXPECT_FALSE(word.try_lock_word());
  EXPECT_FALSE(word.try_lock_word_until(lockwright::native::now() + 1'000'000));
  word.unlock_word();
  EXPECT_TRUE(word.try_lock_word_until(0));
  word.unlock_word();
}

}  // namespace
