/* The Portable NIC Architecture as p4c's back end for Linux TC has it: the interface with three blocks, and what the
   kernel keeps beside a packet. */

#ifndef __TC_PNA_P4__
#define __TC_PNA_P4__

#include <core.p4>

error {
    // What a transition to `reject` means here: the packet is dropped. (After other errors, the main control runs.)
    TC_ACT_SHOT
}

/* The metadata of a packet in the kernel (sk_buff). It is declared, not executed. */
extern tc_skb_metadata {
    // Reads the metadata, or writes back what was set.
    void get();
    void set();
    bit<64> get_tstamp();
    bit<32> get_mark();
    bit<16> get_tc_classid();
    bit<16> get_tc_index();
    bit<16> get_queue_mapping();
    bit<16> get_protocol();
    bit<1> get_tc_at_ingress();
    bit<1> get_from_ingress();
    void set_tstamp(in bit<64> ts);
    void set_mark(in bit<32> m);
    void set_tc_classid(in bit<16> cid);
    void set_tc_index(in bit<16> x);
    void set_queue_mapping(in bit<16> m);
    void set_protocol(in bit<16> p);
}

#define PNA_WITH_THREE_BLOCKS
#define PNA_FURTHER_PARAMETERS , @optional tc_skb_metadata skb_meta
#include <pna.p4>

/* What TC's control plane sees of the extern objects. Packets do not use these. */
struct tc_ControlPath_Counter<W, S> {
    @tc_key  S index;
    @tc_data W pkts;
    @tc_data W bytes;
}

struct tc_ControlPath_DirectCounter<W> {
    @tc_key  bit<32> index;
    @tc_data W pkts;
    @tc_data W bytes;
}

struct tc_ControlPath_Meter<S> {
    @tc_key  S index;
    @tc_data bit<64> cir;
    @tc_data bit<64> cbs;
    @tc_data bit<64> pir;
    @tc_data bit<64> pbs;
}

struct tc_ControlPath_DirectMeter {
    @tc_key  bit<32> index;
    @tc_data bit<64> cir;
    @tc_data bit<64> cbs;
    @tc_data bit<64> pir;
    @tc_data bit<64> pbs;
}

struct tc_ControlPath_Register<T> {
    @tc_key  bit<32> index;
    @tc_data T a_value;
}

struct tc_ControlPath_Digest<T> {
    @tc_key  bit<32> index;
    @tc_data T data;
}

#endif
