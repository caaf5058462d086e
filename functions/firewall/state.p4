// The states of connections.
//
//   TCP    OPENING ─ SYN+ACK ─► ANSWERED ─ ACK ─► ESTABLISHED ─ FIN ─► one side closed ─ FIN ─► CLOSED
//          a reset leads to CLOSED from everywhere
//   UDP    OPENING ─ answer ─► REPLIED

#ifndef FIREWALL_STATE_P4
#define FIREWALL_STATE_P4

#include "packet.p4"

// Another connection has taken the place in the register: packets pass, and the expiry time does not change.
const bit<8> STATE_LOST = 0;
const bit<8> STATE_OPENING = 1;
const bit<8> STATE_ANSWERED = 2;
const bit<8> STATE_ESTABLISHED = 3;
// The client, which has opened the connection, has sent a FIN; the server has.
const bit<8> STATE_FIN_OF_CLIENT = 4;
const bit<8> STATE_FIN_OF_SERVER = 5;
const bit<8> STATE_CLOSED = 6;
const bit<8> STATE_REPLIED = 7;
// Not a state: the segment does not fit, and is dropped.
const bit<8> STATE_INVALID = 0xff;

// Whether the segment has flags that no TCP sends together.
bool has_wrong_flags(in tcp_t tcp) {
    return (tcp.syn == 1 && (tcp.fin == 1 || tcp.rst == 1)) || (tcp.fin == 1 && tcp.ack == 0)
        || (tcp.syn == 0 && tcp.rst == 0 && tcp.ack == 0);
}

bit<8> state_after_segment(in bit<8> state, in bit<1> is_reply, in tcp_t tcp) {
    bit<8> next = state;
    if (state == STATE_LOST) {
        next = state;
    } else if (state == STATE_CLOSED) {
        // Late segments of both sides pass. A SYN of the client begins a new connection, and does not come here.
        next = tcp.syn == 1 ? STATE_INVALID : state;
    } else if (tcp.rst == 1) {
        next = STATE_CLOSED;
    } else if (state == STATE_OPENING) {
        if (is_reply == 1) {
            next = tcp.syn == 1 && tcp.ack == 1 ? STATE_ANSWERED : STATE_INVALID;
        } else if (tcp.syn == 0) {
            next = STATE_INVALID;
        }
    } else if (state == STATE_ANSWERED) {
        if (is_reply == 0 && tcp.syn == 0) {
            next = tcp.fin == 1 ? STATE_FIN_OF_CLIENT : STATE_ESTABLISHED;
        }
    } else if (tcp.fin == 1) {
        if (is_reply == 0) {
            next = state == STATE_FIN_OF_SERVER ? STATE_CLOSED : STATE_FIN_OF_CLIENT;
        } else {
            next = state == STATE_FIN_OF_CLIENT ? STATE_CLOSED : STATE_FIN_OF_SERVER;
        }
    }
    return next;
}

// The expiry time of a connection that enters a state.
bit<8> expiry_of(in bit<8> state) {
    bit<8> expiry = EXPIRY_AS_IT_IS;
    if (state == STATE_ESTABLISHED || state == STATE_FIN_OF_CLIENT || state == STATE_FIN_OF_SERVER) {
        expiry = EXPIRY_TCP_ESTABLISHED;
    } else if (state == STATE_CLOSED) {
        expiry = EXPIRY_TCP_CLOSING;
    } else if (state == STATE_REPLIED) {
        expiry = EXPIRY_UDP;
    }
    return expiry;
}

#endif
