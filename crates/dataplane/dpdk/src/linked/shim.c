/*
 * What Rust cannot call of DPDK: functions that are inline in its headers, and structures whose layout changes from release to
 * release. One device, with its queues and buffers, is a port; frames are copied in and out.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_version.h>

/* Mirrors of the structures in shim.rs. */

struct forebay_device {
    uint16_t port;
    uint16_t queues;
    /* The longest frame, without check sequence. */
    uint32_t longest;
    int socket;
    void *pool;
};

struct forebay_frame {
    uint8_t *data;
    /* Received: room, then the length of the frame. Sent: the length. */
    uint32_t length;
};

struct forebay_stats {
    uint64_t missed;
    uint64_t no_buffers;
};

#define BURST 64
#define DESCRIPTORS 1024
#define ETHERNET_OVERHEAD 18 /* header and one VLAN tag */

static int fail(char *error, size_t size, const char *action, int code)
{
    snprintf(error, size, "%s: %s", action, rte_strerror(code < 0 ? -code : code));
    return -1;
}

/* Threads of ours are none of the EAL's: without a number they have no cache of buffers. */
static void register_thread(void)
{
    static __thread bool is_registered;
    if (!is_registered) {
        is_registered = true;
        if (rte_lcore_id() == LCORE_ID_ANY)
            (void)rte_thread_register();
    }
}

int forebay_dpdk_start(int count, char **arguments, char *error, size_t size)
{
    if (rte_eal_init(count, arguments) < 0)
        return fail(error, size, "EAL", rte_errno);
    return 0;
}

const char *forebay_dpdk_version(void)
{
    return rte_version();
}

/*
 * Buffers for frames. Where devices use virtual addresses, a buffer may cross pages, and the pool is one piece without gaps, which
 * net_af_xdp relies on. rte_pktmbuf_pool_create() leaves a gap in every page of 4 KiB when there are no huge pages.
 */
static struct rte_mempool *create_pool(const char *name, uint32_t count, uint16_t room, int socket)
{
    struct rte_pktmbuf_pool_private properties = {.mbuf_data_room_size = room};
    unsigned int flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
    struct rte_mempool *pool = rte_mempool_create_empty(name, count, (unsigned int)sizeof(struct rte_mbuf) + room, 256,
                                                        sizeof(properties), socket, flags);
    int code;

    if (pool == NULL)
        return NULL;
    code = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
    if (code == 0) {
        rte_pktmbuf_pool_init(pool, &properties);
        code = rte_mempool_populate_default(pool);
    }
    if (code < 0) {
        rte_mempool_free(pool);
        rte_errno = -code;
        return NULL;
    }
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return pool;
}

static int configure(struct forebay_device *device, uint16_t mtu, char *error, size_t size)
{
    struct rte_eth_dev_info info;
    struct rte_eth_conf conf;
    uint16_t receiving = DESCRIPTORS, sending = DESCRIPTORS, queue, room;
    int code;
    char name[RTE_MEMPOOL_NAMESIZE];

    memset(&conf, 0, sizeof(conf));
    code = rte_eth_dev_info_get(device->port, &info);
    if (code < 0)
        return fail(error, size, "properties of the device", code);
    device->queues = RTE_MIN(device->queues, RTE_MIN(info.max_rx_queues, info.max_tx_queues));
    if (device->queues == 0) {
        snprintf(error, size, "the device has no queues");
        return -1;
    }
    if (mtu != 0)
        conf.rxmode.mtu = mtu;
    if (device->queues > 1 && info.flow_type_rss_offloads != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf =
            (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP) & info.flow_type_rss_offloads;
    }
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    code = rte_eth_dev_configure(device->port, device->queues, device->queues, &conf);
    if (code < 0)
        return fail(error, size, "configure the device", code);
    if (rte_eth_dev_get_mtu(device->port, &mtu) < 0)
        mtu = RTE_ETHER_MTU;
    device->longest = (uint32_t)mtu + ETHERNET_OVERHEAD;
    code = rte_eth_dev_adjust_nb_rx_tx_desc(device->port, &receiving, &sending);
    if (code < 0)
        return fail(error, size, "descriptors of the device", code);

    device->socket = rte_eth_dev_socket_id(device->port);
    room = (uint16_t)RTE_MIN(RTE_MAX((uint32_t)RTE_MBUF_DEFAULT_BUF_SIZE, device->longest + RTE_PKTMBUF_HEADROOM + 4),
                             (uint32_t)UINT16_MAX);
    snprintf(name, sizeof(name), "forebay%u", device->port);
    device->pool = create_pool(name, device->queues * ((uint32_t)receiving + sending + 4 * BURST) + 512, room, device->socket);
    if (device->pool == NULL)
        return fail(error, size, "memory for frames (fewer queues, or more memory: FOREBAY_DPDK_EAL='-m MEGABYTES')", rte_errno);
    for (queue = 0; queue < device->queues; queue++) {
        code = rte_eth_rx_queue_setup(device->port, queue, receiving, (unsigned int)device->socket, NULL, device->pool);
        if (code < 0)
            return fail(error, size, "a queue for receiving", code);
        code = rte_eth_tx_queue_setup(device->port, queue, sending, (unsigned int)device->socket, NULL);
        if (code < 0)
            return fail(error, size, "a queue for sending", code);
    }
    code = rte_eth_dev_start(device->port);
    if (code < 0)
        return fail(error, size, "start the device", code);
    /* Virtual devices may know no other mode, and say so. */
    (void)rte_eth_promiscuous_enable(device->port);
    return 0;
}

