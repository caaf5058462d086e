/* The v1model architecture, which BMv2 calls simple_switch: parser, checksum verification, ingress, traffic manager,
 * egress, checksum computation, deparser.
 *
 * The interface has two versions. Define V1MODEL_VERSION as 20200408 or later to get index types that are type
 * parameters of counter, meter and register; without it indices are bit<32>.
 */

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include "core.p4"

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif
#if V1MODEL_VERSION < 20180101
#error "V1MODEL_VERSION is the date of a version of v1model: 20180101 is the first, 20200408 the latest"
#endif

match_kind {
    range,      // between two bounds, both inclusive
    optional,   // exact, or anything at all
    selector    // input to the hash of an action selector; takes no part in the match
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9>  PortId_t;
#endif

/* The metadata that switch and program exchange about a packet. @alias gives the field its name in BMv2. */
@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t    ingress_port;
    PortId_t    egress_spec;
    PortId_t    egress_port;
#else
    bit<9>      ingress_port;       // where the packet came in
    bit<9>      egress_spec;        // the port that ingress chooses; 511 drops the packet
    bit<9>      egress_port;        // where it goes; to be read in egress
#endif
    bit<32>     instance_type;      // 0 normal, 1 clone of ingress, 2 clone of egress, 4 recirculated, 5 replicated, 6 resubmitted
    bit<32>     packet_length;      // bytes

    // Queueing, known in egress; times in microseconds, depths in packets.
    @alias("queueing_metadata.enq_timestamp")
    bit<32> enq_timestamp;
    @alias("queueing_metadata.enq_qdepth")
    bit<19> enq_qdepth;
    @alias("queueing_metadata.deq_timedelta")
    bit<32> deq_timedelta;
    @alias("queueing_metadata.deq_qdepth")
    bit<19> deq_qdepth;

    // Time at which ingress and egress began, in microseconds since the switch started.
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48> ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48> egress_global_timestamp;
    // Multicast group to replicate to; 0 for none.
    @alias("intrinsic_metadata.mcast_grp")
    bit<16> mcast_grp;
    // Which replica of a multicast packet this is.
    @alias("intrinsic_metadata.egress_rid")
    bit<16> egress_rid;
    // 1 if verify_checksum found a wrong checksum.
    bit<1>  checksum_error;
    // What stopped the parser.
    error parser_error;
    // Queue to use, where the switch has several per port.
    @alias("intrinsic_metadata.priority")
    bit<3> priority;
}

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

/* An array of counters. An index outside the array counts nothing. */
extern counter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    counter(bit<32> size, CounterType type);
#if V1MODEL_VERSION >= 20200408
    void count(in I index);
#else
    void count(in bit<32> index);
#endif
}

/* A counter per entry of the one table that names it in its `counters` property. A hit counts by itself;
   count() says the same explicitly. */
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

/* An array of two-rate three-colour meters (RFC 2698). */
extern meter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    meter(bit<32> size, MeterType type);
    // Writes the packet's colour to `result`; leaves it unspecified when the index is outside the array.
#if V1MODEL_VERSION >= 20200408
    void execute_meter<T>(in I index, out T result);
#else
    void execute_meter<T>(in bit<32> index, out T result);
#endif
}

/* A meter per entry of the one table that names it in its `meters` property. read() gives the packet's colour in an
   action of that table. */
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

/* An array of values that survive from packet to packet. */
#if V1MODEL_VERSION >= 20200408
extern register<T, I>
#else
extern register<T>
#endif
{
    register(bit<32> size);
    // The value read with an index outside the array is unspecified.
    @noSideEffects
#if V1MODEL_VERSION >= 20200408
    void read(out T result, in I index);
#else
    void read(out T result, in bit<32> index);
#endif
    // A write with an index outside the array has no effect.
#if V1MODEL_VERSION >= 20200408
    void write(in I index, in T value);
#else
    void write(in bit<32> index, in T value);
#endif
}

/* `implementation` of a table whose entries share members of a profile. */
extern action_profile {
    action_profile(bit<32> size);
}

/* A uniformly distributed number between `lo` and `hi`, both inclusive. */
extern void random<T>(out T result, in T lo, in T hi);

/* Sends a value to the control plane when ingress ends; `receiver` identifies the listener in BMv2. */
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

/* Sets egress_spec to the drop port and mcast_grp to 0. Later assignments to them undo it. */
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

/* base + (hash of data modulo max), or base alone when max is 0. */
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

/* `implementation` of a table whose entries choose a member of a group by a hash of the `selector` keys. */
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,
    E2E
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

/* Compares a checksum when the condition holds; a difference sets checksum_error. Only in VerifyChecksum. */
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/* Computes a checksum when the condition holds. Only in ComputeChecksum. */
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/* As verify_checksum, over the data and then all the bytes that the parser did not read. */
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/* As update_checksum, over the data and then all the bytes that the parser did not read. */
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/* Copies the packet to the ports of a clone session. No metadata is kept. */
extern void clone(in CloneType type, in bit<32> session);

@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);
/* In ingress: when it ends, gives the packet as it came in to the parser again. User metadata with
   @field_list(index) is kept. */
extern void resubmit_preserving_field_list(bit<8> index);

@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);
/* In egress: gives the deparsed packet to the parser again. User metadata with @field_list(index) is kept. */
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);

/* As clone; user metadata with @field_list(index) is kept in the copies. */
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

/* Cuts the outgoing packet to at most `length` bytes. */
extern void truncate(in bit<32> length);

/* States what must hold, for testing. */
extern void assert(in bool check);

/* States what the program takes for granted. Executed like assert; tools for verification treat it as a premise. */
extern void assume(in bool check);

/* Writes to the log of the switch; `{}` stands for the values of `data` in order. */
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

/* The programmable blocks. H is the struct of headers, M the struct of user metadata. */

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);
@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);
@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep
                       );

#endif
