//! Checksums: what is verified after the parser and computed before the deparser.

use super::Translator;
use crate::error::{At, Result};
use crate::model::Checksum;
use forebay_ir::{Body, BodyKind, Expr, Op};

impl Translator<'_> {
    /// The control that verifies.
    pub(super) fn verification(&mut self) -> Result<Body> {
        let checksums = self.json.checksums.iter().filter(|checksum| checksum.verify);
        self.build("verifyChecksum", BodyKind::Control, |this| {
            for checksum in checksums {
                this.verify_checksum(checksum).at(&checksum.at)?;
            }
            Ok(())
        })
    }

    /// The control that computes.
    pub(super) fn computation(&mut self) -> Result<Body> {
        let checksums = self.json.checksums.iter().filter(|checksum| checksum.update);
        self.build("computeChecksum", BodyKind::Control, |this| {
            for checksum in checksums {
                this.update_checksum(checksum).at(&checksum.at)?;
            }
            Ok(())
        })
    }

    fn verify_checksum(&mut self, checksum: &Checksum) -> Result<()> {
        let calculation = self.calculation(&checksum.calculation)?;
        let condition = self.checksum_condition(checksum)?;
        let (header, field) = &checksum.target;
        let value = Expr::Slot(self.storage.field(header, field)?.slot);
        self.body.emit(Op::VerifyChecksum {
            condition,
            data: calculation.data,
            checksum: value,
            algorithm: calculation.algorithm,
            payload: calculation.payload,
        });
        Ok(())
    }

    fn update_checksum(&mut self, checksum: &Checksum) -> Result<()> {
        let calculation = self.calculation(&checksum.calculation)?;
        let condition = self.checksum_condition(checksum)?;
        let (header, field) = &checksum.target;
        let slot = self.storage.field(header, field)?.slot;
        self.body.emit(Op::UpdateChecksum {
            condition,
            data: calculation.data,
            slot,
            algorithm: calculation.algorithm,
            payload: calculation.payload,
        });
        Ok(())
    }

    fn checksum_condition(&mut self, checksum: &Checksum) -> Result<Expr> {
        match &checksum.condition {
            Some(condition) => self.truth(condition),
            None => {
                let instance = self.storage.instance(&checksum.target.0)?;
                Ok(self.is_valid(instance))
            }
        }
    }
}
