struct standard_metadata_t { bit<9> egress_spec; bit<3> priority; }
control C(inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.drop == 1w1) { standard_metadata.egress_spec = 1; }
    }
}
