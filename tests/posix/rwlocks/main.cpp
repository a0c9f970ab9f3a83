// Tests of reader-writer locks. LOCKWRIGHT_TEST_RWLOCK states what to expect beyond POSIX:
// `exclusive`, that readers exclude each other, or the preference of the lock. LOCKWRIGHT_TEST_QUEUES is
// set if threads with a deadline queue like the others.
#include "../../support/check.hpp"
#include "parts.hpp"

using namespace rwlocks;

int main(int argc, char** argv) {
  return check::run(argc, argv,
                    {{"exclusion", exclusion},
                     {"exclusion on one cpu", exclusion_on_one_cpu},
                     {"readers together", readers_together},
                     {"recursive reads", recursive_reads},
                     {"recursive reads of many", recursive_reads_of_many},
                     {"tries", tries},
                     {"writer relocks", writer_locks_again},
                     {"deadlines", deadlines},
                     {"a writer gives up", a_writer_gives_up},
                     {"timeout races with grant", giving_up_races_with_admission},
                     {"a deadline keeps the place", a_deadline_keeps_the_place},
                     {"a writer with a deadline is admitted", a_writer_with_a_deadline_is_admitted},
                     {"writers first", writers_first},
                     {"a reader beside a waiting writer", a_reader_beside_a_waiting_writer},
                     {"phases", phases},
                     {"no starvation", no_starvation},
                     {"reused memory", reused_memory},
                     {"freed by the last user", freed_by_the_last_user},
                     {"static initialisers", static_initialisers},
                     {"forks", forks},
                     {"between processes", between_processes},
                     {"classes of C++", cpp_classes},
                     {"aliases", aliases}});
}
