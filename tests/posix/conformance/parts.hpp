// The parts of the program, in files by object.
#pragma once

namespace conformance {

void mutex_kinds();
void static_initialisers();
void normal_mutexes_check_nothing();
void owners_that_end();

void condition_variables();
void clocks_of_condition_variables();
void wait_in_a_recursive_lock();
void wait_with_a_free_mutex();
void destroy_a_mutex_that_a_waiter_will_need();

void cancellation();
void no_cancellation_points();
void state_after_a_wait();
void cancellation_disabled();

void interrupted_calls();
void fork_in_a_handler();
void forks();
void private_mutex_in_shared_memory();

void c11();
void semaphores();
void barriers_and_once();

}  // namespace conformance
