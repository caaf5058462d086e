-- Wireshark dissectors of In-band Network Telemetry 2.1 over UDP and of Telemetry Report 2.0.
--
--   wireshark -X lua_script:int.lua          tshark -X lua_script:int.lua -r capture.pcap
--
-- or copied into the folder of personal Lua plugins. The UDP ports are preferences of the protocols `fint` and `freport`;
-- on a command line: -o fint.port:32766 -o freport.port:32768
--
-- Filters: fint, fint.type == 1, fint.hop.node_id == 2, fint.hops_exceeded, freport.dropped, freport.drop_reason == 3, ...

local types = { [1] = "INT-MD", [2] = "Destination", [3] = "INT-MX" }
local next_types = { [1] = "UDP payload", [2] = "IP protocol" }
local report_types = { [0] = "inner only", [1] = "INT", [2] = "IOAM" }
local inner_types = { [0] = "none", [1] = "TLV", [2] = "domain specific", [3] = "Ethernet", [4] = "IPv4", [5] = "IPv6" }
local drop_reasons = { [1] = "malformed", [2] = "no forwarding entry", [3] = "denied", [4] = "INT from an untrusted port" }

-- Bit of the instruction bitmap (0 is the most significant), name of the field, title, bytes.
local instructions = {
    { 0, "node_id", "Node ID", 4 },
    { 1, "ports", "Level 1 interfaces", 4 },
    { 2, "hop_latency", "Hop latency", 4 },
    { 3, "queue", "Queue", 4 },
    { 4, "ingress_time", "Ingress time", 8 },
    { 5, "egress_time", "Egress time", 8 },
    { 6, "level2", "Level 2 interfaces", 8 },
    { 7, "tx_utilization", "Egress interface TX utilization", 4 },
    { 8, "buffer", "Buffer", 4 },
    { 15, "complement", "Checksum complement", 4 },
}

local function metadata_fields(prefix)
    return {
        node_id = ProtoField.uint32(prefix .. ".node_id", "Node ID"),
        ingress_port = ProtoField.uint16(prefix .. ".ingress_port", "Level 1 ingress interface"),
        egress_port = ProtoField.uint16(prefix .. ".egress_port", "Level 1 egress interface"),
        hop_latency = ProtoField.uint32(prefix .. ".hop_latency", "Hop latency (ns)"),
        queue_id = ProtoField.uint8(prefix .. ".queue_id", "Queue ID"),
        queue_depth = ProtoField.uint24(prefix .. ".queue_depth", "Queue occupancy"),
        ingress_time = ProtoField.uint64(prefix .. ".ingress_time", "Ingress time (ns)"),
        egress_time = ProtoField.uint64(prefix .. ".egress_time", "Egress time (ns)"),
        level2_ingress = ProtoField.uint32(prefix .. ".level2_ingress", "Level 2 ingress interface", base.HEX),
        level2_egress = ProtoField.uint32(prefix .. ".level2_egress", "Level 2 egress interface", base.HEX),
        tx_utilization = ProtoField.uint32(prefix .. ".tx_utilization", "TX utilization", base.HEX),
        buffer_id = ProtoField.uint8(prefix .. ".buffer_id", "Buffer ID", base.HEX),
        buffer_depth = ProtoField.uint24(prefix .. ".buffer_depth", "Buffer occupancy", base.HEX),
        complement = ProtoField.uint32(prefix .. ".complement", "Checksum complement", base.HEX),
    }
end

local function field_list(...)
    local all = {}
    for _, fields in ipairs({ ... }) do
        for _, field in pairs(fields) do
            table.insert(all, field)
        end
    end
    return all
end

local function has_bit(bitmap, bit)
    return math.floor(bitmap / 2 ^ (15 - bit)) % 2 == 1
end

-- Adds the metadata that a bitmap announces, from the offset `at` on; returns the offset after them.
local function add_metadata(tree, fields, buffer, at, bitmap, is_report)
    for _, one in ipairs(instructions) do
        local bit, name, _, size = one[1], one[2], one[3], one[4]
        local skipped = is_report and (bit == 0 or bit == 15)
        if has_bit(bitmap, bit) and not skipped then
            if at + size > buffer:len() then
                return at, false
            end
            if name == "ports" then
                tree:add(fields.ingress_port, buffer(at, 2))
                tree:add(fields.egress_port, buffer(at + 2, 2))
            elseif name == "queue" then
                tree:add(fields.queue_id, buffer(at, 1))
                tree:add(fields.queue_depth, buffer(at + 1, 3))
            elseif name == "buffer" then
                tree:add(fields.buffer_id, buffer(at, 1))
                tree:add(fields.buffer_depth, buffer(at + 1, 3))
            elseif name == "level2" then
                tree:add(fields.level2_ingress, buffer(at, 4))
                tree:add(fields.level2_egress, buffer(at + 4, 4))
            else
                tree:add(fields[name], buffer(at, size))
            end
            at = at + size
        end
    end
    return at, true
