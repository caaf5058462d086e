// The architecture of a target that is not Tofino.
#include <core.p4>
#include <xsa.p4>
