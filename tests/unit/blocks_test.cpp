// The memory blocks of locks: their owners, and the recovery of blocks whose locks are gone.
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

/// The word of a lock that the pool reads: the pointer to its block.
struct alignas(8) owner {
  const void* block = nullptr;
};

void* reserve_and_install(block_pool& pool, std::size_t bytes, owner& lock) {
  void* block = pool.reserve(bytes, &lock);
  lock.block = block;
  block_pool::install(block, &lock);
  return block;
}

TEST(Blocks, are_zeroed_again) {
  block_pool pool;
  owner lock;
  for (const std::size_t size : {1u, 64u, 65u, 1'000u, 100'000u, 300'000u, 5'000'000u}) {
    for (int round = 0; round < 4; ++round) {
      auto* bytes = static_cast<unsigned char*>(pool.reserve(size, &lock));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0u);
      ASSERT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; }));
      std::memset(bytes, 0xEE, size);
      pool.unreserve(bytes, size, &lock);
    }
  }
}

TEST(Blocks, are_adjacent) {
  block_pool pool;
  owner lock;
  for (const std::size_t bytes : {1u, 64u, 65u, 192u, 1'000u, 20'000u}) {
    const auto* first = static_cast<unsigned char*>(pool.reserve(bytes, &lock));
    const auto* next = static_cast<unsigned char*>(pool.reserve(bytes, &lock));
    EXPECT_EQ(static_cast<std::size_t>(next - first), block_pool::size_of(bytes));
  }
}

TEST(Blocks, that_are_released_are_reused) {
  block_pool pool;
  owner lock;
  std::set<void*> blocks;
  for (int i = 0; i < 10'000; ++i) {
    void* block = pool.reserve(200, &lock);
    blocks.insert(block);
    pool.unreserve(block, 200, &lock);
  }
  EXPECT_EQ(blocks.size(), 1u);
}

TEST(Blocks, record_their_owner) {
  block_pool pool;
  owner lock;
  owner other;
  for (const std::size_t bytes : {64u, 100'000u, 300'000u}) {
    void* block = pool.reserve(bytes, &lock);
    EXPECT_TRUE(block_pool::is_reserved_for(block, &lock));
    EXPECT_FALSE(block_pool::is_reserved_for(block, &other));
    block_pool::install(block, &lock);
    EXPECT_TRUE(block_pool::is_reserved_for(block, &lock));
    pool.unreserve(block, bytes, &other);
    EXPECT_TRUE(block_pool::is_reserved_for(block, &lock)) << "released by another lock";
    pool.unreserve(block, bytes, &lock);
    EXPECT_FALSE(block_pool::is_reserved_for(block, &lock));
    pool.unreserve(block, bytes, &lock);  // a second time
    EXPECT_NE(pool.reserve(bytes, &lock), pool.reserve(bytes, &other));
  }
}

// Three cases: the owner's pointer is overwritten, its memory is unmapped, or it is unreadable.
TEST(Blocks, of_dead_owners_are_recovered) {
  constexpr int number = 100'000;
  constexpr std::size_t page = 4'096;
  for (int kind = 0; kind < 3; ++kind) {
    block_pool pool;
    std::set<void*> blocks;
    for (int i = 0; i < number; ++i) {
      void* memory =
          mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      auto* lock = ::new (memory) owner;
      blocks.insert(reserve_and_install(pool, 64, *lock));
      lock->block = nullptr;
      if (kind == 2 && i % 1'000 == 0) {
        mprotect(memory, page, PROT_NONE);
      } else if (kind != 0 || i % 1'000 != 0) {
        munmap(memory, page);
      }
    }
    EXPECT_LT(blocks.size(), 5'000u);
  }
}

TEST(Blocks, in_use_are_never_recovered) {
  block_pool pool;
  constexpr std::size_t number = 20'000;
  const auto owners = std::make_unique<owner[]>(number);
  std::set<void*> blocks;
  for (std::size_t i = 0; i < number; ++i) {
    EXPECT_TRUE(blocks.insert(reserve_and_install(pool, 64, owners[i])).second);
    owner dead;
    reserve_and_install(pool, 64, dead);
    dead.block = nullptr;
  }
  for (std::size_t i = 0; i < number; ++i) {
    EXPECT_TRUE(block_pool::is_reserved_for(owners[i].block, &owners[i]));
  }
  // At most twice as many as are in use.
  EXPECT_LE(pool.bytes(), 2 * number * block_pool::taken_by(64) + (512 << 10));
}

// There is no pointer to the block yet.
TEST(Blocks, not_yet_installed_are_never_recovered) {
  block_pool pool;
  owner early;
  void* block = pool.reserve(64, &early);
  for (int i = 0; i < 50'000; ++i) {
    owner dead;
    EXPECT_NE(reserve_and_install(pool, 64, dead), block);
    dead.block = nullptr;
  }
  EXPECT_TRUE(block_pool::is_reserved_for(block, &early));
}

struct part {
  std::atomic<int> users;
  static std::size_t bytes() { return sizeof(part); }
};
using lazy = lazy_part<lockwright::native, part>;

// Threads create, abandon and destroy parts at the same time, and use permanent ones: no part ever
// belongs to two locks.
TEST(Blocks, no_part_belongs_to_two_locks) {
  constexpr std::size_t locks = 500;
  const auto permanent = std::make_unique<lazy[]>(locks);
  std::atomic<int> shared{0};
  in_parallel(4, [&](int thread) {
    alignas(lazy) unsigned char memory[sizeof(lazy)];
    for (std::size_t round = 0; round < 20'000; ++round) {
      auto* temporary = ::new (memory) lazy;
      part* own_part = temporary->get();
      shared += own_part->users.fetch_add(1) == 0 ? 0 : 1;
      own_part->users.fetch_sub(1);
      if ((round + static_cast<std::size_t>(thread)) % 2 == 0) {
        temporary->~lazy();
      }
      part* other = permanent[round % locks].get();
      other->users.fetch_add(1 << 16);
      shared += (other->users.load() & 0xFFFF) == 0 ? 0 : 1;
    }
  });
  EXPECT_EQ(shared.load(), 0);
  for (std::size_t i = 0; i < locks; ++i) {
    EXPECT_EQ(permanent[i].get()->users.load(), 4 * 20'000 / static_cast<int>(locks) << 16);
  }
}

TEST(LazyPart, a_copy_gets_a_new_part) {
  alignas(lazy) unsigned char first[sizeof(lazy)];
  unsigned char bytes[sizeof(lazy)];
  alignas(lazy) unsigned char second[sizeof(lazy)];
  auto* original = ::new (first) lazy;
  part* original_part = original->get();
  auto* copy = ::new (second) lazy;
  std::memcpy(static_cast<void*>(second), first, sizeof first);
  EXPECT_EQ(copy->made(), nullptr);
  EXPECT_NE(copy->get(), original_part);
  EXPECT_EQ(copy->get(), copy->made());
  EXPECT_EQ(original->get(), original_part);
  std::memcpy(bytes, first, sizeof first);
  original->~lazy();
  // The copy of a destroyed lock, while its part is free, and when the part belongs to the copy.
  std::memcpy(static_cast<void*>(second), bytes, sizeof bytes);
  EXPECT_NE(copy->get(), nullptr);
  EXPECT_EQ(copy->get(), copy->made());
}

/// An environment without memory.
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
