// Only what is declared by `type` can be translated.
#include <core.p4>

@p4runtime_translation("example.com/port", string)
typedef bit<9> port_t;
