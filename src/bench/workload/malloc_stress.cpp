// Allocates many blocks of memory, writes to them, and frees them.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "catalogue.hpp"
#include "native.hpp"
#include "splay_heap.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct one_heap : with_one_mutex {
  explicit one_heap(const settings& given)
      : with_one_mutex{given},
        by_libc{given.is("allocator")},
        // Twice what is used at once, for block headers and fragmentation.
        heap{by_libc ? 4096
                     : 2 * given.threads() * given.count("blocks", 1) *
                           (given.count("bytes", 1) + 64)} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(one_heap& /*w*/, const settings& given, std::size_t /*index*/)
        : blocks(given.count("blocks", 1)), bytes{given.count("bytes", 1)} {}
    std::vector<void*> blocks;
    std::size_t bytes;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    for (void*& block : me.blocks) {
      block = take(me.bytes, meter);
      if (block == nullptr) {
        fail("there is no memory left for a block");
      }
      std::memset(block, 0, me.bytes);
    }
    for (void* const block : me.blocks) {
      give_back(block, meter);
    }
    return me.blocks.size();
  }

  template <class Meter>
  void* take(std::size_t bytes, Meter& meter) {
    if (by_libc) {
      return std::malloc(bytes);
    }
    meter.lock(shared);
    void* const block = heap.take(bytes);
    meter.unlock(shared);
    return block;
  }

  template <class Meter>
  void give_back(void* block, Meter& meter) {
    if (by_libc) {
      std::free(block);
      return;
    }
    meter.lock(shared);
    heap.give_back(block);
    meter.unlock(shared);
  }

  [[nodiscard]] std::string find_fault(std::uint64_t /*operations*/) const {
    return heap.is_whole() ? "" : "the heap has lost memory";
  }

  bool by_libc;
  // Guarded by the mutex.
  alignas(cache_line_pair) splay_heap heap;
};

}  // namespace

const description malloc_stress{
    .name = "malloc-stress",
    .measures =
        "threads that allocate many blocks of memory, write to them and free them, from an "
        "allocator with one mutex",
    .source = "Dice, Malthusian Locks, EuroSys 2017, mmicro, figure 7",
    .operation = "blocks allocated and freed",
    .parameters =
        {{"blocks", 1000, "", "blocks that a thread has at once", 1},
         {"bytes", 1000, "bytes", "size of a block", 1},
         {"allocator", 0, "",
          "a splay tree under one mutex, as in Solaris, or the C library's or a preloaded "
          "one, whose locks are not pthread mutexes",
          0, "tree,libc"}},
    .one_mutex = true,
    .run = run_workload<one_heap>,
};

}  // namespace bench
