//! Reads the architecture's graph.

use super::cursor::Read;
use super::lexer::Token;
use super::names::Keyword;
use super::read_program::Reader;
use crate::pipeline::{
    Argument, Clear, End, Entry, EntryInfo, Finish, GlueBlock, GlueOp, Graph, Mirror, Pairs, Reason, Target,
};
use crate::{BlockId, BodyId};
use std::collections::HashMap;

/// Labels in the order of their first mention, which may precede their blocks.
#[derive(Default)]
struct Labels {
    ids: HashMap<String, BlockId>,
}

impl Labels {
    fn id(&mut self, label: &str) -> BlockId {
        let next = BlockId(self.ids.len() as u32);
        *self.ids.entry(label.to_owned()).or_insert(next)
    }
}

impl Reader {
    /// Reads the graph; `graph` has been read.
    pub(super) fn graph(&mut self) -> Read<Graph> {
        self.cursor.expect("{")?;
        let mut graph = Graph::default();
        let mut labels = Labels::default();
        // By number in `labels`: the block with this label.
        let mut defined: HashMap<BlockId, BlockId> = HashMap::new();
        while !self.cursor.accept("}") {
            if self.cursor.accept_word("entry") {
                let (entry, info) = self.graph_entry(&mut labels)?;
                if graph.entries.insert(entry, info).is_some() {
                    return self.cursor.error("this entry was given before");
                }
                continue;
            }
            let label = self.cursor.name()?;
            let id = labels.id(&label);
            if defined.insert(id, BlockId(graph.blocks.len() as u32)).is_some() {
                return self.cursor.error(format!("the block `{label}` was given before"));
            }
            self.cursor.expect(":")?;
            let block = self.glue_block(label, &mut labels)?;
            graph.blocks.push(block);
        }
        let missing = labels.ids.iter().find(|(_, id)| !defined.contains_key(id));
        if let Some((label, _)) = missing {
            return self.cursor.error(format!("there is no block `{label}`"));
        }
        let mut place = |id: &mut BlockId| *id = defined[id];
        for info in graph.entries.values_mut() {
            place(&mut info.block);
        }
        for block in &mut graph.blocks {
            block.end.for_each_target(&mut place);
        }
        Ok(graph)
    }

    fn graph_entry(&mut self, labels: &mut Labels) -> Read<(Entry, EntryInfo)> {
        let entry = self.entry_name()?;
        let mut preserved = Vec::new();
        if self.word_here("preserves") {
            self.cursor.expect("{")?;
            loop {
                preserved.push(self.slot_reference()?);
                if self.cursor.accept("}") {
                    break;
                }
                self.cursor.expect(",")?;
            }
        }
        self.cursor.expect("->")?;
        let block = self.label(labels)?;
        Ok((entry, EntryInfo { block, preserved }))
    }

    /// Whether the current token is this word, which is not a keyword elsewhere; if so, advances.
    fn word_here(&mut self, word: &str) -> bool {
        self.cursor.accept_word(word)
    }

    fn entry_name(&mut self) -> Read<Entry> {
        let word = self.cursor.peek_word().unwrap_or_default().to_owned();
        let plain = match word.as_str() {
            "arrival" => Some(Entry::Arrival),
            "resubmitted" => Some(Entry::Resubmitted),
            "recirculated" => Some(Entry::Recirculated),
            "clone_ingress" => Some(Entry::CloneIngress),
            "clone_egress" => Some(Entry::CloneEgress),
            "replica" | "dequeued" => None,
            _ => return self.cursor.expected("an entry"),
        };
        self.cursor.advance();
        if let Some(entry) = plain {
            return Ok(entry);
        }
        let number = self.cursor.number32()?;
        let Ok(number) = u8::try_from(number) else {
            return self.cursor.error("the number is too large");
        };
        Ok(match word.as_str() {
            "replica" => Entry::Replica(number),
            _ => Entry::Dequeued(number),
        })
    }

    fn label(&mut self, labels: &mut Labels) -> Read<BlockId> {
        let label = self.cursor.name()?;
        Ok(labels.id(&label))
    }

