// Prints as JSON the layouts of the files that the libraries share with the command. The build
// installs it as layouts.json.
#include <cstdint>
#include <cstdio>

#include "interpose/layout.hpp"
#include "preload/counting.hpp"
#include "preload/metrics_page.hpp"
#include "preload/stats_page.hpp"
#include "probe/histogram.hpp"
#include "probe/mutex_words.hpp"
#include "probe/profile_buffer.hpp"

namespace {

using lockwright::interpose::field;
using lockwright::interpose::loads;
using lockwright::preload::event;
using lockwright::preload::metrics_page;
using lockwright::preload::stats_page;
using lockwright::preload::wait_counts;
using namespace lockwright::probe;

void emit_constant(const char* name, std::uint64_t value) {
  std::printf("  \"%s\": %llu,\n", name, static_cast<unsigned long long>(value));
}
#define EMIT(name) emit_constant(#name, static_cast<std::uint64_t>(name))

template <class T>
void emit_struct(const char* separator = ",") {
  const T* none = nullptr;
  const std::string_view name = name_of(none);
  std::printf("  \"%.*s\": {\"bytes\": %zu, \"fields\": [", static_cast<int>(name.size()),
              name.data(), sizeof(T));
  const char* between = "";
  for (const field& each : layout_of(none)) {
    std::printf("%s\n    [\"%.*s\", \"%.*s\", %zu, %zu]", between,
                static_cast<int>(each.name.size()), each.name.data(),
                static_cast<int>(each.type.size()), each.type.data(), each.offset, each.count);
    between = ",";
  }
  std::printf("]}%s\n", separator);
}

}  // namespace

int main() {
  std::printf("{\"constants\": {\n");
  EMIT(event::mutex_used);
  EMIT(event::acquired);
  EMIT(event::contended);
  EMIT(event::cond_waited);
  EMIT(event::trylock_failed);
  EMIT(event::futex_wait);
  EMIT(event::futex_wake);
  EMIT(event::left_to_library);
  EMIT(event::read_locked);
  EMIT(event::write_locked);
  EMIT(event::spin_locked);
  EMIT(event::rwlock_left);
  EMIT(histogram::parts);
  EMIT(histogram::octaves);
  EMIT(init_stack_shift);
  EMIT(metrics_page::stripes);
  EMIT(span::hold);
  EMIT(span::wait);
  EMIT(other_process::is_unseen);
  EMIT(profile_buffer::spans_in_block);
  EMIT(record::is_chosen);
  EMIT(record::is_metered);
  EMIT(experiments::no_waits);
  EMIT(experiments::reader_numbers);
  EMIT(experiments::readers_together);
  EMIT(record::is_shared);
  EMIT(record::is_void);
  EMIT(record::of_readers);
  EMIT(record::of_writers);
  EMIT(wait_counts::least_bits);
  EMIT(wait_object::condition);
  EMIT(wait_object::join);
  EMIT(wait_object::kinds);
  std::printf("  \"stats_page::words\": %u},\n \"structs\": {\n", stats_page::words);
  emit_struct<lockwright::interpose::layout_stamp>();
  emit_struct<lockwright::interpose::process_identity>();
  emit_struct<lockwright::interpose::load>();
  emit_struct<loads>();
  emit_struct<stats_page>();
  emit_struct<wait_counts>();
  emit_struct<metrics_page>();
  emit_struct<sampler>();
  emit_struct<timed_section>();
  emit_struct<awaited_object>();
  emit_struct<thread_slot>();
  emit_struct<live_thread>();
  emit_struct<thread_role>();
  emit_struct<init_site>();
  emit_struct<init_stack>();
  emit_struct<init_table>();
  emit_struct<loaded_module>();
  emit_struct<stack>();
  emit_struct<record>();
  emit_struct<call_site>();
  emit_struct<wait_edge>();
  emit_struct<mutex_detail>();
  emit_struct<wait_site>();
  emit_struct<wait_object>();
  emit_struct<span>();
  emit_struct<other_process>();
  emit_struct<experiments>();
  emit_struct<profile_buffer>("}}");
  return std::ferror(stdout) != 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
