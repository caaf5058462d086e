/* The Portable NIC Architecture (PNA specification, p4.org), and the entries that the data plane adds to tables.

   The package has a pre control or none: PNA_NIC takes four blocks, as in p4c's pna.p4, or three, as in the specification
   since 2024. Both interfaces can be used together but for add_entry and SelectByDirection, which differ: they are those
   of the interface with four blocks, or with PNA_WITH_THREE_BLOCKS those of the other, without what that does not have. */

#ifndef __PNA_P4__
#define __PNA_P4__

#include <core.p4>

/* Plain integers behind the types of the interface. The control plane translates the types with
   @p4runtime_translation; the names ending in Uint_t are not translated. */
typedef bit<32> PortIdUint_t;
typedef bit<32> InterfaceIdUint_t;
typedef bit<32> MulticastGroupUint_t;
typedef bit<16> MirrorSessionIdUint_t;
typedef bit<8> MirrorSlotIdUint_t;
typedef bit<8> ClassOfServiceUint_t;
typedef bit<16> PacketLengthUint_t;
typedef bit<16> MulticastInstanceUint_t;
typedef bit<64> TimestampUint_t;
typedef bit<32> FlowIdUint_t;
typedef bit<8> ExpireTimeProfileIdUint_t;
typedef bit<32> SecurityAssocIdUint_t;

@p4runtime_translation("p4.org/pna/v1/PortId_t", 32)
type PortIdUint_t PortId_t;
@p4runtime_translation("p4.org/pna/v1/InterfaceId_t", 32)
type InterfaceIdUint_t InterfaceId_t;
@p4runtime_translation("p4.org/pna/v1/MulticastGroup_t", 32)
type MulticastGroupUint_t MulticastGroup_t;
@p4runtime_translation("p4.org/pna/v1/MirrorSessionId_t", 16)
type MirrorSessionIdUint_t MirrorSessionId_t;
@p4runtime_translation("p4.org/pna/v1/MirrorSlotId_t", 8)
type MirrorSlotIdUint_t MirrorSlotId_t;
@p4runtime_translation("p4.org/pna/v1/ClassOfService_t", 8)
type ClassOfServiceUint_t ClassOfService_t;
@p4runtime_translation("p4.org/pna/v1/PacketLength_t", 16)
type PacketLengthUint_t PacketLength_t;
@p4runtime_translation("p4.org/pna/v1/MulticastInstance_t", 16)
type MulticastInstanceUint_t MulticastInstance_t;
@p4runtime_translation("p4.org/pna/v1/Timestamp_t", 64)
type TimestampUint_t Timestamp_t;
@p4runtime_translation("p4.org/pna/v1/FlowId_t", 32)
type FlowIdUint_t FlowId_t;
@p4runtime_translation("p4.org/pna/v1/ExpireTimeProfileId_t", 8)
type ExpireTimeProfileIdUint_t ExpireTimeProfileId_t;
@p4runtime_translation("p4.org/pna/v1/SecurityAssocId_t", 64)
type SecurityAssocIdUint_t SecurityAssocId_t;

typedef error ParserError_t;

const InterfaceId_t PNA_PORT_CPU = (InterfaceId_t) 0xfffffffd;

const MirrorSessionId_t PNA_MIRROR_SESSION_TO_CPU = (MirrorSessionId_t) 0;

/* The same types as they travel in packet headers. */
typedef bit<32> PortIdInHeaderUint_t;
typedef bit<32> InterfaceIdInHeaderUint_t;
typedef bit<32> MulticastGroupInHeaderUint_t;
typedef bit<16> MirrorSessionIdInHeaderUint_t;
typedef bit<8> MirrorSlotIdInHeaderUint_t;
typedef bit<8> ClassOfServiceInHeaderUint_t;
typedef bit<16> PacketLengthInHeaderUint_t;
typedef bit<16> MulticastInstanceInHeaderUint_t;
typedef bit<64> TimestampInHeaderUint_t;
typedef bit<32> FlowIdInHeaderUint_t;
typedef bit<8> ExpireTimeProfileIdInHeaderUint_t;
typedef bit<32> SecurityAssocIdInHeaderUint_t;

