/* Aggregation or disaggregation by server software written for speed: recvmmsg and sendmmsg, one thread, no allocation after start.
 *
 *     iot_server ROLE N FROM_ADDRESS FROM_PORT TO_ADDRESS TO_PORT
 *
 * ROLE is `aggregate` or `disaggregate`. Messages of a flow (address and port of the sender) are gathered N at a time. A flow whose
 * place in the table is taken by an open batch of another one passes unchanged, as in programs/iot_aggregate.
 */
#define _GNU_SOURCE
#include "iot_format.h"

#include <errno.h>
#include <sys/socket.h>

enum { BURST = 64, OUT_MAX = BURST * N_MAX, FLOWS = 4096, SOCKET_BUFFER_BYTES = 4 << 20 };

struct batch {
    uint64_t flow;
    int count;
    uint8_t body[BODY_BYTES_MAX];
};

static struct batch batches[FLOWS];
static uint8_t in_bytes[BURST][BODY_BYTES_MAX], out_bytes[OUT_MAX][BODY_BYTES_MAX];
static struct sockaddr_in senders[BURST];
static struct iovec in_vectors[BURST], out_vectors[OUT_MAX];
static struct mmsghdr in[BURST], out[OUT_MAX];
static int outgoing, out_count;

static void flush(void) {
    for (int sent = 0; sent < out_count;) {
        int now = sendmmsg(outgoing, out + sent, (unsigned)(out_count - sent), 0);
        if (now < 0 && errno != EINTR && errno != ECONNREFUSED && errno != ENOBUFS) fail("sendmmsg");
        sent += now > 0 ? now : 0;
    }
    out_count = 0;
}

static uint8_t *next_out(size_t bytes) {
    if (out_count == OUT_MAX) flush();
    out_vectors[out_count].iov_len = bytes;
    return out_bytes[out_count++];
}

static void pass(const uint8_t *body, size_t bytes) {
    memcpy(next_out(bytes), body, bytes);
}

static void aggregate(const uint8_t *body, size_t bytes, const struct sockaddr_in *sender, int n) {
    uint64_t flow = (uint64_t)sender->sin_addr.s_addr << 16 | sender->sin_port;
    struct batch *batch = &batches[flow * 0x9e3779b97f4a7c15u >> 52];
    if (bytes != MESSAGE_BYTES || body[0] != FLAG_MESSAGE || (batch->count > 0 && batch->flow != flow)) {
        pass(body, bytes);
        return;
    }
    batch->flow = flow;
    memcpy(batch->body + FLAG_BYTES + batch->count * PAYLOAD_BYTES, body + FLAG_BYTES, PAYLOAD_BYTES);
    if (++batch->count == n) {
        batch->body[0] = FLAG_N_PACKET;
        pass(batch->body, (size_t)(FLAG_BYTES + n * PAYLOAD_BYTES));
        batch->count = 0;
    }
}

static void disaggregate(const uint8_t *body, size_t bytes) {
    if (bytes < FLAG_BYTES || body[0] != FLAG_N_PACKET) {
        pass(body, bytes);
        return;
    }
    for (size_t at = FLAG_BYTES; at + PAYLOAD_BYTES <= bytes; at += PAYLOAD_BYTES) {
        uint8_t *message = next_out(MESSAGE_BYTES);
        memset(message, 0, FLAG_BYTES);
        message[0] = FLAG_MESSAGE;
        memcpy(message + FLAG_BYTES, body + at, PAYLOAD_BYTES);
    }
}

static void prepare(void) {
    for (int i = 0; i < BURST; i++) {
        in_vectors[i] = (struct iovec){in_bytes[i], BODY_BYTES_MAX};
        in[i].msg_hdr = (struct msghdr){.msg_name = &senders[i], .msg_namelen = sizeof senders[i], .msg_iov = &in_vectors[i], .msg_iovlen = 1};
    }
    for (int i = 0; i < OUT_MAX; i++) {
        out_vectors[i].iov_base = out_bytes[i];
        out[i].msg_hdr = (struct msghdr){.msg_iov = &out_vectors[i], .msg_iovlen = 1};
    }
}

int main(int count, char **words) {
    if (count != 7) {
        fprintf(stderr, "usage: iot_server aggregate|disaggregate N FROM_ADDRESS FROM_PORT TO_ADDRESS TO_PORT\n");
        return 2;
    }
    int aggregates = strcmp(words[1], "aggregate") == 0, n = atoi(words[2]), buffer = SOCKET_BUFFER_BYTES;
    if (n < 1 || n > N_MAX) {
        fprintf(stderr, "N must be 1 to %d\n", N_MAX);
        return 2;
    }
    struct sockaddr_in from = address_of(words[3], words[4]), to = address_of(words[5], words[6]);
    int incoming = socket(AF_INET, SOCK_DGRAM, 0);
    outgoing = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(incoming, (struct sockaddr *)&from, sizeof from) != 0) fail("bind");
    if (connect(outgoing, (struct sockaddr *)&to, sizeof to) != 0) fail("connect");
    setsockopt(incoming, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    setsockopt(outgoing, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
    prepare();
    for (;;) {
        int received = recvmmsg(incoming, in, BURST, MSG_WAITFORONE, NULL);
        if (received < 0 && errno != EINTR) fail("recvmmsg");
        for (int i = 0; i < received; i++) {
            if (aggregates) aggregate(in_bytes[i], in[i].msg_len, &senders[i], n);
            else disaggregate(in_bytes[i], in[i].msg_len);
        }
        flush();
    }
}