int forebay_dpdk_open(const char *description, uint16_t mtu, struct forebay_device *device, char *error, size_t size)
{
    struct rte_dev_iterator iterator;
    uint16_t port, found = RTE_MAX_ETHPORTS;
    int code = rte_dev_probe(description);

    if (code < 0 && code != -EEXIST)
        return fail(error, size, "the driver", code);
    RTE_ETH_FOREACH_MATCHING_DEV(port, description, &iterator) {
        if (found == RTE_MAX_ETHPORTS)
            found = port;
    }
    if (found == RTE_MAX_ETHPORTS) {
        snprintf(error, size, "no driver of DPDK has made a port of it");
        return -1;
    }
    device->port = found;
    device->pool = NULL;
    if (configure(device, mtu, error, size) < 0) {
        struct rte_eth_dev_info info;
        bool is_known = rte_eth_dev_info_get(found, &info) == 0;
        (void)rte_eth_dev_close(found);
        if (is_known)
            (void)rte_dev_remove(info.device);
        rte_mempool_free(device->pool);
        return -1;
    }
    return 0;
}

void forebay_dpdk_close(struct forebay_device *device)
{
    struct rte_eth_dev_info info;
    bool is_known = rte_eth_dev_info_get(device->port, &info) == 0;

    (void)rte_eth_dev_stop(device->port);
    (void)rte_eth_dev_close(device->port);
    if (is_known)
        (void)rte_dev_remove(info.device);
    rte_mempool_free(device->pool);
}

/*
 * Copies frames that have come into buffers with room for the longest; returns how many. The length of one that does not fit is
 * longer than its room.
 */
uint16_t forebay_dpdk_receive(const struct forebay_device *device, uint16_t queue, struct forebay_frame *frames, uint16_t count)
{
    struct rte_mbuf *mbufs[BURST];
    uint16_t received, at;

    register_thread();
    received = rte_eth_rx_burst(device->port, queue, mbufs, RTE_MIN(count, BURST));
    for (at = 0; at < received; at++)
        rte_prefetch0(rte_pktmbuf_mtod(mbufs[at], void *));
    for (at = 0; at < received; at++) {
        struct rte_mbuf *mbuf = mbufs[at];
        struct forebay_frame *frame = &frames[at];
        uint32_t length = rte_pktmbuf_pkt_len(mbuf);

        if (length <= frame->length) {
            if (rte_pktmbuf_is_contiguous(mbuf)) {
                rte_memcpy(frame->data, rte_pktmbuf_mtod(mbuf, void *), length);
            } else {
                uint8_t *to = frame->data;
                const struct rte_mbuf *segment;
                for (segment = mbuf; segment != NULL; segment = segment->next) {
                    rte_memcpy(to, rte_pktmbuf_mtod(segment, void *), rte_pktmbuf_data_len(segment));
                    to += rte_pktmbuf_data_len(segment);
                }
            }
        }
        frame->length = length;
    }
    rte_pktmbuf_free_bulk(mbufs, received);
    return received;
}

/* Copies frames, none longer than the device's longest, into its buffers and sends them; returns how many of the first were taken. */
uint16_t forebay_dpdk_send(const struct forebay_device *device, uint16_t queue, const struct forebay_frame *frames, uint16_t count)
{
    struct rte_mbuf *mbufs[BURST];
    uint16_t sent, at;

    register_thread();
    count = RTE_MIN(count, BURST);
    if (rte_pktmbuf_alloc_bulk(device->pool, mbufs, count) < 0)
        return 0;
    for (at = 0; at < count; at++) {
        uint32_t length = frames[at].length;
        rte_memcpy(rte_pktmbuf_mtod(mbufs[at], void *), frames[at].data, length);
        mbufs[at]->data_len = (uint16_t)length;
        mbufs[at]->pkt_len = length;
    }
    sent = rte_eth_tx_burst(device->port, queue, mbufs, count);
    if (sent < count)
        rte_pktmbuf_free_bulk(&mbufs[sent], count - sent);
    return sent;
}

/* 1 when there is a link, 0 when there is none. */
int forebay_dpdk_has_link(const struct forebay_device *device)
{
    struct rte_eth_link link;

    memset(&link, 0, sizeof(link));
    return rte_eth_link_get_nowait(device->port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void forebay_dpdk_stats(const struct forebay_device *device, struct forebay_stats *stats)
{
    struct rte_eth_stats all;

    memset(&all, 0, sizeof(all));
    if (rte_eth_stats_get(device->port, &all) == 0) {
        stats->missed = all.imissed;
        stats->no_buffers = all.rx_nombuf;
    }
}
