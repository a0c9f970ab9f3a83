// The stacks of all threads of a phase, each printed by its own thread on a signal.
#pragma once

namespace torture {

class phase_run;

void prepare_stacks();
void show_stacks(const phase_run& on);
// Requests from another process of this program the stack of its first thread.
void show_stack_of(int pid);

}  // namespace torture
