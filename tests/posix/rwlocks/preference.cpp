// The order of admission among waiting readers and writers.
#include "common.hpp"

namespace rwlocks {

namespace {

void check_writers_come_first(pthread_rwlock_t* lock) {
  if (guarantee() != Guarantee::none && guarantee() != Guarantee::writers &&
      guarantee() != Guarantee::alternating) {
    return;
  }
  Holder reader(lock, Holder::reads);
  reader.wait_until_inside();
  Holder writer(lock, Holder::writes);
  writer.wait_until_blocked();
  CHECK_RC(EBUSY, try_read_in_thread(lock));
  Holder late_reader(lock, Holder::reads);
  late_reader.wait_until_blocked();
  Holder late_writer(lock, Holder::writes);
  late_writer.wait_until_blocked();
  reader.leave();
  writer.wait_until_inside();
  // The next writer becomes first in the queue only once it has found this writer inside.
  check::sleep_ms(20);
  CHECK(!late_reader.inside());
  writer.leave();
  late_writer.wait_until_inside();
  CHECK(!late_reader.inside());
  late_writer.leave();
  late_reader.wait_until_inside();
  late_reader.leave();
  check_free(lock);
}

}  // namespace

CASE("writers first") {
  pthread_rwlock_t lock;
  init(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  check_writers_come_first(&lock);
  OK(pthread_rwlock_destroy(&lock));
  pthread_rwlock_t other = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  check_writers_come_first(&other);
};

// A reader enters beside readers while a writer waits, or does not.
CASE("a reader beside a waiting writer") {
  if (guarantee() == Guarantee::exclusive || guarantee() == Guarantee::unordered) return;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  Holder reader(&lock, Holder::reads);
  reader.wait_until_inside();
  Holder writer(&lock, Holder::writes);
  writer.wait_until_blocked();
  CHECK_RC(writers_hold_readers_back() ? EBUSY : 0, try_read_in_thread(&lock));
  reader.leave();
  writer.leave();
};

// Readers and writers alternate: neither waits for more than one phase of the others.
CASE("phases") {
  if (guarantee() != Guarantee::alternating) return;
  for (const int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP}) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    for (int round = 0; round < 20; ++round) {
      Holder reader(&lock, Holder::reads);
      reader.wait_until_inside();
      Holder writer(&lock, Holder::writes);
      writer.wait_until_blocked();
      // No reader that arrives now is admitted before the writer.
      CHECK_RC(EBUSY, try_read_in_thread(&lock));
      Holder second(&lock, Holder::reads);
      second.wait_until_blocked();
      Holder third(&lock, Holder::reads);
      third.wait_until_blocked();
      reader.leave();
      writer.wait_until_inside();
      Holder next(&lock, Holder::writes);
      next.wait_until_blocked();
      CHECK(!second.inside() && !third.inside());
      writer.leave();
      // All readers that waited are admitted together, and before the next writer.
      second.wait_until_inside();
      third.wait_until_inside();
      CHECK(!next.inside());
      second.leave();
      CHECK(!next.inside());
      third.leave();
      next.wait_until_inside();
      next.leave();
      check_free(&lock);
    }
    OK(pthread_rwlock_destroy(&lock));
  }
};

// While a thread always reads, a writer acquires; while a thread always writes, a reader does.
CASE("no starvation") {
  if (guarantee() != Guarantee::alternating && guarantee() != Guarantee::fifo) return;
  for (const bool many_write : {false, true}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::atomic<bool> over{false};
    std::atomic<int> inside{0};
    std::vector<std::unique_ptr<check::Worker>> many;
    for (int i = 0; i < 3; ++i)
      many.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
        check::Random random{static_cast<std::uint64_t>(i) + 3};
        while (!over.load()) {
          OK(many_write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
          ++inside;
          // A reader leaves only when another one is inside, or waits for the lone writer.
          check::sleep_us(random.below(200));
          --inside;
          OK(pthread_rwlock_unlock(&lock));
        }
      }));
    for (int i = 0; i < 100; ++i) {
      OK(many_write ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_wrlock(&lock));
      CHECK_EQ(0, inside.load());
      OK(pthread_rwlock_unlock(&lock));
    }
    over = true;
    many.clear();
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
};

}  // namespace rwlocks
