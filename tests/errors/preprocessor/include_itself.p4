#include "include_itself.p4"
