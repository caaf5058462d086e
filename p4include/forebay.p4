/* Tables to which the data plane adds entries, and resources of these entries: numbers of a pool, shares of a quota.

   For v1model programs, and for PNA programs behind pna.p4, which has the first part itself. docs/architectures.md
   describes all of it.

   A table learns with the property `add_on_miss = true`. All of its keys are exact. Its actions may call the functions
   below; the default action, which runs when no entry matches, may add the entry that was missed:

       action hit(bit<9> port) { ... }

       action miss() {
           add_entry("hit", { standard_metadata.ingress_port }, 8w2);
       }

       @expire_seconds(10, 30, 7440)
       table flows {
           key = { hdr.ipv4.src_addr: exact; }
           actions = { hit; @defaultonly miss; }
           const default_action = miss();
           add_on_miss = true;
       }

   Controllers see these entries and may delete them. The functions have the names and the meaning of those of the
   Portable NIC Architecture. */

#ifndef __FOREBAY_P4__
#define __FOREBAY_P4__

#include <core.p4>

#ifndef __PNA_P4__

/* The time for which an entry stays when no packet hits it, by number. @expire_seconds of a table names the times in
   seconds; without it 0 is 10 s, 1 is 30 s, 2 is 60 s, 3 is 2 min, 4 is 5 min, 5 is 12 h, 6 and 7 are 2 min. With any
   other number it stays for ever. `forebay run --expiry-profile NUMBER=SECONDS` sets one for all tables. */
typedef bit<8> ExpireTimeProfileId_t;

/* Adds an entry with the key that was looked up, the named action of the table and its data, as one value or a list.
   The next packet finds it. The result is true; an entry that exists, or for which the table has no room, is counted
   and not added. */
extern bool add_entry<T>(string action_name,
                         in T action_params,
                         in ExpireTimeProfileId_t expire_time_profile_id);

/* Gives the entry that was hit another time, and the other entry of its pair. */
extern void set_entry_expire_time(in ExpireTimeProfileId_t expire_time_profile_id);

/* Begins the time of the entry that was hit again. Every hit does. */
extern void restart_expire_timer();

/* The next number of 32 bits. */
extern bit<32> allocate_flow_id();

#endif

/* Adds two entries, or none: that of add_entry(), and one in a table with add_on_miss of the same control, which may be
   the same table. They are a pair: they expire when no packet has hit either for its time, and the end of one, by time or
   by a controller, is that of the other. */
extern bool add_entry_pair<T, K, R>(string action_name,
                                    in T action_params,
                                    string reverse_table,
                                    in K reverse_key,
                                    string reverse_action_name,
                                    in R reverse_params,
                                    in ExpireTimeProfileId_t expire_time_profile_id);

/* The numbers from 0 to size - 1. A number that a packet has claimed belongs to the next entry, or pair, that the packet
   adds, and is free again when that ends. If the packet adds none before the control ends, or the table does not take it,
   the number is free at once. */
extern NumberPool {
    NumberPool(bit<32> size);

    /* Claims the number that has been free for the longest time; false when all are taken. */
    bool claim(out bit<32> number);
}

/* Limits how many entries there are for each index. A share that a packet has taken belongs to the next entry, or pair,
   that the packet adds, and returns as a number does. */
extern Quota {
    Quota(bit<32> size);

    /* Takes one of `limit` shares of an index; false when they are all taken, or for an index beyond the size. */
    bool take(in bit<32> index, in bit<32> limit);
}

#endif
