// The calls of BMv2's control interface that the test makes: names and numbers as its clients have them.

enum Compare { EXACT = 0, LPM = 1, TERNARY = 2, VALID = 3, RANGE = 4 }

struct Exact { 1: binary key }
struct Lpm { 1: binary key, 2: i32 prefix_length }
struct Ternary { 1: binary key, 2: binary mask }
struct Valid { 1: bool key }
struct Range { 1: binary start, 2: binary end_ }

struct Param {
  1: Compare type,
  2: optional Exact exact,
  3: optional Lpm lpm,
  4: optional Ternary ternary,
  5: optional Valid valid,
  6: optional Range range
}

struct Options { 1: optional i32 priority }
struct Count { 1: i64 bytes, 2: i64 packets }
struct Rate { 1: double units_per_micros, 2: i32 burst_size }

struct Does {
  1: i32 action_type,
  2: optional string action_name,
  3: optional list<binary> action_data,
  4: optional i32 mbr_handle,
  5: optional i32 grp_handle
}

struct Life { 1: i32 timeout_ms, 2: i32 time_since_hit_ms }

struct TableEntry {
  1: list<Param> match_key,
  2: Options options,
  3: i32 entry_handle,
  4: Does action_entry,
  5: optional Life life
}

struct PortInfo { 1: i32 port_num, 2: string iface_name, 3: bool is_up, 4: map<string, string> extra }

struct Crc16 {
  1: i16 polynomial, 2: i16 initial_remainder, 3: i16 final_xor_value, 4: bool data_reflected, 5: bool remainder_reflected
}
struct Crc32 {
  1: i32 polynomial, 2: i32 initial_remainder, 3: i32 final_xor_value, 4: bool data_reflected, 5: bool remainder_reflected
}

exception Refused { 1: i32 code }

struct Info { 1: i64 device_id, 2: i32 thrift_port, 3: optional string notifications_socket }
struct Session { 1: optional i32 port, 2: optional i32 mgid }

