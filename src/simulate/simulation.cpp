#include "simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace lockwright::simulate {
namespace {

simulation* the_one = nullptr;

/// As many as a kernel with a handful of processors has for each of them.
constexpr std::size_t futex_buckets = 1024;
/// After so long at most, all threads have ended: as many times what was simulated, and so much more.
constexpr picoseconds patience_times = 20;
constexpr picoseconds patience_more = 1'000'000'000'000;
// A FIFO lock passes every thread, each of which may wait for a slice of its processor's others.
constexpr picoseconds patience_per_thread = 100'000'000'000;
/// Polls that are alike before any are skipped, and the share of them that is then skipped at once:
/// a thread that counts its polls stops counting too late by no more than that share.
constexpr std::uint64_t polls_before_skip = 8;
constexpr std::uint64_t skipped_share = 8;

constexpr std::size_t stack_bytes = std::size_t{128} << 10;

/// Stacks are in the arena: what lies on them has an address like everything else.
class arena_stack {
 public:
  explicit arena_stack(arena& memory) : memory_{&memory} {}
  boost::context::stack_context allocate() {
    boost::context::stack_context stack;
    stack.size = stack_bytes;
    stack.sp = static_cast<char*>(memory_->cut(stack_bytes, 4096)) + stack_bytes;
    return stack;
  }
  static void deallocate(boost::context::stack_context&) {}

 private:
  arena* memory_;
};

}  // namespace

simulation& running() { return *the_one; }

bool is_inside() { return the_one != nullptr && the_one->caller() != nullptr; }

simulation::simulation(const machine& m, std::uint64_t seed)
    : processors{m, time, counted, lines_},
      sets{working_sets::last_level(m), counted.data_misses},
      translations{working_sets::translations(m), counted.translation_misses},
      machine_{m},
      random_{seed},
      lines_{m, time, counted, random_},
      bucket_busy_until_(futex_buckets) {
  memory.open();
  lines_.open(memory);
  processors.open();
  lines_.on_change = [](std::uint32_t line) { running().processors.end_polling(line); };
  the_one = this;
}

simulation::~simulation() { the_one = nullptr; }

thread& simulation::add(std::uint32_t processor, std::function<void()> body) {
  const auto number = static_cast<std::uint32_t>(threads_.size());
  thread& t = threads_.emplace_back(number, random_.next());
  t.fiber = boost::context::fiber(std::allocator_arg, arena_stack(memory),
                                  [this, &t, body = std::move(body)](boost::context::fiber&& from) {
                                    *scheduler_fiber_ = std::move(from);
                                    body();
                                    pass_time();
                                    drain_stores();
                                    current_ = nullptr;
                                    --alive_;
                                    processors.leave(t, thread_state::ended);
                                    return std::move(*scheduler_fiber_);
                                  });
  ++alive_;
  t.processor = processor;
  return t;
}

void simulation::suspend() {
  thread& me = *current_;
  current_ = nullptr;
  *scheduler_fiber_ = std::move(*scheduler_fiber_).resume();
  current_ = &me;
}

void simulation::resume(thread& t) {
  current_ = &t;
  t.fiber = std::move(t.fiber).resume();
  current_ = nullptr;
}

void simulation::run(picoseconds warm_up, picoseconds length) {
  boost::context::fiber here;
  scheduler_fiber_ = &here;
  for (thread& t : threads_) {
    processors.add(t, t.processor);
  }
  time.add(warm_up, occasion::measuring, 0);
  ends_at_ = warm_up + length;
  time.add(ends_at_, occasion::over, 0);
  const picoseconds latest =
      (warm_up + length) * patience_times + patience_more + threads_.size() * patience_per_thread;
  while (!time.empty() && alive_ != 0) {
    const event next = time.next();
    // Work of the threads comes to an end; what a lock waits for may not.
    if (next.at > latest + worked_) {
      stuck("waits without end");
    }
    switch (next.what) {
      case occasion::resume: {
        thread& t = threads_[next.number];
        if (t.resume_number == next.data) {
          if (t.state == thread_state::polling) {
            processors.unwatch(t);
            t.poll.next = 0;
          }
          t.state = thread_state::computing;
          resume(t);
        }
        break;
      }
      case occasion::ready:
        processors.on_ready(threads_[next.number]);
        break;
      case occasion::transferred:
        on_arrival(next.number);
        break;
      case occasion::line_free:
        lines_.serve_next(next.number);
        break;
      case occasion::slice_ends:
        processors.on_slice_end(next.number, next.data);
        break;
      case occasion::deadline:
        on_deadline(threads_[next.number], next.data);
        break;
      case occasion::measuring:
        processors.settle();
        before_ = counted;
        measures_ = true;
        if (on_phase) {
          on_phase(true);
        }
        break;
      case occasion::over:
        processors.settle();
        after_ = counted;
        measures_ = false;
        over_ = true;
        if (on_phase) {
          on_phase(false);
        }
        break;
    }
  }
  if (alive_ != 0) {
    stuck("sleeps and no thread wakes it");
  }
}