@p4runtime_translation("p4.org/pna/v1/PortIdInHeader_t", 32)
type PortIdInHeaderUint_t PortIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/InterfaceIdInHeader_t", 32)
type InterfaceIdInHeaderUint_t InterfaceIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MulticastGroupInHeader_t", 32)
type MulticastGroupInHeaderUint_t MulticastGroupInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MirrorSessionIdInHeader_t", 16)
type MirrorSessionIdInHeaderUint_t MirrorSessionIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MirrorSlotIdInHeader_t", 8)
type MirrorSlotIdInHeaderUint_t MirrorSlotIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/ClassOfServiceInHeader_t", 8)
type ClassOfServiceInHeaderUint_t ClassOfServiceInHeader_t;
@p4runtime_translation("p4.org/pna/v1/PacketLengthInHeader_t", 16)
type PacketLengthInHeaderUint_t PacketLengthInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MulticastInstanceInHeader_t", 16)
type MulticastInstanceInHeaderUint_t MulticastInstanceInHeader_t;
@p4runtime_translation("p4.org/pna/v1/TimestampInHeader_t", 64)
type TimestampInHeaderUint_t TimestampInHeader_t;
@p4runtime_translation("p4.org/pna/v1/FlowIdInHeader_t", 32)
type FlowIdInHeaderUint_t FlowIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/ExpireTimeProfileIdInHeader_t", 8)
type ExpireTimeProfileIdInHeaderUint_t ExpireTimeProfileIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/SecurityAssocIdInHeader_t", 64)
type SecurityAssocIdInHeaderUint_t SecurityAssocIdInHeader_t;

/* Conversions between the two. */
PortId_t pna_PortId_header_to_int (in PortIdInHeader_t x) {
    return (PortId_t) (PortIdUint_t) (PortIdInHeaderUint_t) x;
}
InterfaceId_t pna_InterfaceId_header_to_int (in InterfaceIdInHeader_t x) {
    return (InterfaceId_t) (InterfaceIdUint_t) (InterfaceIdInHeaderUint_t) x;
}
MulticastGroup_t pna_MulticastGroup_header_to_int (in MulticastGroupInHeader_t x) {
    return (MulticastGroup_t) (MulticastGroupUint_t) (MulticastGroupInHeaderUint_t) x;
}
MirrorSessionId_t pna_MirrorSessionId_header_to_int (in MirrorSessionIdInHeader_t x) {
    return (MirrorSessionId_t) (MirrorSessionIdUint_t) (MirrorSessionIdInHeaderUint_t) x;
}
ClassOfService_t pna_ClassOfService_header_to_int (in ClassOfServiceInHeader_t x) {
    return (ClassOfService_t) (ClassOfServiceUint_t) (ClassOfServiceInHeaderUint_t) x;
}
PacketLength_t pna_PacketLength_header_to_int (in PacketLengthInHeader_t x) {
    return (PacketLength_t) (PacketLengthUint_t) (PacketLengthInHeaderUint_t) x;
}
MulticastInstance_t pna_MulticastInstance_header_to_int (in MulticastInstanceInHeader_t x) {
    return (MulticastInstance_t) (MulticastInstanceUint_t) (MulticastInstanceInHeaderUint_t) x;
}
Timestamp_t pna_Timestamp_header_to_int (in TimestampInHeader_t x) {
    return (Timestamp_t) (TimestampUint_t) (TimestampInHeaderUint_t) x;
}
FlowId_t pna_FlowId_header_to_int (in FlowIdInHeader_t x) {
    return (FlowId_t) (FlowIdUint_t) (FlowIdInHeaderUint_t) x;
}
ExpireTimeProfileId_t pna_ExpireTimeProfileId_header_to_int (in ExpireTimeProfileIdInHeader_t x) {
    return (ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) (ExpireTimeProfileIdInHeaderUint_t) x;
}

PortIdInHeader_t pna_PortId_int_to_header (in PortId_t x) {
    return (PortIdInHeader_t) (PortIdInHeaderUint_t) (PortIdUint_t) x;
}
InterfaceIdInHeader_t pna_InterfaceId_int_to_header (in InterfaceId_t x) {
    return (InterfaceIdInHeader_t) (InterfaceIdInHeaderUint_t) (InterfaceIdUint_t) x;
}
MulticastGroupInHeader_t pna_MulticastGroup_int_to_header (in MulticastGroup_t x) {
    return (MulticastGroupInHeader_t) (MulticastGroupInHeaderUint_t) (MulticastGroupUint_t) x;
}
MirrorSessionIdInHeader_t pna_MirrorSessionId_int_to_header (in MirrorSessionId_t x) {
    return (MirrorSessionIdInHeader_t) (MirrorSessionIdInHeaderUint_t) (MirrorSessionIdUint_t) x;
}
ClassOfServiceInHeader_t pna_ClassOfService_int_to_header (in ClassOfService_t x) {
    return (ClassOfServiceInHeader_t) (ClassOfServiceInHeaderUint_t) (ClassOfServiceUint_t) x;
}
PacketLengthInHeader_t pna_PacketLength_int_to_header (in PacketLength_t x) {
    return (PacketLengthInHeader_t) (PacketLengthInHeaderUint_t) (PacketLengthUint_t) x;
}
MulticastInstanceInHeader_t pna_MulticastInstance_int_to_header (in MulticastInstance_t x) {
    return (MulticastInstanceInHeader_t) (MulticastInstanceInHeaderUint_t) (MulticastInstanceUint_t) x;
}
TimestampInHeader_t pna_Timestamp_int_to_header (in Timestamp_t x) {
    return (TimestampInHeader_t) (TimestampInHeaderUint_t) (TimestampUint_t) x;
}
FlowIdInHeader_t pna_FlowId_int_to_header (in FlowId_t x) {
    return (FlowIdInHeader_t) (FlowIdInHeaderUint_t) (FlowIdUint_t) x;
}
ExpireTimeProfileIdInHeader_t pna_ExpireTimeProfileId_int_to_header (in ExpireTimeProfileId_t x) {
    return (ExpireTimeProfileIdInHeader_t) (ExpireTimeProfileIdInHeaderUint_t) (ExpireTimeProfileIdUint_t) x;
}

