control Check(in standard_metadata_t standard_metadata) {
    apply {}
}

#include <core.p4>
#include <v1model.p4>