void simulation::stuck(const char* how) {
  std::uint32_t waiting = 0;
  std::uint32_t first = 0;
  for (const thread& t : threads_) {
    if (t.state != thread_state::ended && ++waiting == 1) {
      first = t.number;
    }
  }
  fail("the lock is broken: thread " + std::to_string(first) + " " + how + " (" +
       std::to_string(waiting) + " threads do not end)");
}

void simulation::pass_time() {
  thread& me = *current_;
  for (;;) {
    if (me.gives_way) {
      me.gives_way = false;
      if (processors.is_wanted(me.processor)) {
        ++counted.preemptions;
        me.work_left = std::exchange(me.ahead, 0);
        processors.requeue(me);
        suspend();
      }
    }
    const picoseconds at = time.now + std::exchange(me.ahead, 0);
    if (time.nothing_until(at)) {
      time.now = at;
    } else {
      processors.compute_until(me, at);
      suspend();
    }
    if (!me.gives_way) {
      return;
    }
  }
}

void simulation::begin_step() {
  interrupt();
  current_->poll.forget();
  pass_time();
}

void simulation::interrupt() {
  constexpr picoseconds longest = 20'000'000;
  thread& me = *current_;
  if (interrupt_every != 0 && me.random.below(interrupt_every) == 0) {
    me.poll.forget();
    me.ahead += me.random.below(longest);
  }
}

void simulation::wait_for_line(std::uint32_t line, access how) {
  thread& me = *current_;
  me.state = thread_state::waiting;
  lines_.request(line, core_of(me), how, me);
  suspend();
}

void simulation::on_arrival(std::uint32_t transfer) {
  const caches::arrival here = lines_.complete(transfer);
  thread& t = *here.requester;
  if (here.how == access::store) {
    t.store_in_flight = false;
    commit_stores(t);
  } else {
    resume(t);
  }
}

bool simulation::replay(const void* at, std::uint64_t& bits) {
  polling& p = current_->poll;
  if (p.left == 0) {
    return false;
  }
  if (p.next < p.last.count && p.last.loads[p.next].at == at) {
    bits = p.last.loads[p.next++].bits;
    return true;
  }
  p.left = 0;  // The loop has ended by a count of its own.
  return false;
}

std::uint64_t simulation::load(const void* at, std::uint32_t bytes) {
  thread& me = *current_;
  std::uint64_t bits = 0;
  if (replay(at, bits)) {
    return bits;
  }
  interrupt();
  pass_time();
  polling::iteration& polled = me.poll.now;
  // The youngest store to the place counts; one that only overlaps has to be made first.
  for (auto store = me.stores.rbegin(); store != me.stores.rend(); ++store) {
    const auto* begin = static_cast<const char*>(store->at);
    const auto* wanted = static_cast<const char*>(at);
    if (begin < wanted + bytes && wanted < begin + store->bytes) {
      if (begin == wanted && store->bytes == bytes) {
        me.ahead += machine_.all.load_hit;
        polled.other_steps = true;
        return store->bits;
      }
      drain_stores();
      break;
    }
  }
  const std::uint32_t line = lines_.number_of(at, core_of(me));
  if (lines_.has(line, core_of(me), access::load)) {
    me.ahead += machine_.all.load_hit;
    std::memcpy(&bits, at, bytes);
    if (polled.count == polling::most) {
      polled.other_steps = true;
    } else {
      polled.loads[polled.count++] = {at, bits};
    }
    return bits;
  }
  polled.other_steps = true;
  wait_for_line(line, access::load);
  std::memcpy(&bits, at, bytes);
  return bits;
}

