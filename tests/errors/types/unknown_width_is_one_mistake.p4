extern packet_in {
    void extract<T>(out T headers);
    void extract<T>(out T headers, in bit<32> bits);
    T lookahead<T>();
}
extern Box<T> { Box(); void put(in T value); }
extern void send<T>(in T value);
extern void pick<T>(out T result, in T low, in T high);
struct metadata_t { bit<WIDTH> number; }
header options_t { varbit<WIDTH> options; }
parser P(packet_in packet, out options_t options, inout metadata_t meta) {
    state start {
        packet.extract(options, 32w8);
        meta.number = packet.lookahead<bit<WIDTH>>();
        meta = packet.lookahead<metadata_t>();
        transition accept;
    }
}
control C(inout metadata_t meta) {
    Box<bit<WIDTH>>() box;
    apply {
        send(meta.number);
        send({ meta.number, 8w1 });
        box.put(meta.number + 1);
        pick(meta.number, 0, 7);
    }
}
