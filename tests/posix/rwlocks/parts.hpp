// The parts of the program, in files by subject. Each returns the details to print.
#pragma once

#include <string>

namespace rwlocks {

std::string exclusion();
std::string exclusion_on_one_cpu();
std::string readers_together();
std::string recursive_reads();
std::string recursive_reads_of_many();
std::string tries();
std::string writer_locks_again();

std::string deadlines();
std::string a_writer_gives_up();
std::string giving_up_races_with_admission();
std::string a_deadline_keeps_the_place();
std::string a_writer_with_a_deadline_is_admitted();

std::string writers_first();
std::string a_reader_beside_a_waiting_writer();
std::string phases();
std::string no_starvation();

std::string reused_memory();
std::string freed_by_the_last_user();
std::string static_initialisers();
std::string forks();
std::string between_processes();
std::string cpp_classes();

std::string aliases();

}  // namespace rwlocks