end

-- INT ------------------------------------------------------------------------------------------------------------------

local int = Proto("fint", "In-band Network Telemetry 2.1")
int.prefs.port = Pref.uint("UDP port", 32766, "Destination port of INT packets")

local shim = {
    type = ProtoField.uint8("fint.type", "Type", base.DEC, types, 0xf0),
    npt = ProtoField.uint8("fint.npt", "Next protocol type", base.DEC, next_types, 0x0c),
    length = ProtoField.uint8("fint.length", "Length (words)"),
    port = ProtoField.uint16("fint.original_port", "Original UDP port"),
    protocol = ProtoField.uint8("fint.original_protocol", "Original IP protocol"),
    version = ProtoField.uint8("fint.version", "Version", base.DEC, nil, 0xf0),
    discard = ProtoField.bool("fint.discard", "D: discard", 8, nil, 0x08),
    hops_exceeded = ProtoField.bool("fint.hops_exceeded", "E: hop count exceeded", 8, nil, 0x04),
    mtu_exceeded = ProtoField.bool("fint.mtu_exceeded", "M: MTU exceeded", 8, nil, 0x02),
    hop_ml = ProtoField.uint8("fint.hop_ml", "Per-hop metadata length (words)", base.DEC, nil, 0x1f),
    remaining = ProtoField.uint8("fint.remaining_hops", "Remaining hop count"),
    instructions = ProtoField.uint16("fint.instructions", "Instruction bitmap", base.HEX),
    domain = ProtoField.uint16("fint.domain_id", "Domain specific ID", base.HEX),
    ds_instructions = ProtoField.uint16("fint.ds_instructions", "Domain specific instructions", base.HEX),
    ds_flags = ProtoField.uint16("fint.ds_flags", "Domain specific flags", base.HEX),
    source_inserted = ProtoField.bytes("fint.source_inserted", "Source-inserted metadata"),
    hops = ProtoField.uint8("fint.hops", "Hops"),
}
local hop = metadata_fields("fint.hop")
local malformed = ProtoExpert.new("fint.malformed", "INT header is malformed", expert.group.MALFORMED, expert.severity.ERROR)
int.fields = field_list(shim, hop)
int.experts = { malformed }

local ip_protocols = DissectorTable.get("ip.proto")
local udp_ports = DissectorTable.get("udp.port")
local data_dissector = Dissector.get("data")

-- The packet of a report that is dissected now: its frame, and how many bytes of it there are before the padding.
local reported = { frame = nil, bytes = 0 }

-- The bytes of a buffer that are no padding.
local function present_bytes(buffer, pinfo)
    if reported.frame ~= pinfo.number then
        return buffer:len()
    end
    return math.max(math.min(buffer:len(), reported.bytes - buffer:offset()), 0)
end

-- The stack of an MD packet: the metadata of the latest hop stand first.
local function add_stack(tree, buffer, at, finish, bitmap, hop_ml)
    local number = 0
    local size = hop_ml * 4
    while size > 0 and at + size <= finish do
        number = number + 1
        local item = tree:add(buffer(at, size), string.format("Hop %d from the end", number))
        local after, whole = add_metadata(item, hop, buffer, at, bitmap, false)
        if not whole or after > at + size then
            return number, false
        end
        at = at + size
    end
    return number, at == finish
end