service Standard {
  void bm_load_new_config(1: string config_str) throws (1: Refused ouch),
  void bm_swap_configs() throws (1: Refused ouch),
  void bm_reset_state()
  Info bm_mgmt_get_info() throws (1: Refused error)
  void bm_learning_ack_buffer(1: i32 cxt_id, 2: i32 list_id, 3: i64 buffer_id) throws (1: Refused error)
  void bm_learning_set_buffer_size(1: i32 cxt_id, 2: i32 list_id, 3: i32 nb_samples) throws (1: Refused error)
  void bm_learning_set_timeout(1: i32 cxt_id, 2: i32 list_id, 3: i32 timeout_ms) throws (1: Refused error)
  i64 bm_mt_get_num_entries(1: i32 cxt_id, 2: string table_name) throws (1: Refused ouch),
  void bm_mt_clear_entries(1: i32 cxt_id, 2: string table_name, 3: bool reset_default_entry) throws (1: Refused ouch),
  i32 bm_mt_add_entry(1: i32 cxt_id, 2: string table_name, 3: list<Param> match_key, 4: string action_name,
                      5: list<binary> action_data, 6: Options options) throws (1: Refused ouch),
  void bm_mt_set_default_action(1: i32 cxt_id, 2: string table_name, 3: string action_name,
                                4: list<binary> action_data) throws (1: Refused ouch),
  void bm_mt_delete_entry(1: i32 cxt_id, 2: string table_name, 3: i32 entry_handle) throws (1: Refused ouch),
  void bm_mt_modify_entry(1: i32 cxt_id, 2: string table_name, 3: i32 entry_handle, 4: string action_name,
                          5: list<binary> action_data) throws (1: Refused ouch),
  void bm_mt_set_entry_ttl(1: i32 cxt_id, 2: string table_name, 3: i32 entry_handle, 4: i32 timeout_ms)
    throws (1: Refused ouch),
  list<TableEntry> bm_mt_get_entries(1: i32 cxt_id, 2: string table_name) throws (1: Refused ouch),
  Does bm_mt_get_default_entry(1: i32 cxt_id, 2: string table_name) throws (1: Refused ouch),
  i32 bm_mt_act_prof_add_member(1: i32 cxt_id, 2: string act_prof_name, 3: string action_name,
                                4: list<binary> action_data) throws (1: Refused ouch),
  i32 bm_mt_act_prof_create_group(1: i32 cxt_id, 2: string act_prof_name) throws (1: Refused ouch),
  void bm_mt_act_prof_add_member_to_group(1: i32 cxt_id, 2: string act_prof_name, 3: i32 mbr_handle,
                                          4: i32 grp_handle) throws (1: Refused ouch),
  i32 bm_mt_indirect_ws_add_entry(1: i32 cxt_id, 2: string table_name, 3: list<Param> match_key, 4: i32 grp_handle,
                                  5: Options options) throws (1: Refused ouch),
  Count bm_mt_read_counter(1: i32 cxt_id, 2: string table_name, 3: i32 entry_handle) throws (1: Refused ouch),
  Count bm_counter_read(1: i32 cxt_id, 2: string counter_name, 3: i32 index) throws (1: Refused ouch),
  void bm_meter_array_set_rates(1: i32 cxt_id, 2: string meter_array_name, 3: list<Rate> rates) throws (1: Refused ouch),
  list<Rate> bm_mt_get_meter_rates(1: i32 cxt_id, 2: string table_name, 3: i32 entry_handle) throws (1: Refused ouch),
  void bm_mt_set_meter_rates(1: i32 cxt_id, 2: string table_name, 3: i32 entry_handle, 4: list<Rate> rates)
    throws (1: Refused ouch),
  void bm_meter_set_rates(1: i32 cxt_id, 2: string meter_array_name, 3: i32 index, 4: list<Rate> rates)
    throws (1: Refused ouch),
  list<Rate> bm_meter_get_rates(1: i32 cxt_id, 2: string meter_array_name, 3: i32 index) throws (1: Refused ouch),
  i64 bm_register_read(1: i32 cxt_id, 2: string register_array_name, 3: i32 idx) throws (1: Refused ouch),
  list<i64> bm_register_read_all(1: i32 cxt_id, 2: string register_array_name) throws (1: Refused ouch),
  void bm_register_write(1: i32 cxt_id, 2: string register_array_name, 3: i32 index, 4: i64 value)
    throws (1: Refused ouch),
  void bm_set_crc16_custom_parameters(1: i32 cxt_id, 2: string calc_name, 3: Crc16 config) throws (1: Refused ouch),
  void bm_set_crc32_custom_parameters(1: i32 cxt_id, 2: string calc_name, 3: Crc32 config) throws (1: Refused ouch),
  list<PortInfo> bm_dev_mgr_show_ports(),
  void bm_dev_mgr_add_port(1: string iface_name, 2: i32 port_num, 3: string pcap_path) throws (1: Refused ouch),
  void bm_dev_mgr_remove_port(1: i32 port_num) throws (1: Refused ouch),
  string bm_get_config(),
  binary bm_get_config_md5()
}

service Replication {
  i32 bm_mc_mgrp_create(1: i32 cxt_id, 2: i16 mgrp) throws (1: Refused ouch),
  i32 bm_mc_node_create(1: i32 cxt_id, 2: i16 rid, 3: string port_map, 4: string lag_map) throws (1: Refused ouch),
  void bm_mc_node_destroy(1: i32 cxt_id, 2: i32 l1_hdl) throws (1: Refused ouch),
  void bm_mc_set_lag_membership(1: i32 cxt_id, 2: i16 lag_index, 3: string port_map) throws (1: Refused ouch),
  void bm_mc_node_associate(1: i32 cxt_id, 2: i32 mgrp_handle, 3: i32 l1_handle) throws (1: Refused ouch),
  string bm_mc_get_entries(1: i32 cxt_id) throws (1: Refused ouch)
}

service SimpleSwitch {
  void mirroring_session_add(1: i32 mirror_id, 2: Session config) throws (1: Refused ouch),
  Session mirroring_session_get(1: i32 mirror_id) throws (1: Refused ouch),
  i32 set_all_egress_queue_rates(1: i64 rate_pps)
  i32 set_egress_priority_queue_depth(1: i32 port_num, 2: i32 priority, 3: i32 depth_pkts)
}
