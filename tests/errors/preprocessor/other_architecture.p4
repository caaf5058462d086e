// The architecture of another target.
#include <core.p4>
#include <tna.p4>
