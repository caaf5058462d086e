"""Writes what packages of PyPI say of the messages of P4Runtime and gNMI, for `descriptors.rs` to compare with ours.

    pip install p4runtime && python3 record_descriptors.py p4.v1.p4runtime_pb2 p4.v1.p4data_pb2 p4.config.v1.p4info_pb2 \\
        p4.config.v1.p4types_pb2 google.rpc.status_pb2 > p4runtime_descriptors.json
    pip install finsy && python3 record_descriptors.py finsy.proto.gnmi1.gnmi_pb2 > gnmi_descriptors.json
"""

import importlib
import json
import sys

from google.protobuf import descriptor_pb2

KINDS = descriptor_pb2.FieldDescriptorProto


def messages(package, message, found):
    name = f"{package}.{message.name}"
    fields = {}
    for field in message.field:
        kind = KINDS.Type.Name(field.type)[len("TYPE_"):].lower()
        fields[field.name] = {
            "number": field.number,
            "type": field.type_name.lstrip(".") or kind,
            "repeated": field.label == KINDS.LABEL_REPEATED,
            "oneof": message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None,
        }
    found[name] = fields
    for nested in message.nested_type:
        messages(name, nested, found)
    for enum in message.enum_type:
        found[f"{name}.{enum.name}"] = {value.name: value.number for value in enum.value}


def main():
    found = {}
    for module in map(importlib.import_module, sys.argv[1:]):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            messages(file.package, message, found)
        for enum in file.enum_type:
            found[f"{file.package}.{enum.name}"] = {value.name: value.number for value in enum.value}
        for service in file.service:
            found[f"{file.package}.{service.name}"] = {
                method.name: [
                    method.input_type.lstrip("."), method.client_streaming,
                    method.output_type.lstrip("."), method.server_streaming,
                ]
                for method in service.method
            }
    print(json.dumps(found, indent=1, sort_keys=True))


main()