    fn glue_block(&mut self, label: String, labels: &mut Labels) -> Read<GlueBlock> {
        let mut ops = Vec::new();
        loop {
            if let Some(end) = self.end(labels)? {
                return Ok(GlueBlock {
                    label,
                    ops,
                    end,
                    location: self.cursor.location()?,
                });
            }
            ops.push(self.glue_op()?);
        }
    }

    fn glue_op(&mut self) -> Read<GlueOp> {
        let word = self.cursor.peek_word().unwrap_or_default().to_owned();
        let read: fn(&mut Self) -> Read<GlueOp> = match word.as_str() {
            "clear" => Self::clear,
            "restore" => |_| Ok(GlueOp::Restore),
            "commit" => |_| Ok(GlueOp::Commit),
            "reframe" => Self::reframe,
            "mirror" => Self::mirror,
            _ => return self.glue_assignment(),
        };
        self.cursor.advance();
        read(self)
    }

    fn clear(&mut self) -> Read<GlueOp> {
        if self.cursor.accept_word("metadata") {
            return Ok(GlueOp::Clear(Clear::Metadata));
        }
        self.cursor.expect_word("any")?;
        Ok(GlueOp::Clear(Clear::All))
    }

    fn reframe(&mut self) -> Read<GlueOp> {
        let truncate = if self.cursor.accept_word("truncate") {
            Some(self.expr(None)?)
        } else {
            None
        };
        Ok(GlueOp::Reframe { truncate })
    }

    fn mirror(&mut self) -> Read<GlueOp> {
        let frame = self.cursor.keyword()?;
        let session = self.expr(None)?;
        self.cursor.expect_word("to")?;
        let to = self.entry_name()?;
        let preserve = self.pairs()?;
        Ok(GlueOp::Mirror(Mirror {
            session,
            to,
            frame,
            preserve,
        }))
    }

    fn glue_assignment(&mut self) -> Read<GlueOp> {
        let slot = self.slot_reference()?;
        self.cursor.expect("=")?;
        if !self.cursor.accept("$") {
            let value = self.expr(None)?;
            return Ok(GlueOp::Set { slot, value });
        }
        let argument: Argument = self.cursor.keyword()?;
        Ok(GlueOp::Take { slot, argument })
    }

    /// ` preserve { from -> to, … }`, or nothing.
    fn pairs(&mut self) -> Read<Pairs> {
        let mut pairs = Vec::new();
        if !self.word_here("preserve") {
            return Ok(pairs);
        }
        self.cursor.expect("{")?;
        loop {
            let from = self.slot_reference()?;
            let to = if self.cursor.accept("->") {
                self.slot_reference()?
            } else {
                from
            };
            pairs.push((from, to));
            if self.cursor.accept("}") {
                return Ok(pairs);
            }
            self.cursor.expect(",")?;
        }
    }

    /// Reads the end of a block, if there is one.
    fn end(&mut self, labels: &mut Labels) -> Read<Option<End>> {
        let Token::Word(word) = self.cursor.peek().clone() else {
            return Ok(None);
        };
        let read: fn(&mut Self, &mut Labels) -> Read<End> = match word.as_str() {
            "jump" => |reader, labels| Ok(End::Jump(reader.label(labels)?)),
            "branch" => Self::glue_branch,
            "select" => Self::glue_select,
            "run" => Self::run,
            "replicate" => Self::replicate,
            "suspend" => |reader, _| reader.suspend(),
            "finish" => |reader, _| Ok(End::Finish(reader.finish()?)),
            _ => return Ok(None),
        };
        self.cursor.advance();
        read(self, labels).map(Some)
    }

    fn glue_branch(&mut self, labels: &mut Labels) -> Read<End> {
        let condition = self.expr(None)?;
        self.cursor.expect(",")?;
        let then_block = self.label(labels)?;
        self.cursor.expect(",")?;
        let else_block = self.label(labels)?;
        Ok(End::Branch {
            condition,
            then_block,
            else_block,
        })
    }

