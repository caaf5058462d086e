/* A long link between two Ethernet interfaces: rate, queue, delay and loss, the same both ways.
 *
 *     wan LEFT RIGHT RATE_MBPS QUEUE_MS DELAY_MS LOSS_PERCENT SEED
 *
 * A frame waits until those before it have been sent at RATE_MBPS (with 24 bytes a frame for preamble, check sequence and gap); one that
 * would wait for longer than QUEUE_MS is dropped. DELAY_MS later it leaves, unless it is lost. RATE_MBPS 0 is no limit. SIGUSR1 clears
 * the counts; with SIGTERM they are printed as JSON: of each direction, frames that were forwarded, bytes that were sent with all that a
 * frame has on the wire, frames that the queue dropped, frames that were lost.
 *
 * The kernel's netem does the same, where it is part of the kernel.
 */
#define _GNU_SOURCE
#include "iot_format.h"

#include <errno.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { PLACES = 1 << 15, FRAME_BYTES_MAX = 1600, WIRE_BYTES = 24, SOCKET_BUFFER_BYTES = 8 << 20, BURST = 64, LOOK_NS = 100000000 };

struct frame {
    int64_t due_ns;
    uint32_t bytes;
    uint8_t data[FRAME_BYTES_MAX];
};

struct direction {
    int from, to;
    int64_t free_ns;
    uint64_t head, tail, forwarded, wire_bytes, dropped, lost;
    struct frame *frames;
};

static struct direction directions[2];
static double ns_per_byte, loss;
static int64_t queue_ns, delay_ns;
static uint64_t random_state;
static volatile sig_atomic_t ended, cleared;

static void take_signal(int signal) {
    if (signal == SIGTERM) ended = 1;
    else cleared = 1;
}

static double uniform(void) {
    random_state ^= random_state << 13; /* xorshift64 */
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / (double)(1ull << 53);
}

static int interface(const char *name) {
    int raw = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), buffer = SOCKET_BUFFER_BYTES;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(name)};
    if (raw < 0 || address.sll_ifindex == 0 || bind(raw, (struct sockaddr *)&address, sizeof address) != 0) fail(name);
    setsockopt(raw, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    return raw;
}

static void receive(struct direction *way) {
    for (int i = 0; i < BURST; i++) {
        struct frame *frame = &way->frames[way->tail % PLACES];
        struct sockaddr_ll from;
        socklen_t length = sizeof from;
        ssize_t bytes = recvfrom(way->from, frame->data, FRAME_BYTES_MAX, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (bytes < 0) return;
        if (from.sll_pkttype == PACKET_OUTGOING) continue;
        int64_t now = now_ns(), begin = way->free_ns > now ? way->free_ns : now;
        uint32_t wire = (uint32_t)(bytes < 60 ? 60 : bytes) + WIRE_BYTES;
        if (begin - now > queue_ns || way->tail - way->head == PLACES - 1) {
            way->dropped++;
            continue;
        }
        way->free_ns = begin + (int64_t)(wire * ns_per_byte);
        way->wire_bytes += wire;
        if (uniform() < loss) {
            way->lost++;
            continue;
        }
        frame->bytes = (uint32_t)bytes;
        frame->due_ns = way->free_ns + delay_ns;
        way->tail++;
    }
}

/* Sends what is due; returns when the next frame is. */
static int64_t deliver(struct direction *way) {
    for (; way->head < way->tail; way->head++) {
        struct frame *frame = &way->frames[way->head % PLACES];
        if (frame->due_ns > now_ns()) return frame->due_ns;
        while (send(way->to, frame->data, frame->bytes, 0) < 0) {
            if (errno != EINTR && errno != ENOBUFS && errno != EAGAIN) fail("send");
        }
        way->forwarded++;
    }
    return INT64_MAX;
}

int main(int count, char **words) {
    if (count != 8) {
        fprintf(stderr, "usage: wan LEFT RIGHT RATE_MBPS QUEUE_MS DELAY_MS LOSS_PERCENT SEED\n");
        return 2;
    }
    double rate = atof(words[3]);
    ns_per_byte = rate > 0 ? 8000 / rate : 0;
    queue_ns = (int64_t)(atof(words[4]) * 1e6);
    delay_ns = (int64_t)(atof(words[5]) * 1e6);
    loss = atof(words[6]) / 100;
    random_state = 0x9e3779b97f4a7c15u ^ strtoull(words[7], NULL, 10);
    int left = interface(words[1]), right = interface(words[2]);
    struct sigaction action = {.sa_handler = take_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    prctl(PR_SET_TIMERSLACK, 1000);
    for (int i = 0; i < 2; i++) {
        directions[i] = (struct direction){.from = i ? right : left, .to = i ? left : right, .frames = calloc(PLACES, sizeof(struct frame))};
    }
    struct pollfd polled[2] = {{left, POLLIN, 0}, {right, POLLIN, 0}};
    while (!ended) {
        for (int i = 0; cleared && i < 2; i++) {
            directions[i].forwarded = directions[i].wire_bytes = directions[i].dropped = directions[i].lost = 0;
        }
        cleared = 0;
        int64_t next = now_ns() + LOOK_NS;
        for (int i = 0; i < 2; i++) {
            int64_t due = deliver(&directions[i]);
            if (due < next) next = due;
        }
        int64_t wait = next - now_ns();
        struct timespec time = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
        ppoll(polled, 2, &time, NULL);
        for (int i = 0; i < 2; i++) receive(&directions[i]);
    }
    const char *names[2] = {"to_server", "to_sensors"};
    for (int i = 0; i < 2; i++) {
        struct direction *way = &directions[i];
        printf("%s\"%s\": {\"forwarded\": %llu, \"wire_bytes\": %llu, \"dropped\": %llu, \"lost\": %llu}%s", i ? ", " : "{", names[i],
               (unsigned long long)way->forwarded, (unsigned long long)way->wire_bytes, (unsigned long long)way->dropped,
               (unsigned long long)way->lost, i ? "}\n" : "");
    }
    return 0;
}
