/* Two hosts behind a switch of Forebay's timed model, simulated in two ways of keeping time.
 *
 *     cc -I crates/app/cosim/include crates/app/cosim/examples/two_ways.c -L target/release -lforebay_cosim -o two_ways
 *     LD_LIBRARY_PATH=target/release ./two_ways crates/app/cosim/examples/scenario.toml
 *
 * Host 1 sends bursts of requests, host 2 answers each after some time of its own. Wires to the hosts take WIRE picoseconds.
 *
 *   events    as in ns-3 or OMNeT++: one queue of events; the switch is an event at forebay_next_event(), scheduled again after each call.
 *   promises  as in SimBricks: nothing that a host sends in a window of WIRE comes to the switch in the same window, and the reverse, so
 *             both sides pass the window without the other one.
 *
 * Both must give the same frames at the same times; the exit code is 1 when they differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forebay_cosim.h"

#define WIRE 500000        /* 500 ns */
#define THINKING 300000    /* of host 2 before it answers */
#define BURST 8            /* requests at a time: more than the queue of the port takes */
#define BURSTS 50
#define BETWEEN 20000000   /* 20 us from burst to burst */
#define FRAME 1000         /* bytes */
#define EVENTS 4096

enum kind { SEND, RECEIVE, SWITCH };

struct event {
    uint64_t time;
    uint64_t order;
    enum kind kind;
    int host;
    uint64_t tag;
};

/* Both hosts with their events, and what has come to them. */
struct simulation {
    forebay_network *network;
    int32_t ports[2];
    struct event events[EVENTS];
    size_t count;
    uint64_t order;
    struct event received[EVENTS];
    size_t received_count;
};

static void fail(const char *what) {
    fprintf(stderr, "two_ways: %s\n", what);
    exit(2);
}

static void schedule(struct simulation *simulation, uint64_t time, enum kind kind, int host, uint64_t tag) {
    if (simulation->count == EVENTS)
        fail("too many events");
    simulation->events[simulation->count++] = (struct event){time, simulation->order++, kind, host, tag};
}

/* The place of the next event: at one time, that of the switch last, so that it sees all frames of that time. */
static size_t next(const struct simulation *simulation) {
    size_t best = 0;
    for (size_t index = 1; index < simulation->count; index++) {
        const struct event *one = &simulation->events[index], *other = &simulation->events[best];
        if (one->time != other->time ? one->time < other->time
            : (one->kind == SWITCH) != (other->kind == SWITCH) ? other->kind == SWITCH : one->order < other->order)
            best = index;
    }
    return best;
}

static struct event take_next(struct simulation *simulation) {
    size_t best = next(simulation);
    struct event event = simulation->events[best];
    simulation->events[best] = simulation->events[--simulation->count];
    return event;
}

/* What a host does: its frame is at the switch when its wire is behind it. */
static void handle(struct simulation *simulation, struct event event) {
    uint8_t frame[FRAME];
    if (event.kind == SEND) {
        memset(frame, event.host, sizeof frame);
        if (forebay_submit(simulation->network, simulation->ports[event.host], frame, sizeof frame, event.tag, event.time + WIRE))
            fail("a frame was refused");
        return;
    }
    if (simulation->received_count == EVENTS)
        fail("too many frames");
    simulation->received[simulation->received_count++] = event;
    if (event.host == 1)
        schedule(simulation, event.time + THINKING, SEND, 1, event.tag);
}

/* What has left the switch is at a host when its wire is behind it. */
static void take_departures(struct simulation *simulation) {
    forebay_departure departure;
    while (forebay_take(simulation->network, &departure) == 1)
        schedule(simulation, departure.time + WIRE, RECEIVE, departure.port == simulation->ports[1], departure.tag);
}

static void begin(struct simulation *simulation, const char *scenario) {
    char message[1000];
    memset(simulation, 0, sizeof *simulation);
    simulation->network = forebay_open(scenario, 1, message, sizeof message);
    if (!simulation->network)
        fail(message);
    simulation->ports[0] = forebay_port(simulation->network, "switch:1");
    simulation->ports[1] = forebay_port(simulation->network, "switch:2");
    for (uint64_t burst = 0; burst < BURSTS; burst++)
        for (uint64_t request = 0; request < BURST; request++)
            schedule(simulation, 1 + burst * BETWEEN, SEND, 0, burst * BURST + request);
}

static void events(struct simulation *simulation) {
    uint64_t planned = FOREBAY_NEVER;
    while (simulation->count) {
        struct event event = take_next(simulation);
        if (event.kind != SWITCH) {
            handle(simulation, event);
        } else {
            if (event.time == planned)
                planned = FOREBAY_NEVER;
            forebay_advance(simulation->network, event.time);
            take_departures(simulation);
        }
        uint64_t wanted = forebay_next_event(simulation->network);
        if (wanted < planned) {
            planned = wanted;
            schedule(simulation, wanted, SWITCH, 0, 0);
        }
    }
}

static void promises(struct simulation *simulation) {
    for (uint64_t window = 0; simulation->count || forebay_next_event(simulation->network) != FOREBAY_NEVER; window += WIRE) {
        while (simulation->count && simulation->events[next(simulation)].time < window + WIRE)
            handle(simulation, take_next(simulation));
        forebay_advance(simulation->network, window + WIRE - 1);
        take_departures(simulation);
    }
}

static int differ(const struct simulation *one, const struct simulation *other) {
    if (one->received_count != other->received_count || forebay_ended(one->network) != forebay_ended(other->network))
        return 1;
    for (size_t index = 0; index < one->received_count; index++) {
        const struct event *a = &one->received[index], *b = &other->received[index];
        if (a->time != b->time || a->host != b->host || a->tag != b->tag)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    static struct simulation first, second;
    if (argc != 2)
        fail("name the scenario");
    begin(&first, argv[1]);
    begin(&second, argv[1]);
    events(&first);
    promises(&second);

    size_t answers = 0;
    uint64_t sum = 0;
    for (size_t index = 0; index < first.received_count; index++) {
        if (first.received[index].host == 0) {
            answers++;
            sum += first.received[index].time - (1 + first.received[index].tag / BURST * BETWEEN);
        }
    }
    char ends[1000];
    forebay_ends(first.network, ends, sizeof ends);
    printf("%d requests, %zu answers, mean time %" PRIu64 " ns\n%s", BURST * BURSTS, answers, answers ? sum / answers / 1000 : 0, ends);
    int different = differ(&first, &second);
    puts(different ? "events and promises differ" : "events and promises agree");
    forebay_close(first.network);
    forebay_close(second.network);
    return different;
}