function int.dissector(buffer, pinfo, tree)
    local present = present_bytes(buffer, pinfo)
    if present < 16 then
        return 0
    end
    local kind = math.floor(buffer(0, 1):uint() / 16)
    local npt = math.floor(buffer(0, 1):uint() / 4) % 4
    local finish = 4 + 4 * buffer(1, 1):uint()
    local root = tree:add(int, buffer(0, math.min(finish, present)))
    root:add(shim.type, buffer(0, 1))
    root:add(shim.npt, buffer(0, 1))
    root:add(shim.length, buffer(1, 1))
    if npt == 2 then
        root:add(shim.protocol, buffer(3, 1))
    else
        root:add(shim.port, buffer(2, 2))
    end
    root:add(shim.version, buffer(4, 1))
    root:add(shim.discard, buffer(4, 1))
    local bitmap = buffer(8, 2):uint()
    if kind == 1 then
        root:add(shim.hops_exceeded, buffer(4, 1))
        root:add(shim.mtu_exceeded, buffer(4, 1))
        root:add(shim.hop_ml, buffer(6, 1))
        root:add(shim.remaining, buffer(7, 1))
    end
    root:add(shim.instructions, buffer(8, 2))
    root:add(shim.domain, buffer(10, 2))
    root:add(shim.ds_instructions, buffer(12, 2))
    root:add(shim.ds_flags, buffer(14, 2))
    -- A report holds the beginning of a packet: the stack may be cut.
    local is_cut = finish > present
    local stack_end = math.min(finish, present)
    if finish < 16 then
        root:add_proto_expert_info(malformed, "Length is less than that of the INT header")
        return buffer:len()
    end
    if kind == 1 then
        local count, whole = add_stack(root, buffer, 16, stack_end, bitmap, buffer(6, 1):uint() % 32)
        root:add(shim.hops, count):set_generated()
        if not whole and not is_cut and buffer(12, 2):uint() == 0 then
            root:add_proto_expert_info(malformed, "The stack is not a multiple of the per-hop length")
        end
        root:append_text(string.format(", %d hops", count))
    elseif kind == 3 and stack_end > 16 then
        root:add(shim.source_inserted, buffer(16, stack_end - 16))
    end
    pinfo.cols.protocol:set(types[kind] or "INT")
    if is_cut or finish == buffer:len() then
        return buffer:len()
    end
    local rest = buffer(finish):tvb()
    if npt == 2 then
        ip_protocols:try(buffer(3, 1):uint(), rest, pinfo, tree)
    elseif udp_ports:try(buffer(2, 2):uint(), rest, pinfo, tree) == 0 then
        data_dissector:call(rest, pinfo, tree)
    end
    return buffer:len()
end

-- Telemetry Report -----------------------------------------------------------------------------------------------------

local report = Proto("freport", "Telemetry Report 2.0")
report.prefs.port = Pref.uint("UDP port", 32768, "Destination port of telemetry reports")

local group = {
    version = ProtoField.uint8("freport.version", "Version", base.DEC, nil, 0xf0),
    hw_id = ProtoField.uint16("freport.hw_id", "Hardware ID", base.DEC, nil, 0x0fc0),
    sequence = ProtoField.uint32("freport.sequence", "Sequence number", base.DEC, nil, 0x003fffff),
    node_id = ProtoField.uint32("freport.node_id", "Node ID"),
    rep_type = ProtoField.uint8("freport.rep_type", "Report type", base.DEC, report_types, 0xf0),
    in_type = ProtoField.uint8("freport.in_type", "Inner type", base.DEC, inner_types, 0x0f),
    length = ProtoField.uint8("freport.length", "Report length (words)"),
    md_length = ProtoField.uint8("freport.md_length", "Metadata length (words)"),
    dropped = ProtoField.bool("freport.dropped", "D: dropped", 8, nil, 0x80),
    congested = ProtoField.bool("freport.congested", "Q: congested queue", 8, nil, 0x40),
    tracked = ProtoField.bool("freport.tracked", "F: tracked flow", 8, nil, 0x20),
    intermediate = ProtoField.bool("freport.intermediate", "I: intermediate report", 8, nil, 0x10),
    md_bits = ProtoField.uint16("freport.md_bits", "Metadata bits", base.HEX),
    domain = ProtoField.uint16("freport.domain_id", "Domain specific ID", base.HEX),
    ds_md_bits = ProtoField.uint16("freport.ds_md_bits", "Domain specific metadata bits", base.HEX),
    ds_md_status = ProtoField.uint16("freport.ds_md_status", "Domain specific metadata status", base.HEX),
    drop_queue = ProtoField.uint8("freport.drop_queue", "Queue ID"),
    drop_reason = ProtoField.uint8("freport.drop_reason", "Drop reason", base.DEC, drop_reasons),
}
local own = metadata_fields("freport")
own.node_id = nil
local bad_report = ProtoExpert.new("freport.malformed", "Report is malformed", expert.group.MALFORMED, expert.severity.ERROR)
report.fields = field_list(group, own)
report.experts = { bad_report }

local inner_dissectors = { [3] = Dissector.get("eth_withoutfcs"), [4] = Dissector.get("ip"), [5] = Dissector.get("ipv6") }

-- The bytes of a packet from `at` on, by its IP header; nil where there is none.
local function ip_bytes(buffer, at)
    if at + 8 > buffer:len() then
        return nil
    end
    local version = math.floor(buffer(at, 1):uint() / 16)
    if version == 4 then
        return buffer(at + 2, 2):uint()
    elseif version == 6 then
        return buffer(at + 4, 2):uint() + 40
    end
end

