/* Sends IoT messages at a rate, and receives and checks every one.
 *
 *     iot_traffic send TO_ADDRESS TO_PORT RUN FLOWS MESSAGES_PER_FLOW RATE GROUP
 *     iot_traffic receive ADDRESS PORT RUN FLOWS MESSAGES_PER_FLOW IDLE_SECONDS [acknowledge]
 *
 * RATE is in messages a second. With GROUP 0 messages are sent, otherwise N-packets of GROUP messages. Each flow is a socket of its
 * own, and flows take turns. The receiver takes messages and N-packets; it says `ready`, ends when all have come or none has for
 * IDLE_SECONDS, and prints one JSON object. Messages of another RUN are counted and otherwise passed over. With `acknowledge` each
 * message's payload is sent back, as iot_confirmed wants it, and all are waited for as long as duplicates come.
 */
#define _GNU_SOURCE
#include "iot_format.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { BURST = 64, SOCKET_BUFFER_BYTES = 32 << 20, BUCKET_US = 10000, BUCKETS_MAX = 60000 };

/* ---- sending ---- */

static void wait_until(int64_t due) {
    struct timespec time = {due / 1000000000, due % 1000000000};
    while (now_ns() < due) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void send_packet(int socket, const struct run *run, uint32_t flow, uint32_t first, int messages, int grouped) {
    uint8_t body[BODY_BYTES_MAX] = {grouped ? FLAG_N_PACKET : FLAG_MESSAGE};
    for (int i = 0; i < messages; i++) {
        struct payload payload = {run->number, (uint16_t)flow, first + (uint32_t)i, (uint32_t)(now_ns() / 1000), 0};
        payload.check = check_of(&payload);
        memcpy(body + FLAG_BYTES + i * PAYLOAD_BYTES, &payload, PAYLOAD_BYTES);
    }
    while (send(socket, body, (size_t)(FLAG_BYTES + messages * PAYLOAD_BYTES), 0) < 0) {
        if (errno != EINTR && errno != ENOBUFS && errno != ECONNREFUSED) fail("send");
    }
}

static int send_all(char **words) {
    struct sockaddr_in to = address_of(words[0], words[1]);
    struct run run = run_of(words + 2);
    double rate = atof(words[5]);
    int group = atoi(words[6]), messages = group > 0 ? group : 1;
    if (rate <= 0 || group > N_MAX) {
        fprintf(stderr, "RATE must be above 0, GROUP at most %d\n", N_MAX);
        return 2;
    }
    int *sockets = calloc(run.flows, sizeof *sockets);
    for (uint32_t flow = 0; flow < run.flows; flow++) {
        sockets[flow] = socket(AF_INET, SOCK_DGRAM, 0);
        if (connect(sockets[flow], (struct sockaddr *)&to, sizeof to) != 0) fail("connect");
    }
    prctl(PR_SET_TIMERSLACK, 1000);
    int64_t begin = now_ns();
    uint64_t packets = (uint64_t)run.flows * (run.messages / (uint32_t)messages);
    for (uint64_t i = 0; i < packets; i++) {
        wait_until(begin + (int64_t)((double)i * messages * 1e9 / rate));
        uint32_t flow = (uint32_t)(i % run.flows), first = (uint32_t)(i / run.flows) * (uint32_t)messages;
        send_packet(sockets[flow], &run, flow, first, messages, group > 0);
    }
    printf("{\"begin_us\": %lld, \"end_us\": %lld, \"sent\": %llu}\n", (long long)(begin / 1000), (long long)(now_ns() / 1000),
           (unsigned long long)(packets * (uint64_t)messages));
    return 0;
}

/* ---- receiving ---- */

struct results {
    uint64_t received, duplicates, corrupted, foreign, reordered, datagrams;
    int64_t begin_us;
    uint32_t buckets[BUCKETS_MAX];
    uint8_t *seen;
    uint32_t *highest, *delays_us;
};

static void take(struct results *results, const struct run *run, const uint8_t *bytes, int64_t now_us) {
    struct payload payload;
    memcpy(&payload, bytes, PAYLOAD_BYTES);
    if (payload.check != check_of(&payload)) {
        results->corrupted++;
        return;
    }
    if (payload.run != run->number || payload.flow >= run->flows || payload.sequence >= run->messages) {
        results->foreign++;
        return;
    }
    size_t index = (size_t)payload.flow * run->messages + payload.sequence;
    if (results->seen[index]) {
        results->duplicates++;
        return;
    }
    results->seen[index] = 1;
    if (payload.sequence + 1 < results->highest[payload.flow]) results->reordered++;
    else results->highest[payload.flow] = payload.sequence + 1;
    results->delays_us[results->received++] = (uint32_t)now_us - payload.sent_us;
    int64_t bucket = (now_us - results->begin_us) / BUCKET_US;
    if (bucket < BUCKETS_MAX) results->buckets[bucket]++;
}

static void acknowledge(int socket, const struct sockaddr_in *sender, const uint8_t *body, size_t bytes) {
    for (size_t at = FLAG_BYTES; at + PAYLOAD_BYTES <= bytes; at += PAYLOAD_BYTES) {
        sendto(socket, body + at, PAYLOAD_BYTES, 0, (const struct sockaddr *)sender, sizeof *sender);
    }
}

static void take_datagram(struct results *results, const struct run *run, const uint8_t *body, size_t bytes) {
    results->datagrams++;
    size_t payloads = bytes < FLAG_BYTES ? 0 : (bytes - FLAG_BYTES) / PAYLOAD_BYTES;
    int whole = bytes == FLAG_BYTES + payloads * PAYLOAD_BYTES && payloads > 0;
    if (!whole || (body[0] != FLAG_N_PACKET && (body[0] != FLAG_MESSAGE || payloads != 1))) {
        results->corrupted++;
        return;
    }
    int64_t now_us = now_ns() / 1000;
    for (size_t i = 0; i < payloads; i++) take(results, run, body + FLAG_BYTES + i * PAYLOAD_BYTES, now_us);
}

/* Messages of a flow that are missing one after the other, without those after its last one. */
static uint64_t gaps(const struct results *results, const struct run *run) {
    uint64_t count = 0;
    for (uint32_t flow = 0; flow < run->flows; flow++) {
        const uint8_t *seen = results->seen + (size_t)flow * run->messages;
        for (uint32_t i = 1; i < run->messages; i++) count += seen[i] && !seen[i - 1];
    }
    return count;
}

static void print(struct results *results, const struct run *run) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t count = results->received;
    printf("{\"received\": %llu, \"duplicates\": %llu, \"corrupted\": %llu, \"foreign\": %llu, \"reordered\": %llu, \"datagrams\": %llu, ",
           (unsigned long long)count, (unsigned long long)results->duplicates, (unsigned long long)results->corrupted,
           (unsigned long long)results->foreign, (unsigned long long)results->reordered, (unsigned long long)results->datagrams);
    if (count > 0) {
        printf("\"delay_us\": ");
        print_quantiles(results->delays_us, count);
        printf(", ");
    }
    long long processor_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ll + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    printf("\"gaps\": %llu, \"processor_us\": %lld, ", (unsigned long long)gaps(results, run), processor_us);
    int buckets = BUCKETS_MAX;
    while (buckets > 0 && results->buckets[buckets - 1] == 0) buckets--;
    printf("\"begin_us\": %lld, \"bucket_us\": %d, \"buckets\": [", (long long)results->begin_us, BUCKET_US);
    for (int i = 0; i < buckets; i++) printf(i > 0 ? ", %u" : "%u", results->buckets[i]);
    printf("]}\n");
}

