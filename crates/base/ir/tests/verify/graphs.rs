//! The rules for graphs.

use crate::common::everything;
use crate::{constant, insert, slot};
use forebay_ir::verify::{Rule, verify};
use forebay_ir::{Op, Program, text};

/// A graph for the sample program.
const GRAPH: &str = "
slot request.port: bit<32> request
slot request.limit: bit<33> request

graph {
entry arrival -> received
entry clone_ingress preserves { request.port } -> cloned
entry replica 0 -> copy
entry dequeued 0 -> left_queue
received:
  request.port = $ingress_port
  run MyParser -> parsed reject parsed
parsed:
  run MyIngress -> decided
decided:
  commit
  mirror as_received request.port to clone_ingress preserve { request.port }
  branch request.port == 32w0x0, several, one
several:
  replicate group request.port to replica 0 none -> gone
gone:
  finish drop no_multicast_member
copy:
  request.port = $replica_port
  jump one
one:
  suspend port request.port class 8w0x0 length request.port to dequeued 0
cloned:
  restore
  request.limit = $session_limit
  replicate session to replica 0
left_queue:
  clear metadata
  request.port = $egress_port
  run MyEgress -> deparse
deparse:
  commit
  run MyDeparser -> deparsed
deparsed:
  reframe truncate request.limit
  select (request.port) { 32w0x7 => round default => leave }
round:
  finish recirculate
leave:
  finish transmit port request.port
}
";

fn with_graph(graph: &str) -> Program {
    let graph = graph.replace("entry clone", "entry recirculated -> received\nentry clone");
    text::read(&(text::write(&everything()) + &graph)).expect("the graph is well-formed")
}

#[test]
fn the_sample_graph_is_valid_and_is_written_as_it_was_read() {
    let program = with_graph(GRAPH);
    assert_eq!(verify(&program), []);
    assert_eq!(text::read(&text::write(&program)), Ok(program));
}

/// Replaces a piece of the sample graph and expects this rule, and only this, to be reported.
#[track_caller]
fn breaks_graph(rule: Rule, piece: &str, by: &str) {
    assert!(GRAPH.contains(piece), "the graph has no {piece}");
    let errors = verify(&with_graph(&GRAPH.replace(piece, by)));
    assert!(!errors.is_empty(), "nothing was reported");
    for error in &errors {
        assert_eq!(error.rule, rule, "{error}");
    }
}

#[test]
fn graphs_send_packets_to_entries_that_exist() {
    breaks_graph(Rule::GraphEntry, "entry dequeued 0 -> left_queue\n", "");
    breaks_graph(
        Rule::GraphEntry,
        "group request.port to replica 0",
        "group request.port to arrival",
    );
    breaks_graph(
        Rule::GraphEntry,
        "length request.port to dequeued 0",
        "length request.port to arrival",
    );
    breaks_graph(
        Rule::GraphEntry,
        "to clone_ingress preserve { request.port }",
        "to replica 0",
    );
}

#[test]
fn graphs_preserve_what_their_entries_say() {
    breaks_graph(Rule::GraphPreserved, "preserves { request.port } ", "");
}

#[test]
fn graphs_have_no_cycles() {
    breaks_graph(
        Rule::GraphCycle,
        "  run MyEgress -> deparse",
        "  run MyEgress -> left_queue",
    );
}

#[test]
fn graphs_run_parsers_and_deparsers_on_frames() {
    breaks_graph(
        Rule::GraphRun,
        "run MyIngress -> decided",
        "run MyIngress -> decided reject gone",
    );
    breaks_graph(
        Rule::GraphRun,
        "run MyParser -> parsed reject parsed",
        "run MyParser -> parsed",
    );
    breaks_graph(
        Rule::GraphRun,
        "run MyEgress -> deparse",
        "run MyParser -> deparse reject deparse",
    );
    breaks_graph(
        Rule::GraphRun,
        "deparsed:\n",
        "deparsed:\n  run MyDeparser -> once_more\nonce_more:\n",
    );
}

#[test]
fn graphs_take_frames_where_they_are() {
    breaks_graph(Rule::GraphFrame, "decided:\n", "decided:\n  reframe\n");
    breaks_graph(Rule::GraphFrame, "as_received", "as_deparsed");
    breaks_graph(
        Rule::GraphFrame,
        "  finish drop",
        "  finish transmit port request.port\nunused:\n  finish drop",
    );
    breaks_graph(
        Rule::GraphFrame,
        "\none:\n",
        "\none:\n  run MyDeparser -> lost\nlost:\n",
    );
}

#[test]
fn graphs_replicate_once() {
    breaks_graph(
        Rule::GraphReplica,
        "  request.port = $replica_port\n  jump one",
        "  replicate group request.port to replica 0 none -> one",
    );
}

#[test]
fn graphs_take_arguments_where_they_exist() {
    breaks_graph(Rule::GraphArgument, "$ingress_port", "$egress_port");
    breaks_graph(Rule::GraphArgument, "$egress_port", "$replica_port");
    breaks_graph(Rule::GraphArgument, "$replica_port", "$class");
}

#[test]
fn slots_of_graphs_are_theirs() {
    let mut program = with_graph(GRAPH);
    let port = slot(&program, "request.port");
    insert(
        &mut program,
        "MyEgress",
        Op::Assign {
            slot: port,
            value: constant(32),
        },
    );
    let errors = verify(&program);
    assert!(!errors.is_empty() && errors.iter().all(|error| error.rule == Rule::GraphRequest));
}

#[test]
fn graphs_commit_digests() {
    breaks_graph(Rule::GraphCommit, "decided:\n  commit\n", "decided:\n");
}