#ifndef PNA_WITH_THREE_BLOCKS
/* The number of times that a packet was recirculated. */
typedef bit<3> PassNumberUint_t;
typedef bit<8> PassNumberInHeaderUint_t;
@p4runtime_translation("p4.org/pna/v1/PassNumber_t", 8)
type PassNumberUint_t PassNumber_t;
@p4runtime_translation("p4.org/pna/v1/PassNumberInHeader_t", 8)
type PassNumberInHeaderUint_t PassNumberInHeader_t;

PassNumber_t pna_PassNumber_header_to_int (in PassNumberInHeader_t x) {
    return (PassNumber_t) (PassNumberUint_t) (PassNumberInHeaderUint_t) x;
}
PassNumberInHeader_t pna_PassNumber_int_to_header (in PassNumber_t x) {
    return (PassNumberInHeader_t) (PassNumberInHeaderUint_t) (PassNumberUint_t) x;
}
#endif

/* Values of the table property pna_idle_timeout. AUTO_DELETE, which p4c's DPDK back end has, deletes entries that were
   not hit in time without telling the control plane. */
enum PNA_IdleTimeout_t {
    NO_TIMEOUT,
    NOTIFY_CONTROL,
    AUTO_DELETE
};

match_kind {
    range,      // between two bounds, both inclusive
    selector,   // input to the hash of an ActionSelector
    optional    // exact, or anything at all
}

/* TARGET_DEFAULT is chosen by the target. The others are those of PSA; TOEPLITZ is that of
 * receive-side scaling, with its usual key. */
enum PNA_HashAlgorithm_t {
    TARGET_DEFAULT,
    IDENTITY,
    CRC32,
    CRC32_CUSTOM,
    CRC16,
    CRC16_CUSTOM,
    ONES_COMPLEMENT16,
    TOEPLITZ
}

extern Hash<O> {
    Hash(PNA_HashAlgorithm_t algo);
    // The hash of `data`.
    @pure
    O get_hash<D>(in D data);
    // base + (hash of data modulo max).
    @pure
    O get_hash<T, D>(in T base, in D data, in T max);
}

/* A checksum that is computed step by step. */
extern Checksum<W> {
    Checksum(PNA_HashAlgorithm_t hash);
    void clear();
    void update<T>(in T data);
    // The checksum of what was added since the last clear().
    @noSideEffects
    W    get();
}

/* The one's-complement checksum of RFC 1071, from which data can be taken away again. Data is a multiple of 16 bits. */
extern InternetChecksum {
    InternetChecksum();
    void clear();
    void add<T>(in T data);
    void subtract<T>(in T data);
    @noSideEffects
    bit<16> get();
    // The state of the computation, to be given to set_state() of this or another instance.
    @noSideEffects
    bit<16> get_state();
    void set_state(in bit<16> checksum_state);
}

enum PNA_CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

/* An array of counters of type W, with indices of type S. */
@noWarn("unused")
extern Counter<W, S> {
    Counter(bit<32> n_counters, PNA_CounterType_t type);
    void count(in S index, @optional in bit<32> increment);
}

/* A counter per entry of the one table that names it in pna_direct_counter. */
@noWarn("unused")
extern DirectCounter<W> {
    DirectCounter(PNA_CounterType_t type);
    void count(@optional in bit<32> increment);
}

enum PNA_MeterType_t {
    PACKETS,
    BYTES
}

enum PNA_MeterColor_t { RED, GREEN, YELLOW }

