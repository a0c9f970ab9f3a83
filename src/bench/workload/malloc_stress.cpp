// Takes many blocks of memory, writes to them, and gives them back.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "catalogue.hpp"
#include "sites.hpp"
#include "splay_heap.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct one_heap : with_one_site {
  explicit one_heap(const settings& given)
      : by_libc{given.is("allocator")},
        // Twice what is used at once, for block headers and fragmentation.
        heap{by_libc ? 4096
                     : 2 * given.threads() * given.count("blocks", 1) *
                           (given.count("bytes", 1) + 64)} {}

  struct alignas(apart) own {
    own(one_heap& /*w*/, const settings& given, std::size_t /*index*/)
        : blocks(given.count("blocks", 1)), bytes{given.count("bytes", 1)} {}
    std::vector<void*> blocks;
    std::size_t bytes;
  };

  template <class Probe>
  std::uint64_t step(own& me, Probe& meter) {
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

  template <class Probe>
  void* take(std::size_t bytes, Probe& meter) {
    if (by_libc) {
      return std::malloc(bytes);
    }
    meter.lock(shared);
    void* const block = heap.take(bytes);
    meter.unlock(shared);
    return block;
  }

  template <class Probe>
  void give_back(void* block, Probe& meter) {
    if (by_libc) {
      std::free(block);
      return;
    }
    meter.lock(shared);
    heap.give_back(block);
    meter.unlock(shared);
  }

  [[nodiscard]] std::string broken(const totals& /*all*/) const {
    return heap.is_whole() ? "" : "the heap is not whole again";
  }

  bool by_libc;
  // Guarded by the mutex.
  alignas(apart) splay_heap heap;
};

}  // namespace

const description malloc_stress{
    .name = "malloc-stress",
    .measures =
        "threads that take many blocks of memory, write to them and give them back, from "
        "an allocator with one mutex",
    .source = "Dice, Malthusian Locks, EuroSys 2017, mmicro, figure 7",
    .operation = "blocks taken and given back",
    .threads = 2,
    .parameters = {{"blocks", 1000, "", "blocks that a thread has at once", 1},
                   {"bytes", 1000, "bytes", "size of a block", 1},
                   {"allocator", 0, "",
                    "a splay tree under one mutex, as Solaris has it, or the C library's, or what "
                    "is preloaded in its place, with locks that are no pthread mutexes",
                    0, "tree,libc"}},
    .one_mutex = true,
    .run = run_workload<one_heap>,
};

}  // namespace bench
