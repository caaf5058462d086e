/* The body of IoT messages and N-packets (what follows the UDP header), as in programs/common/iot.p4 with S = 22. */
#ifndef IOT_FORMAT_H
#define IOT_FORMAT_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FLAG_MESSAGE = 0xfa, FLAG_N_PACKET = 0xfc, FLAG_BYTES = 6, PAYLOAD_BYTES = 16, N_MAX = 64 };
enum { MESSAGE_BYTES = FLAG_BYTES + PAYLOAD_BYTES, BODY_BYTES_MAX = FLAG_BYTES + N_MAX * PAYLOAD_BYTES };

/* What a payload has in measurements; `sent_us` is microseconds of CLOCK_MONOTONIC, which all namespaces share. */
struct __attribute__((packed)) payload {
    uint16_t run, flow;
    uint32_t sequence, sent_us, check;
};
_Static_assert(sizeof(struct payload) == PAYLOAD_BYTES, "a payload has 16 bytes");

/* The messages of one measurement. */
struct run {
    uint16_t number;
    uint32_t flows, messages;
};

static inline int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static inline uint32_t check_of(const struct payload *payload) {
    const uint8_t *bytes = (const uint8_t *)payload;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < PAYLOAD_BYTES - 4; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

static inline int compare_u32(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Prints an object with the mean and the quantiles of `count` values, which it sorts. */
static inline void print_quantiles(uint32_t *values, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += values[i];
    qsort(values, count, sizeof *values, compare_u32);
    printf("{\"mean\": %.1f, \"min\": %u, \"p5\": %u, \"median\": %u, \"p95\": %u, \"p99\": %u, \"max\": %u}", sum / (double)count, values[0],
           values[count / 20], values[count / 2], values[count * 19 / 20], values[count * 99 / 100], values[count - 1]);
}

static inline struct run run_of(char **words) {
    struct run run = {(uint16_t)atoi(words[0]), (uint32_t)atoi(words[1]), (uint32_t)atoi(words[2])};
    if (run.flows < 1 || run.messages < 1) {
        fprintf(stderr, "there must be a flow and a message\n");
        exit(2);
    }
    return run;
}

static inline void fail(const char *what) {
    perror(what);
    exit(2);
}

static inline struct sockaddr_in address_of(const char *host, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fprintf(stderr, "%s: not an IPv4 address\n", host);
        exit(2);
    }
    return address;
}

#endif
