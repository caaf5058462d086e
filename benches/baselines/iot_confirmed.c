/* Sends IoT messages that are acknowledged one by one and sent again until they are, as CoAP's confirmable messages (RFC 7252, 4.2).
 *
 *     iot_confirmed TO_ADDRESS TO_PORT RUN FLOWS MESSAGES_PER_FLOW RATE TIMEOUT_MS
 *
 * New messages go at RATE a second, whatever is still unacknowledged. The first time-out is TIMEOUT_MS and each one twice the one
 * before; a message is sent MAX_SENDS times at most. A payload keeps the time at which it was sent first.
 */
#define _GNU_SOURCE
#include "iot_format.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { MAX_SENDS = 5, FLOWS_MAX = 64 };

struct message {
    uint32_t sent_us, confirmed_us;
    int64_t due_ns;
    uint8_t confirmed, given_up;
};

/* Messages that have been sent equally often, in the order of their time-outs, which is that of their sending. */
struct queue {
    uint32_t *messages;
    uint64_t head, tail;
};

static struct message *messages;
static struct queue queues[MAX_SENDS];
static struct pollfd sockets[FLOWS_MAX];
static struct run run;
static uint64_t total, confirmed, given_up, retransmissions, spurious;

static void send_message(uint32_t index, int sends, int64_t timeout_ns) {
    struct message *message = &messages[index];
    struct payload payload = {run.number, (uint16_t)(index % run.flows), index / run.flows, message->sent_us, 0};
    uint8_t body[MESSAGE_BYTES] = {FLAG_MESSAGE};
    payload.check = check_of(&payload);
    memcpy(body + FLAG_BYTES, &payload, PAYLOAD_BYTES);
    while (send(sockets[payload.flow].fd, body, sizeof body, 0) < 0) {
        if (errno != EINTR && errno != ENOBUFS && errno != ECONNREFUSED) fail("send");
    }
    message->due_ns = now_ns() + (timeout_ns << (sends - 1));
    struct queue *queue = &queues[sends - 1];
    queue->messages[queue->tail++] = index;
}

/* Sends again, or gives up, what has timed out; returns when the next time-out is. */
static int64_t time_out(int64_t timeout_ns) {
    int64_t next = INT64_MAX;
    for (int sends = 1; sends <= MAX_SENDS; sends++) {
        struct queue *queue = &queues[sends - 1];
        while (queue->head < queue->tail) {
            uint32_t index = queue->messages[queue->head];
            if (!messages[index].confirmed && messages[index].due_ns > now_ns()) {
                if (messages[index].due_ns < next) next = messages[index].due_ns;
                break;
            }
            queue->head++;
            if (messages[index].confirmed) continue;
            if (sends == MAX_SENDS) {
                messages[index].given_up = 1;
                given_up++;
                continue;
            }
            retransmissions++;
            send_message(index, sends + 1, timeout_ns);
        }
    }
    return next;
}

static void take_confirmations(int64_t until) {
    int64_t wait = until - now_ns();
    struct timespec time = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
    if (ppoll(sockets, run.flows, &time, NULL) <= 0) return;
    for (uint32_t flow = 0; flow < run.flows; flow++) {
        struct payload payload;
        while (recv(sockets[flow].fd, &payload, sizeof payload, MSG_DONTWAIT) == (ssize_t)sizeof payload) {
            uint64_t index = (uint64_t)payload.sequence * run.flows + payload.flow;
            if (payload.check != check_of(&payload) || payload.run != run.number || index >= total) continue;
            if (messages[index].confirmed) {
                spurious++;
                continue;
            }
            /* One that comes late after all is not counted twice: the run would end before others are known. */
            given_up -= messages[index].given_up;
            messages[index].confirmed = 1;
            messages[index].confirmed_us = (uint32_t)(now_ns() / 1000);
            confirmed++;
        }
    }
}

static void print(int64_t begin, int64_t end) {
    uint32_t *delays = calloc(total, sizeof *delays);
    uint64_t count = 0;
    for (uint64_t i = 0; i < total; i++) {
        if (messages[i].confirmed) delays[count++] = messages[i].confirmed_us - messages[i].sent_us;
    }
    printf("{\"begin_us\": %lld, \"end_us\": %lld, \"sent\": %llu, \"confirmed\": %llu, \"given_up\": %llu, \"retransmissions\": %llu, \"repeated_confirmations\": %llu",
           (long long)(begin / 1000), (long long)(end / 1000), (unsigned long long)total, (unsigned long long)confirmed,
           (unsigned long long)given_up, (unsigned long long)retransmissions, (unsigned long long)spurious);
    if (count > 0) {
        printf(", \"confirmation_us\": ");
        print_quantiles(delays, count);
    }
    printf("}\n");
}

int main(int count, char **words) {
    if (count != 8) {
        fprintf(stderr, "usage: iot_confirmed TO_ADDRESS TO_PORT RUN FLOWS MESSAGES_PER_FLOW RATE TIMEOUT_MS\n");
        return 2;
    }
    struct sockaddr_in to = address_of(words[1], words[2]);
    run = run_of(words + 3);
    double rate = atof(words[6]);
    int64_t timeout_ns = atoll(words[7]) * 1000000;
    if (rate <= 0 || timeout_ns <= 0 || run.flows > FLOWS_MAX) {
        fprintf(stderr, "RATE and TIMEOUT_MS must be above 0, FLOWS at most %d\n", FLOWS_MAX);
        return 2;
    }
    total = (uint64_t)run.flows * run.messages;
    messages = calloc(total, sizeof *messages);
    for (int sends = 0; sends < MAX_SENDS; sends++) queues[sends].messages = calloc(total, sizeof(uint32_t));
    for (uint32_t flow = 0; flow < run.flows; flow++) {
        sockets[flow] = (struct pollfd){socket(AF_INET, SOCK_DGRAM, 0), POLLIN, 0};
        if (connect(sockets[flow].fd, (struct sockaddr *)&to, sizeof to) != 0) fail("connect");
    }
    prctl(PR_SET_TIMERSLACK, 1000);
    int64_t begin = now_ns(), end = begin;
    for (uint64_t sent = 0; confirmed + given_up < total;) {
        int64_t due = sent < total ? begin + (int64_t)((double)sent * 1e9 / rate) : INT64_MAX;
        if (now_ns() >= due) {
            messages[sent].sent_us = (uint32_t)(now_ns() / 1000);
            send_message((uint32_t)sent++, 1, timeout_ns);
            end = now_ns();
        }
        int64_t next = time_out(timeout_ns);
        due = sent < total ? begin + (int64_t)((double)sent * 1e9 / rate) : INT64_MAX;
        if (confirmed + given_up < total) take_confirmations(next < due ? next : due);
    }
    print(begin, end);
    return 0;
}
