//! Which digests are sent, and how they are gathered (P4Runtime §9.8). The digests themselves are in
//! [`crate::stream::digests`].

use crate::change::Change;
use crate::ledger::Ledger;
use crate::schema::{Schema, find};
use crate::status::Error;
use forebay_protocol::p4::v1::DigestEntry;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;

/// Switches digests of one kind on, off, or configures them.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &DigestEntry) -> Result<(), Error> {
    let digest = find(&change.schema.digests, entry.digest_id, "digest")?;
    let is_on = change.ledger.digests().contains_key(&entry.digest_id);
    match (how, is_on) {
        (Type::Insert, true) => {
            return Err(Error::already_exists(format!(
                "digest `{}` is configured already",
                digest.name
            )));
        }
        (Type::Modify | Type::Delete, false) => {
            return Err(Error::not_found(format!("digest `{}` is not configured", digest.name)));
        }
        (Type::Delete, true) => {
            change.ledger.digests_mut().remove(&entry.digest_id);
            return Ok(());
        }
        _ => {}
    }
    let config = entry.config.unwrap_or_default();
    if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
        return Err(Error::invalid(format!(
            "digest `{}`: time-outs and sizes are not negative",
            digest.name
        )));
    }
    change.ledger.digests_mut().insert(entry.digest_id, config);
    Ok(())
}

/// One kind of digest, or all that are on.
pub(crate) fn read(
    schema: &Schema,
    ledger: &Ledger,
    wanted: &DigestEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    if wanted.digest_id != 0 {
        let digest = find(&schema.digests, wanted.digest_id, "digest")?;
        if !ledger.digests().contains_key(&wanted.digest_id) {
            return Err(Error::not_found(format!("digest `{}` is not configured", digest.name)));
        }
    }
    let configured = ledger.digests().iter();
    for (id, config) in configured.filter(|(id, _)| wanted.digest_id == 0 || **id == wanted.digest_id) {
        sink(Entity::DigestEntry(DigestEntry {
            digest_id: *id,
            config: Some(*config),
        }));
    }
    Ok(())
}
