#include core.p4