-- Where the IP header of an Ethernet frame stands; nil where there is none.
local function ip_offset(buffer)
    local at = 12
    while at + 2 <= buffer:len() do
        local kind = buffer(at, 2):uint()
        if kind == 0x0800 or kind == 0x86dd then
            return at + 2
        elseif kind ~= 0x8100 and kind ~= 0x88a8 then
            return nil
        end
        at = at + 4
    end
end

-- The packet of a report has only its beginning. It is padded with zeros to its length, since dissectors would take it for
-- malformed otherwise.
local function whole_packet(buffer, in_type)
    local at = in_type == 3 and ip_offset(buffer) or 0
    local bytes = at and ip_bytes(buffer, at)
    if not bytes or at + bytes <= buffer:len() then
        return buffer, nil
    end
    local padded = buffer:bytes()
    padded:set_size(at + bytes)
    for index = buffer:len(), at + bytes - 1 do
        padded:set_index(index, 0)
    end
    return padded:tvb("Packet of the report, padded"), at + bytes
end

local function add_individual(buffer, at, pinfo, root, tree)
    local first = buffer(at, 1):uint()
    local words = buffer(at + 1, 1):uint()
    local finish = words == 255 and buffer:len() or at + 4 + 4 * words
    if finish > buffer:len() then
        root:add_proto_expert_info(bad_report, "Report is longer than its datagram")
        return buffer:len()
    end
    local item = root:add(buffer(at, finish - at), "Report")
    for _, name in ipairs({ "rep_type", "in_type" }) do
        item:add(group[name], buffer(at, 1))
    end
    item:add(group.length, buffer(at + 1, 1))
    item:add(group.md_length, buffer(at + 2, 1))
    for _, name in ipairs({ "dropped", "congested", "tracked", "intermediate" }) do
        item:add(group[name], buffer(at + 3, 1))
    end
    local inner = at + 4
    if math.floor(first / 16) == 1 then
        if finish - at < 12 then
            item:add_proto_expert_info(bad_report, "No room for the main contents")
            return finish
        end
        local bitmap = buffer(at + 4, 2):uint()
        item:add(group.md_bits, buffer(at + 4, 2))
        item:add(group.domain, buffer(at + 6, 2))
        item:add(group.ds_md_bits, buffer(at + 8, 2))
        item:add(group.ds_md_status, buffer(at + 10, 2))
        inner = at + 12 + 4 * buffer(at + 2, 1):uint()
        local after, whole = add_metadata(item, own, buffer, at + 12, bitmap, true)
        if whole and has_bit(bitmap, 15) and after + 4 <= finish then
            item:add(group.drop_queue, buffer(after, 1))
            item:add(group.drop_reason, buffer(after + 1, 1))
            after = after + 4
        end
        if not whole or inner > finish or (after ~= inner and buffer(at + 8, 2):uint() == 0) then
            item:add_proto_expert_info(bad_report, "The metadata are not as long as the report says")
            return finish
        end
    end
    local dissector = inner_dissectors[first % 16]
    if dissector and inner < finish then
        local packet, bytes = whole_packet(buffer(inner, finish - inner):tvb(), first % 16)
        if bytes then
            item:append_text(string.format(", the first %d of %d bytes of the packet", finish - inner, bytes))
        end
        if bytes then
            reported = { frame = pinfo.number, bytes = finish - inner }
        end
        dissector:call(packet, pinfo, item)
        reported.frame = nil
        pinfo.cols.protocol:set("Telemetry Report")
    end
    return finish
end

function report.dissector(buffer, pinfo, tree)
    if buffer:len() < 12 then
        return 0
    end
    local root = tree:add(report, buffer())
    root:add(group.version, buffer(0, 1))
    root:add(group.hw_id, buffer(0, 2))
    root:add(group.sequence, buffer(0, 4))
    root:add(group.node_id, buffer(4, 4))
    pinfo.cols.protocol:set("Telemetry Report")
    local at = 8
    while at + 4 <= buffer:len() do
        at = add_individual(buffer, at, pinfo, root, tree)
    end
    if at ~= buffer:len() then
        root:add_proto_expert_info(bad_report, "Bytes after the last report")
    end
    pinfo.cols.info:set(string.format("Node %u, sequence %u", buffer(4, 4):uint(), buffer(0, 4):uint() % 2 ^ 22))
    return buffer:len()
end

-- Ports ----------------------------------------------------------------------------------------------------------------

local registered = {}

local function register(proto)
    if registered[proto.name] then
        udp_ports:remove(registered[proto.name], proto)
    end
    udp_ports:add(proto.prefs.port, proto)
    registered[proto.name] = proto.prefs.port
end

function int.prefs_changed()
    register(int)
end

function report.prefs_changed()
    register(report)
end

register(int)
register(report)
