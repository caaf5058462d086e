// Blocks of ports: each subscriber has one, on one external address for all its mappings (RFC 4787 REQ-2, RFC 6888 REQ-4).
//
//   subscribers  inside address ─► block  ─┐ a pair: they end together
//   blocks       block                    ─┘
//
// A new subscriber gets the first block tried that `blocks` does not have: the look-up that misses adds the entries. No pool of free blocks is
// needed.

#ifndef NAT44_BLOCKS_P4
#define NAT44_BLOCKS_P4

#include "packet.p4"

// Digest of a block that a subscriber has got: `ports` ports from `first_port` on, of every protocol.
struct block_t {
    ipv4_address_t inside_addr;
    ipv4_address_t external_addr;
    bit<16> first_port;
    bit<16> ports;
}

const bit<32> BLOCK_RECEIVER = 1;

struct block_of_ports_t {
    bool is_known;
    // Allotted by this packet.
    bool is_new;
    bit<16> index;
    bit<16> base;
    ipv4_address_t addr;
}

// Blocks of all addresses.
#define BLOCKS (ADDRESSES * (65536 >> BLOCK_BITS))
const bit<16> BLOCK_PORTS = 16w1 << BLOCK_BITS;
const bit<16> BLOCK_MASK = BLOCK_PORTS - 1;
// Ports below 1024 are not used.
const bit<16> FIRST_BLOCK = (16w1023 >> BLOCK_BITS) + 1;
const bit<16> BLOCKS_OF_ADDRESS = (16w0xffff >> BLOCK_BITS) + 1 - FIRST_BLOCK;
// Blocks that are tried for a new subscriber.
const bit<8> BLOCK_ATTEMPTS = 16;
// A prime: blocks of successive turns are far apart.
const bit<32> BLOCK_STEP = 32749;

// A look-up begins the expiry time of the entry that it hits again. So a block or a port is tried again only after that time: then an entry
// without packets has ended. `last` is the `look_time` of the last try, 0 for none; the unit is 2^20 microseconds (1.05 s).
bit<32> look_time(in bit<48> timestamp) {
    return (bit<32>) (timestamp >> 20) + 1;
}

bool may_look(in bit<32> now, in bit<32> last, in bit<32> seconds) {
    return last == 0 || now - last > seconds;
}

// The external addresses that an inside address may get: `indices` of them from `first_index` on; none without a pool.
control FindPool(in ipv4_address_t inside_addr, out bit<16> first_index, out bit<16> indices) {
    action use_addresses(bit<16> first, bit<16> count) {
        first_index = first;
        indices = count;
    }

    table pools {
        key = {
            inside_addr: lpm @name("inside");
        }
        actions = {
            use_addresses;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }

    apply {
        first_index = 0;
        indices = 0;
        pools.apply();
    }
}

// The block that is tried at a turn. Blocks are tried in turn, so that a released one is used again as late as possible (RFC 6888 REQ-8).
void choose_block(in bit<32> turn, in bit<16> first, in bit<16> count, in bit<32> secret, out bit<16> index, out bit<16> base) {
    bit<32> number = turn % ((bit<32>) count * (bit<32>) BLOCKS_OF_ADDRESS);
    bit<32> spread = (number / (bit<32>) count * BLOCK_STEP + (bit<32>) secret[15:0]) % (bit<32>) BLOCKS_OF_ADDRESS;
    index = first + (bit<16>) (number % (bit<32>) count);
    base = (FIRST_BLOCK + (bit<16>) spread) << BLOCK_BITS;
}

// The block of an inside address. With `tries`, an address without a block gets the next one, if that is free.
control FindBlock(in ipv4_address_t inside_addr, in bool tries, in bit<16> next_index, in bit<16> next_base,
                  out block_of_ports_t block) {
    action external_address(ipv4_address_t addr) {
        block.addr = addr;
    }

    table addresses {
        key = {
            block.index: exact @name("index");
        }
        actions = {
            external_address;
            NoAction;
        }
        default_action = NoAction();
        size = ADDRESSES;
    }

    // The block of a subscriber: ports from `base` on of the external address with this index.
    action owns(bit<16> index, bit<16> base, ipv4_address_t addr) {
        block = { true, false, index, base, addr };
    }

    EXPIRY
    table subscribers {
        key = {
            inside_addr: exact @name("inside");
        }
        actions = {
            owns;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        add_on_miss = true;
        support_timeout = true;
        size = SUBSCRIBERS;
    }

    action is_taken() {}

    action allot() {
        digest<block_t>(BLOCK_RECEIVER, { inside_addr, block.addr, block.base, BLOCK_PORTS });
        add_entry_pair("is_taken", {}, "subscribers", { inside_addr }, "owns", { block.index, block.base, block.addr },
                       EXPIRY_BLOCK);
        block.is_known = true;
        block.is_new = true;
    }

    EXPIRY
    table blocks {
        key = {
            block.index: exact @name("index");
            block.base: exact @name("base");
        }
        actions = {
            is_taken;
            @defaultonly allot;
        }
        const default_action = allot();
        add_on_miss = true;
        size = SUBSCRIBERS;
    }

    apply {
        block = { false, false, next_index, next_base, 0 };
        subscribers.apply();
        if (tries && !block.is_known && addresses.apply().hit) {
            blocks.apply();
        }
    }
}

#endif
