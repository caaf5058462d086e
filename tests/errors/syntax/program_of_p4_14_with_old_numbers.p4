#include <tofino/intrinsic_metadata.p4>
field_list addresses { ipv4.src; ipv4.dst; }
header_type ethernet_t { fields { dst : 48; src : 48; kind : 16; } }
parser start { return select(current(0, 8)) { 8'0 : ingress; } }
