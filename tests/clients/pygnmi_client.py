"""pygnmi: interfaces are read in every encoding, disabled, and subscribed to."""

from pygnmi.client import gNMIclient

from testbed import ADDRESS, HERE, Switch, expect

STATUS = "openconfig-interfaces:interfaces/interface[name=sw2]/state/oper-status"
ENABLED = "interfaces/interface[name=sw2]/config/enabled"


def value(client, path, encoding):
    answer = client.get(path=[path], encoding=encoding)
    return answer["notification"][0]["update"][0]["val"]


def main():
    Switch(ports=2, program=HERE / "entities.p4")
    host, port = ADDRESS.rsplit(":", 1)
    with gNMIclient(target=(host, int(port)), insecure=True) as client:
        models = [model["name"] for model in client.capabilities()["supported_models"]]
        expect("openconfig-interfaces" in models, "the models are told")
        for encoding in ("json", "json_ietf", "proto"):
            expect(value(client, STATUS, encoding) == "UP", f"a value as {encoding}")
        client.set(update=[(ENABLED, False)], encoding="json_ietf")
        expect(value(client, ENABLED, "json") is False, "a port is disabled")
        client.set(update=[(ENABLED, True)], encoding="json")
        wanted = {
            "subscription": [{"path": "interfaces/interface[name=sw1]/state/counters"}],
            "mode": "once",
            "encoding": "proto",
        }
        told = str(list(client.subscribe(subscribe=wanted)))
        expect("in-octets" in told and "sync_response" in told, "a subscription ends after all values")


main()