void simulation::store(void* at, std::uint64_t bits, std::uint32_t bytes) {
  begin_step();
  thread& me = *current_;
  const figures& f = machine_.all;
  if (f.store_buffer == 0) {
    const std::uint32_t line = lines_.number_of(at, core_of(me));
    if (lines_.has(line, core_of(me), access::store)) {
      me.ahead += f.store_hit;
      processors.end_polling(line);
    } else {
      wait_for_line(line, access::change);
    }
    std::memcpy(at, &bits, bytes);
    return;
  }
  while (me.stores.size() >= f.store_buffer) {
    me.awaits_stores = true;
    me.state = thread_state::waiting;
    suspend();
  }
  me.ahead += f.store_hit;
  me.stores.push_back({at, bits, bytes});
  if (!me.store_in_flight) {
    commit_stores(me);
  }
}

void simulation::touch_own(std::uint64_t loads, std::uint64_t stores) {
  thread& me = *current_;
  if (me.poll.left == 0) {
    const picoseconds length = loads * machine_.all.load_hit + stores * machine_.all.store_hit;
    me.ahead += length;
    me.poll.now.own += length;
  }
}

void simulation::commit_stores(thread& t) {
  const std::uint32_t core = core_of(t);
  while (!t.stores.empty()) {
    const pending_store& first = t.stores.front();
    const std::uint32_t line = lines_.number_of(first.at, core);
    if (!lines_.has(line, core, access::store)) {
      t.store_in_flight = true;
      lines_.request(line, core, access::store, t);
      break;
    }
    std::memcpy(first.at, &first.bits, first.bytes);
    processors.end_polling(line);
    t.stores.pop_front();
  }
  if (t.awaits_stores && t.stores.size() < machine_.all.store_buffer) {
    t.awaits_stores = false;
    processors.compute_until(t, time.now);
  }
}

void simulation::drain_stores() {
  thread& me = *current_;
  while (!me.stores.empty()) {
    me.awaits_stores = true;
    me.state = thread_state::waiting;
    suspend();
  }
}

void simulation::kill(const void* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += arena::line_bytes) {
    lines_.kill(lines_.number_of(static_cast<const char*>(at) + i, core_of(*current_)));
  }
}

void simulation::begin_change(void* at) {
  begin_step();
  thread& me = *current_;
  drain_stores();
  const std::uint32_t line = lines_.number_of(at, core_of(me));
  if (lines_.has(line, core_of(me), access::change)) {
    me.ahead += machine_.all.rmw_hit;
    processors.end_polling(line);
  } else {
    wait_for_line(line, access::change);
  }
}

void simulation::forget_stores(const void* at) {
  for (pending_store& store : current_->stores) {
    if (store.at == at) {
      store.bytes = 0;
    }
  }
}

void simulation::relax() {
  thread& me = *current_;
  polling& p = me.poll;
  if (p.left != 0) {
    --p.left;
    p.next = 0;
    return;
  }
  const bool alike = !p.now.other_steps && !p.last.other_steps && p.now.count != 0 &&
                     p.now.count == p.last.count &&
                     std::equal(p.now.loads, p.now.loads + p.now.count, p.last.loads);
  p.alike = alike ? p.alike + 1 : 0;
  p.last = p.now;
  p.now = {};
  me.ahead += machine_.all.pause;
  counted.pausing += machine_.all.pause;
  if (p.alike >= polls_before_skip && machine_.all.skip_polls != 0) {
    skip_polls();
  }
}

void simulation::skip_polls() {
  thread& me = *current_;
  pass_time();
  polling& p = me.poll;
  for (std::uint32_t i = 0; i < p.last.count; ++i) {
    if (!lines_.has(lines_.number_of(p.last.loads[i].at, core_of(me)), core_of(me), access::load)) {
      return;
    }
  }
  p.length = machine_.all.pause + p.last.count * machine_.all.load_hit + p.last.own;
  processors.poll(me, p.alike / skipped_share);
  suspend();
  p.alike += p.left;
  counted.pausing += p.left * machine_.all.pause;
}

void simulation::work(picoseconds length) {
  thread& me = *current_;
  length = me.random.around(length, machine_.all.work_jitter);
  const std::uint64_t slowness = processors.slowness(me.processor);
  if (slowness != 1000) {
    length = length / 1000 * slowness + length % 1000 * slowness / 1000;
  }
  counted.working += length;
  worked_ += length;
  spend(length);
}

void simulation::read_data(picoseconds length) {
  worked_ += length;
  spend(length);
}

void simulation::spend(picoseconds length) {
  current_->poll.forget();
  current_->ahead += length;
  pass_time();
}