static int receive_all(char **words, int acknowledges) {
    static struct results results;
    static uint8_t bytes[BURST][BODY_BYTES_MAX];
    struct sockaddr_in address = address_of(words[0], words[1]);
    struct run run = run_of(words + 2);
    int64_t idle_ns = (int64_t)(atof(words[5]) * 1e9);
    uint64_t expected = (uint64_t)run.flows * run.messages;
    results.seen = calloc(expected, 1);
    results.highest = calloc(run.flows, sizeof *results.highest);
    results.delays_us = calloc(expected, sizeof *results.delays_us);
    int incoming = socket(AF_INET, SOCK_DGRAM, 0), buffer = SOCKET_BUFFER_BYTES;
    struct timeval patience = {0, 100000};
    setsockopt(incoming, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    setsockopt(incoming, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (bind(incoming, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
    struct iovec vectors[BURST];
    struct sockaddr_in senders[BURST];
    struct mmsghdr in[BURST] = {0};
    for (int i = 0; i < BURST; i++) {
        vectors[i] = (struct iovec){bytes[i], BODY_BYTES_MAX};
        in[i].msg_hdr = (struct msghdr){.msg_name = &senders[i], .msg_namelen = sizeof senders[i], .msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    printf("ready\n");
    fflush(stdout);
    results.begin_us = now_ns() / 1000;
    int64_t last = now_ns();
    while ((acknowledges || results.received < expected) && now_ns() - last < idle_ns) {
        int received = recvmmsg(incoming, in, BURST, MSG_WAITFORONE, NULL);
        if (received < 0 && errno != EINTR && errno != EAGAIN) fail("recvmmsg");
        for (int i = 0; i < received; i++) {
            take_datagram(&results, &run, bytes[i], in[i].msg_len);
            if (acknowledges) acknowledge(incoming, &senders[i], bytes[i], in[i].msg_len);
        }
        if (received > 0) last = now_ns();
    }
    print(&results, &run);
    return 0;
}

int main(int count, char **words) {
    if (count == 9 && strcmp(words[1], "send") == 0) return send_all(words + 2);
    int acknowledges = count == 9 && strcmp(words[8], "acknowledge") == 0;
    if ((count == 8 || acknowledges) && strcmp(words[1], "receive") == 0) return receive_all(words + 2, acknowledges);
    fprintf(stderr, "usage: iot_traffic send TO_ADDRESS TO_PORT RUN FLOWS MESSAGES_PER_FLOW RATE GROUP\n"
                    "       iot_traffic receive ADDRESS PORT RUN FLOWS MESSAGES_PER_FLOW IDLE_SECONDS [acknowledge]\n");
    return 2;
}
