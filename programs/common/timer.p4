// The packets of a timer port (`forebay run -i PORT@timer:INTERVAL,PACKETS`, `[[timer]]` of a scenario), which stands for the packet
// generator of a switch chip. It sends packets with numbers from 0 to PACKETS - 1, again and again, one each INTERVAL; and all of
// them once more when the switch stops.

#ifndef COMMON_TIMER_P4
#define COMMON_TIMER_P4

// EtherType "local experimental 1" (IEEE 802).
const bit<16> ETHERTYPE_TIMER = 0x88b5;

const bit<8> TIMER_PERIODIC = 0;
const bit<8> TIMER_LAST_ROUND = 1;

header timer_t {
    bit<8> kind;
    bit<8> padding;
    // How often all numbers have been used, modulo 2^16.
    bit<16> round;
    bit<32> number;
}

#endif