void simulation::spend_until(picoseconds then) {
  thread& me = *current_;
  // A loop whose polls are skipped has passed through here with its length once.
  if (me.poll.left == 0 && then > callers_time()) {
    const picoseconds length = then - callers_time();
    me.ahead += length;
    me.poll.now.own += length;
  }
}

void simulation::spend_in_kernel(picoseconds length) {
  spend(current_->random.around(length, machine_.all.kernel_jitter));
}

std::uint64_t simulation::now_ns() {
  current_->poll.forget();
  current_->ahead += machine_.all.clock_read;
  pass_time();
  return time.now / 1000;
}

void simulation::yield() {
  spend(machine_.all.yield);
  thread& me = *current_;
  if (processors.is_wanted(me.processor)) {
    processors.requeue(me, true);
    suspend();
  }
}

void simulation::move_to(std::uint32_t processor) {
  begin_step();
  drain_stores();
  thread& me = *current_;
  if (me.processor == processor) {
    me.bound = true;
    return;
  }
  processors.move(me, processor);
  suspend();
}

void simulation::pass_bucket(const void* at, picoseconds longer) {
  const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(at) * 0x9e37'79b9'7f4a'7c15u;
  picoseconds& busy_until = bucket_busy_until_[hash >> 54];
  const picoseconds has_passed = std::max(time.now, busy_until) + machine_.all.futex_bucket;
  busy_until = has_passed + longer;
  spend(has_passed - time.now);
}

void simulation::sleep(const void* at, std::uint32_t expected, std::uint64_t deadline_ns) {
  begin_step();
  drain_stores();
  pass_bucket(at);
  const auto is_refused = [&] {
    return static_cast<std::uint32_t>(load(at, sizeof expected)) != expected ||
           (deadline_ns != ~std::uint64_t{0} && deadline_ns * 1000 <= time.now);
  };
  if (is_refused()) {
    spend_in_kernel(machine_.all.futex_miss);
    return;
  }
  spend_in_kernel(machine_.all.futex_sleep);
  // A change meanwhile ends the sleep as soon as it has begun.
  if (is_refused()) {
    return;
  }
  thread& me = *current_;
  ++counted.sleeps;
  me.sleeps_on = at;
  asleep_[at].queue.push_back(&me);
  ++me.sleeps;
  if (deadline_ns != ~std::uint64_t{0}) {
    time.add(deadline_ns * 1000, occasion::deadline, me.number, me.sleeps);
  }
  me.ahead = 0;
  processors.leave(me, thread_state::sleeping);
  suspend();
}

void simulation::on_deadline(thread& t, std::uint64_t sleep) {
  if (t.sleeps_on == nullptr || t.sleeps != sleep) {
    return;
  }
  const auto found = asleep_.find(t.sleeps_on);
  std::erase(found->second.queue, &t);
  if (found->second.queue.empty()) {
    asleep_.erase(found);
  }
  t.sleeps_on = nullptr;
  processors.wake(t, nullptr);
}

void simulation::wake(const void* at, std::uint32_t count) {
  begin_step();
  drain_stores();
  const figures& f = machine_.all;
  picoseconds keeps_bucket = 0;
  if (f.wake_in_bucket != 0 && asleep_.contains(at)) {
    keeps_bucket = f.futex_wake * std::min<std::size_t>(count, asleep_[at].queue.size());
  }
  pass_bucket(at, keeps_bucket);
  const auto found = asleep_.find(at);
  std::uint32_t woken = 0;
  picoseconds interrupts = 0;
  while (found != asleep_.end() && woken < count && !found->second.queue.empty()) {
    thread& t = *found->second.queue.front();
    found->second.queue.pop_front();
    t.sleeps_on = nullptr;
    interrupts += processors.wake(t, current_);
    ++woken;
  }
  if (found != asleep_.end() && found->second.queue.empty()) {
    asleep_.erase(found);
  }
  spend_in_kernel(woken == 0 ? f.futex_miss : woken * f.futex_wake + interrupts);
}

void simulation::membarrier() {
  begin_step();
  drain_stores();
  spend(machine_.all.membarrier);
  // What the others had stored when they were interrupted is seen when it returns.
  thread& me = *current_;
  for (thread& other : threads_) {
    while (&other != &me && !other.stores.empty()) {
      spend(std::max<picoseconds>(machine_.all.cycle, 1));
    }
  }
}

}  // namespace lockwright::simulate