    fn glue_select(&mut self, labels: &mut Labels) -> Read<End> {
        self.cursor.expect("(")?;
        let key = self.expr(None)?;
        self.cursor.expect(")")?;
        self.cursor.expect("{")?;
        let mut cases = Vec::new();
        while !self.cursor.accept_word("default") {
            let value = self.cursor.constant()?;
            self.cursor.expect("=>")?;
            cases.push((value, self.label(labels)?));
        }
        self.cursor.expect("=>")?;
        let default = self.label(labels)?;
        self.cursor.expect("}")?;
        Ok(End::Select { key, cases, default })
    }

    fn run(&mut self, labels: &mut Labels) -> Read<End> {
        let body = BodyId(self.cursor.reference(&self.names.bodies)?);
        self.cursor.expect("->")?;
        let next = self.label(labels)?;
        let reject = if self.cursor.accept_word("reject") {
            Some(self.label(labels)?)
        } else {
            None
        };
        Ok(End::Run { body, next, reject })
    }

    fn replicate(&mut self, labels: &mut Labels) -> Read<End> {
        let target = if self.word_here("session") {
            Target::Session
        } else {
            self.cursor.expect_word("group")?;
            Target::Group(self.expr(None)?)
        };
        self.cursor.expect_word("to")?;
        let each = self.entry_name()?;
        let none = if self.word_here("none") {
            self.cursor.expect("->")?;
            Some(self.label(labels)?)
        } else {
            None
        };
        Ok(End::Replicate { target, each, none })
    }

    fn suspend(&mut self) -> Read<End> {
        self.cursor.expect_word("port")?;
        let port = self.expr(None)?;
        self.cursor.expect_word("class")?;
        let class = self.expr(None)?;
        self.cursor.expect_word("length")?;
        let length = self.expr(None)?;
        self.cursor.expect_word("to")?;
        let resume = self.entry_name()?;
        let preserve = self.pairs()?;
        Ok(End::Suspend {
            port,
            class,
            length,
            resume,
            preserve,
        })
    }

    fn finish(&mut self) -> Read<Finish> {
        if self.word_here("transmit") {
            self.cursor.expect_word("port")?;
            let port = self.expr(None)?;
            return Ok(Finish::Transmit { port });
        }
        if self.cursor.accept_word("resubmit") {
            return Ok(Finish::Resubmit(self.pairs()?));
        }
        if self.cursor.accept_word("recirculate") {
            return Ok(Finish::Recirculate(self.pairs()?));
        }
        self.cursor.expect_word("drop")?;
        let otherwise = self.cursor.keyword()?;
        let error = if self.cursor.accept_word("error") {
            Some(self.slot_reference()?)
        } else {
            None
        };
        Ok(Finish::Drop(Reason { error, otherwise }))
    }
}

impl Keyword for Argument {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Argument::IngressPort, "ingress_port"),
        (Argument::FrameLength, "frame_length"),
        (Argument::HeaderBytes, "header_bytes"),
        (Argument::TimeUs, "time_us"),
        (Argument::ParserError, "parser_error"),
        (Argument::ChecksumError, "checksum_error"),
        (Argument::EgressPort, "egress_port"),
        (Argument::Class, "class"),
        (Argument::EnqueueTimeUs, "enqueue_time_us"),
        (Argument::EnqueueDepth, "enqueue_depth"),
        (Argument::DequeueDepth, "dequeue_depth"),
        (Argument::ReplicaPort, "replica_port"),
        (Argument::ReplicaInstance, "replica_instance"),
        (Argument::Session, "session"),
        (Argument::SessionClass, "session_class"),
        (Argument::SessionLimit, "session_limit"),
        (Argument::CloneRequest, "clone_request"),
        (Argument::CloneSession, "clone_session"),
        (Argument::ResubmitRequest, "resubmit_request"),
        (Argument::RecirculateRequest, "recirculate_request"),
        (Argument::TruncateRequest, "truncate_request"),
    ];
}
