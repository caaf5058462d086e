//! Enums whose variants have names.

/// An enum whose variants have stable names and, in another form, words for the user.
macro_rules! named {
    ($(#[$kind_doc:meta])* $kind:ident { $($(#[$doc:meta])* $variant:ident = $name:literal, $words:literal;)+ }) => {
        named! { $(#[$kind_doc])* $kind { $($(#[$doc])* $variant = $name;)+ } }

        impl $kind {
            /// What it means, in words for the user.
            pub fn words(self) -> &'static str {
                match self {
                    $($kind::$variant => $words,)+
                }
            }
        }
    };
    ($(#[$kind_doc:meta])* $kind:ident { $($(#[$doc:meta])* $variant:ident = $name:literal;)+ }) => {
        $(#[$kind_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum $kind {
            $($(#[$doc])* $variant,)+
        }

        impl $kind {
            /// All of them, in their order.
            pub const ALL: &[$kind] = &[$($kind::$variant),+];

            /// The stable name, for users and JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)+
                }
            }
        }
    };
}

pub(super) use named;
