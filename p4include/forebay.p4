/* What Forebay has besides v1model: tables that the data plane adds entries to.

   A table learns with the property `add_on_miss = true`. All of its keys are exact. Its actions may call the functions
   below; the default action, which runs when no entry matches, may add the entry that was missed:

       action hit(bit<9> port) { ... }

       action miss() {
           add_entry("hit", { standard_metadata.ingress_port }, 8w2);
       }

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

/* The time for which an entry stays when no packet hits it, by number: 0 is 10 s, 1 is 30 s, 2 is 60 s, 3 is 2 min,
   4 is 5 min, 5 is 12 h, 6 and 7 are 2 min. With any other number it stays for ever. */
typedef bit<8> ExpireTimeProfileId_t;

/* Adds an entry with the key that was looked up, the named action of the table and its data, as one value or a list.
   The next packet finds it. The result is true; an entry that exists, or for which the table has no room, is not added. */
extern bool add_entry<T>(string action_name,
                         in T action_params,
                         in ExpireTimeProfileId_t expire_time_profile_id);

/* Gives the entry that was hit another time. */
extern void set_entry_expire_time(in ExpireTimeProfileId_t expire_time_profile_id);

/* Begins the time of the entry that was hit again. Every hit does. */
extern void restart_expire_timer();

/* The next number of 32 bits. */
extern bit<32> allocate_flow_id();

#endif
