// The parser after the queue takes the labels of a stack in a loop, which begins anew there.
#include "../../slow_path/psa_stacks.p4"