/* An array of meters (RFC 2698): colour-aware with a colour, colour-blind without. */
extern Meter<S> {
    Meter(bit<32> n_meters, PNA_MeterType_t type);
    PNA_MeterColor_t execute(in S index, in PNA_MeterColor_t color);
    PNA_MeterColor_t execute(in S index);
    // As p4c's DPDK back end has them, which is told the packet's length.
    PNA_MeterColor_t dpdk_execute(in S index, in PNA_MeterColor_t color, in bit<32> pkt_len);
    PNA_MeterColor_t dpdk_execute(in S index, in bit<32> pkt_len);
}

/* A meter per entry of the one table that names it in pna_direct_meter. */
extern DirectMeter {
    DirectMeter(PNA_MeterType_t type);
    PNA_MeterColor_t execute(in PNA_MeterColor_t color);
    PNA_MeterColor_t execute();
    PNA_MeterColor_t dpdk_execute(in PNA_MeterColor_t color, in bit<32> pkt_len);
    PNA_MeterColor_t dpdk_execute(in bit<32> pkt_len);
}

/* An array of values that survive from packet to packet; undefined at first, or initial_value everywhere. */
extern Register<T, S> {
    Register(bit<32> size);
    Register(bit<32> size, T initial_value);
    @noSideEffects
    T    read  (in S index);
    void write (in S index, in T value);
}

/* Uniformly distributed numbers between min and max, both inclusive. */
extern Random<T> {
    Random(T min, T max);
    T read();
}

/* pna_implementation of tables that share action data. */
extern ActionProfile {
    ActionProfile(bit<32> size);
}

/* pna_implementation of tables that choose a member of a group by a hash of the `selector` keys. */
extern ActionSelector {
    ActionSelector(PNA_HashAlgorithm_t algo, bit<32> size, bit<32> outputWidth);
}

/* A stream of messages to the control plane. */
extern Digest<T> {
    Digest();
    void pack(in T data);
}

/* Where a packet comes from. */
enum PNA_Source_t {
    FROM_HOST,
    FROM_NET
}

/* Whether a port leads to the host, or to the network. */
@pure
extern bool is_host_port(in PortId_t p);
@pure
extern bool is_net_port(in PortId_t p);

#ifndef PNA_WITH_THREE_BLOCKS
/* Whether a packet comes from the network or from the host. */
enum PNA_Direction_t {
    NET_TO_HOST,
    HOST_TO_NET
}

/* How a packet came to the block that is looking at it. */
enum PNA_PacketPath_t {
    FROM_NET_PORT,
    FROM_NET_LOOPEDBACK,
    FROM_NET_RECIRCULATED,
    FROM_HOST,
    FROM_HOST_LOOPEDBACK,
    FROM_HOST_RECIRCULATED
}

struct pna_pre_input_metadata_t {
    PortId_t                 input_port;
    ParserError_t            parser_error;
    PNA_Direction_t          direction;
    PassNumber_t             pass;
    bool                     loopedback;
}

struct pna_pre_output_metadata_t {
    bool                     decrypt;
    SecurityAssocId_t        said;
    bit<16>                  decrypt_start_offset;
}
#endif

struct pna_main_parser_input_metadata_t {
#ifndef PNA_WITH_THREE_BLOCKS
    PNA_Direction_t          direction;
    PassNumber_t             pass;
    bool                     loopedback;
#endif
    bool                     recirculated;       // whether `pass` is not 0
    PortId_t                 input_port;
}

struct pna_main_input_metadata_t {
#ifndef PNA_WITH_THREE_BLOCKS
    PNA_Direction_t          direction;
    PassNumber_t             pass;
    bool                     loopedback;
#endif
    bool                     recirculated;
    Timestamp_t              timestamp;
    ParserError_t            parser_error;
    ClassOfService_t         class_of_service;
    PortId_t                 input_port;
}

struct pna_main_output_metadata_t {
    ClassOfService_t         class_of_service;   // 0
}

/* What becomes of the packet when the main control ends: the last of these that was called decides; without any, the
   packet is dropped. Mirrored packets are not affected. */
extern void drop_packet();
extern void send_to_port(in PortId_t dest_port);

/* Sends a copy of the packet as the deparser makes it to the ports of a mirror session. A later call with the same slot
   replaces an earlier one. There are four slots, 0 to 3. */
extern void mirror_packet(in MirrorSlotId_t mirror_slot_id,
                          in MirrorSessionId_t mirror_session_id);

#ifndef PNA_WITH_THREE_BLOCKS
/* Sends the packet as the deparser makes it to the main parser again. */
extern void recirculate();
#endif

