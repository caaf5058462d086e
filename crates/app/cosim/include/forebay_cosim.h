/* Forebay's timed model inside another simulator: frames are submitted with their times, and time passes as far as it is told.
 *
 *   forebay_network *network = forebay_open("scenario.toml", 0, message, sizeof message);
 *   int in = forebay_port(network, "switch:1");
 *   forebay_submit(network, in, frame, length, tag, 1000);          the last byte comes at 1,000 ps
 *   while (forebay_next_event(network) != FOREBAY_NEVER)
 *       forebay_advance(network, forebay_next_event(network));
 *   while (forebay_take(network, &departure)) ...
 *
 * All times are picoseconds since the beginning. The scenario (docs/scenarios.md) has [[chip]] and [[link]], and no [[traffic]]. Same
 * scenario, seed and calls: same frames at the same times. A network belongs to one thread at a time; several networks may run
 * in several threads. docs/cosimulation.md has the guide.
 */
#ifndef FOREBAY_COSIM_H
#define FOREBAY_COSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nothing will happen unless a frame is submitted. */
#define FOREBAY_NEVER UINT64_MAX

/* The latest time of a frame that is submitted: what it causes comes later, and must be a number, too. */
#define FOREBAY_TIME_MAX (UINT64_MAX / 2)

/* Results of calls that can fail. */
enum {
    FOREBAY_OK = 0,
    FOREBAY_PAST = -1,  /* the time is before the present one */
    FOREBAY_WRONG = -2, /* a null pointer, no such port, a frame without bytes, or a time above FOREBAY_TIME_MAX */
    FOREBAY_BROKEN = -3 /* a mistake of Forebay's; the network cannot be used any more */
};

/* Chips and links at a point in time. */
typedef struct forebay_network forebay_network;

/* A frame that has left by a port that leads outside. */
typedef struct forebay_departure {
    int32_t port;         /* as forebay_port returns it */
    uint64_t time;        /* when its last byte was out */
    uint64_t tag;         /* that of the submitted frame it was made of */
    const uint8_t *frame; /* valid until the next call with this network */
    size_t length;        /* bytes, without preamble and check sequence */
} forebay_departure;

/* Reads a scenario and loads its programs. On failure NULL, and `message` holds as much of what is wrong as fits, ended by a zero; `message`
 * may be NULL when `size` is 0. */
forebay_network *forebay_open(const char *scenario, uint64_t seed, char *message, size_t size);

/* Frees a network; NULL is allowed. */
void forebay_close(forebay_network *network);

/* The port with this name, such as "switch:1"; FOREBAY_WRONG when there is none. */
int32_t forebay_port(const forebay_network *network, const char *name);

/* The last byte of a frame comes to a port at a time that is not past. The tag is the caller's. */
int32_t forebay_submit(forebay_network *network, int32_t port, const uint8_t *frame, size_t length, uint64_t tag, uint64_t time);

/* When something happens next if no frame is submitted before: a frame comes, something happens inside, or a frame that has not been taken
 * leaves. */
uint64_t forebay_next_event(const forebay_network *network);

/* Lets everything happen up to a time, this one included. A time that is past changes nothing. */
int32_t forebay_advance(forebay_network *network, uint64_t until);

/* The present time. */
uint64_t forebay_now(const forebay_network *network);

/* The next frame that has left up to the present time: 1, or 0 when there is none. */
int32_t forebay_take(forebay_network *network, forebay_departure *departure);

/* Packets that chips have lost and programs have dropped so far. */
uint64_t forebay_ended(const forebay_network *network);

/* The same by place and reason, a line each, into `text` as far as it fits, ended by a zero. Returns the length of the whole. */
size_t forebay_ends(const forebay_network *network, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
