"""What is computed from the counts of sender and receiver. Nothing here does I/O."""

import json

PAYLOAD_BITS = 128
# The beginning of a run is left out: batches fill, queues too.
WARM_UP = 0.2
# The least ratio of goodput to arriving payload at which a rate counts as carried. The rest is open batches and buckets
# of time.
KEPT_UP = 0.9


def messages_per_flow(rate, seconds, flows, n):
    """As many messages as a flow sends in `seconds`, whole N-packets of them."""
    return max(1, int(rate * seconds / flows / n)) * n


def goodput_mbps(sent, received):
    """Payload that arrived while the sender was sending, without the warm-up, in Mbps.

    What still comes after the last message was sent is a queue that empties; it is not counted.
    """
    begin = sent["begin_us"] + WARM_UP * (sent["end_us"] - sent["begin_us"])
    width = received["bucket_us"]
    first = -(-(begin - received["begin_us"]) // width)
    last = (sent["end_us"] - received["begin_us"]) // width
    if last <= first:
        return 0.0
    counted = sum(received["buckets"][int(first) : int(last)])
    return counted * PAYLOAD_BITS / ((last - first) * width)


def point(sent, received, processor_seconds):
    """The results of one run."""
    seconds = (sent["end_us"] - sent["begin_us"]) / 1e6
    return {
        "arrival_per_s": sent["sent"] / seconds if seconds > 0 else 0.0,
        "sent": sent["sent"],
        "lost": sent["sent"] - received["received"],
        **{
            name: received[name]
            for name in ("received", "duplicates", "corrupted", "foreign", "reordered", "datagrams")
        },
        "goodput_mbps": goodput_mbps(sent, received),
        "delay_us": received.get("delay_us"),
        "processor_us_per_message": 1e6 * processor_seconds / sent["sent"],
    }


def arrival_mbps(point):
    """Payload that arrives at the first stage."""
    return point["arrival_per_s"] * PAYLOAD_BITS / 1e6


def kept_up(point):
    """Whether a contender carried the rate: nothing was lost, and no queue grew while the sender sent."""
    return point["lost"] == 0 and point["goodput_mbps"] >= KEPT_UP * arrival_mbps(point)


def best(points):
    """The highest goodput of some points, and the highest arrival rate that was carried."""
    taken = [point["arrival_per_s"] for point in points if kept_up(point)]
    return max(point["goodput_mbps"] for point in points), max(taken, default=0.0)


def saturated(points):
    """Whether less than half got through at the last two rates: higher ones would show nothing new."""
    return len(points) >= 2 and all(point["goodput_mbps"] < arrival_mbps(point) / 2 for point in points[-2:])


def ratios(points, to):
    """Highest goodput of every contender over that of `to`, by stages and N."""
    groups = {}
    for each in points:
        groups.setdefault((each["stages"], each["n"]), {}).setdefault(each["contender"], []).append(each)
    result = []
    for (stages, n), contenders in groups.items():
        highest = {name: best(rows)[0] for name, rows in contenders.items()}
        if highest.get(to):
            for name, value in highest.items():
                result.append({"stages": stages, "n": n, "contender": name, f"over_{to}": value / highest[to]})
    return result


def path_point(sent, received, link):
    """The results of one run over a long link."""
    lost = sent["sent"] - received["received"]
    row = {
        "sent": sent["sent"],
        "lost": lost,
        **{name: received[name] for name in ("received", "duplicates", "corrupted", "foreign", "reordered", "gaps")},
        "lost_together": lost / received["gaps"] if received["gaps"] else None,
        "goodput_mbps": goodput_mbps(sent, received),
        "delay_us": received.get("delay_us"),
        "wire_bytes_per_message": link["to_server"]["wire_bytes"] / sent["sent"],
        "server_us_per_message": received["processor_us"] / max(1, received["received"] + received["duplicates"]),
        "link": link,
    }
    if "confirmed" in sent:
        row["confirmation_us"] = sent.get("confirmation_us")
        row["given_up"] = sent["given_up"]
        row["retransmissions_per_message"] = sent["retransmissions"] / sent["sent"]
        # Messages that arrive again: the first copy, or only its acknowledgement, was late or lost.
        row["in_vain_per_message"] = received["duplicates"] / sent["sent"]
    return row


def record_text(record):
    """A record as JSON, a point a line, numbers with four decimals."""
    head = json.dumps({key: value for key, value in record.items() if key != "points"}, indent=1)
    points = [json.dumps(json.loads(json.dumps(point), parse_float=_rounded)) for point in record["points"]]
    return f'{head[:-2]},\n "points": [\n  ' + ",\n  ".join(points) + "\n ]\n}\n"


def _rounded(text):
    return round(float(text), 4)