/* What became of an entry that was to be added; with four blocks add_entry returns a bool instead. */
typedef bit<1> AddEntryErrorStatus_t;
const AddEntryErrorStatus_t ADD_ENTRY_SUCCESS = 0;
const AddEntryErrorStatus_t ADD_ENTRY_NOT_DONE = 1;

#ifdef PNA_WITH_THREE_BLOCKS
#define PNA_ADD_ENTRY_RESULT AddEntryErrorStatus_t
#else
#define PNA_ADD_ENTRY_RESULT bool
#endif

/* In the default action of a table with `add_on_miss = true`, whose keys are all exact: adds an entry with the key that
   has just missed, and the action and its data. Always true, or ADD_ENTRY_SUCCESS: whether the table takes the entry is
   decided after the packet. The entry is deleted when it was not hit for the time of the profile. */
extern PNA_ADD_ENTRY_RESULT add_entry<T>(string action_name,
                                         in T action_params,
                                         in ExpireTimeProfileId_t expire_time_profile_id);

/* The same if `do_add_entry` is true, and ADD_ENTRY_NOT_DONE otherwise. */
extern AddEntryErrorStatus_t add_entry_if<T>(in bool do_add_entry,
                                             string action_name,
                                             in T action_params,
                                             in ExpireTimeProfileId_t expire_time_profile_id);

/* The next number of 32 bits; after 2^32 flows they begin again. */
extern FlowId_t allocate_flow_id();

/* In an action of a table with idle time-outs: the entry that was hit gets another time, or begins its time again. */
extern void set_entry_expire_time(in ExpireTimeProfileId_t expire_time_profile_id);
extern void restart_expire_timer();

/* set_entry_expire_time() if the condition is true. */
extern void set_entry_expire_time_if(in bool condition, in ExpireTimeProfileId_t expire_time_profile_id);

/* If the first is true: set_entry_expire_time() if the second is true too, and restart_expire_timer() otherwise. */
extern void update_expire_info(in bool update_aging_info,
                               in bool update_expire_time,
                               in ExpireTimeProfileId_t expire_time_profile_id);

/* Chooses by where the packet comes from. */
#ifdef PNA_WITH_THREE_BLOCKS
@pure
extern T SelectByDirection<T>(in bool is_network_port,
                              in T from_net_value,
                              in T from_host_value);
#else
@pure
extern T SelectByDirection<T>(in PNA_Direction_t direction,
                              in T n2h_value,
                              in T h2n_value);
#endif

#ifndef PNA_WITH_THREE_BLOCKS
/* An IPsec accelerator beside the pipeline, as p4c's DPDK back end has it. It is declared, not executed. */
enum ipsec_status {
    IPSEC_SUCCESS,
    IPSEC_ERROR
}

extern ipsec_accelerator {
    ipsec_accelerator();
    void set_sa_index<T>(in T sa_index);
    void set_ip_header_offset<T>(in T offset);
    void enable();
    void disable();
    bool from_ipsec(out ipsec_status status);
}
#endif

/* The programmable blocks. */

/* Further parameters of controls and deparsers on some targets, with a comma in front. */
#ifndef PNA_FURTHER_PARAMETERS
#define PNA_FURTHER_PARAMETERS
#endif

parser MainParserT<MH, MM>(
    packet_in pkt,
    out   MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_parser_input_metadata_t istd);

control MainControlT<MH, MM>(
    inout MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_input_metadata_t  istd,
    inout pna_main_output_metadata_t ostd
    PNA_FURTHER_PARAMETERS);

// The specification has `inout` for the headers, p4c `in`: programs with either are taken.
@inout_too
control MainDeparserT<MH, MM>(
    packet_out pkt,
    in    MH main_hdr,
    in    MM main_user_meta,
    in    pna_main_output_metadata_t ostd
    PNA_FURTHER_PARAMETERS);

package PNA_NIC<MH, MM>(
    MainParserT<MH, MM> main_parser,
    MainControlT<MH, MM> main_control,
    MainDeparserT<MH, MM> main_deparser);

#ifndef PNA_WITH_THREE_BLOCKS
control PreControlT<PH, PM>(
    in    PH pre_hdr,
    inout PM pre_user_meta,
    in    pna_pre_input_metadata_t  istd,
    inout pna_pre_output_metadata_t ostd);

package PNA_NIC<PH, PM, MH, MM>(
    MainParserT<MH, MM> main_parser,
    PreControlT<PH, PM> pre_control,
    MainControlT<MH, MM> main_control,
    MainDeparserT<MH, MM> main_deparser);
#endif

#endif
