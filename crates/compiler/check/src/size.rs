//! Sizes of types in bits: `minSizeInBits()` and its siblings (§9).

use crate::hir::{Program, Type};
use forebay_syntax::ast::CompositeKind;

/// The smallest and largest number of bits of a type's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// With empty varbits; of a union, that of the member for which it is largest, as in the table of §9.
    pub min: u64,
    /// With full varbits, and the largest member of unions.
    pub max: u64,
}

impl Size {
    fn fixed(bits: u64) -> Size {
        Size { min: bits, max: bits }
    }

    fn plus(self, other: Size) -> Size {
        Size {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }
}

/// The size of a type in bits; none for types that have no size, such as `int`, `string`, enums without representation.
pub fn size_in_bits(program: &Program, ty: &Type) -> Option<Size> {
    match ty {
        Type::Bool => Some(Size::fixed(1)),
        Type::Bit(width) | Type::Signed(width) => Some(Size::fixed(u64::from(*width))),
        Type::Varbit(width) => Some(Size {
            min: 0,
            max: u64::from(*width),
        }),
        Type::Enum(id) => size_in_bits(program, program.enums[id.index()].representation.as_ref()?),
        Type::NewType(id) => size_in_bits(program, &program.new_types[id.index()].ty),
        Type::Stack(element, count) => {
            let element = size_in_bits(program, element)?;
            let count = u64::from(*count);
            Some(Size {
                min: element.min.saturating_mul(count),
                max: element.max.saturating_mul(count),
            })
        }
        Type::Tuple(types) => sum(program, types),
        Type::Composite(id, args) => {
            let types = program.field_types(*id, args);
            match program.composites[id.index()].kind {
                CompositeKind::HeaderUnion => union(program, &types),
                CompositeKind::Struct | CompositeKind::Header => sum(program, &types),
            }
        }
        _ => None,
    }
}

fn sum(program: &Program, types: &[Type]) -> Option<Size> {
    types
        .iter()
        .try_fold(Size::fixed(0), |total, ty| Some(total.plus(size_in_bits(program, ty)?)))
}

fn union(program: &Program, types: &[Type]) -> Option<Size> {
    let sizes: Vec<Size> = types
        .iter()
        .map(|ty| size_in_bits(program, ty))
        .collect::<Option<_>>()?;
    let min = sizes.iter().map(|size| size.min).max().unwrap_or(0);
    let max = sizes.iter().map(|size| size.max).max().unwrap_or(0);
    Some(Size { min, max })
}
