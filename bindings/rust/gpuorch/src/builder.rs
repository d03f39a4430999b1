//! Defines builders: a builder borrows the parent, fills the library's struct of options, and calls the create
//! function.

/// ```text
/// builder! {
///     /// What a thing is made with.
///     ThingBuilder of Thing: thing_create(Parent, gpo_thing_options), member_by_default...;
///     fields { /// What it says. field: type, ... }
///     flags { /// What it says. method: FLAG, ... }
/// }
/// ```
///
/// A method is made for each field, to set it, and for each flag, to add it.
macro_rules! builder {
    (
        $(#[$doc:meta])*
        $builder:ident of $made:ident: $create:ident($parent:ident, $options:ident) $(, $member:ident)*;
        fields { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }
        flags { $($(#[$flag_doc:meta])* $method:ident: $flag:ident,)* }
    ) => {
        $(#[$doc])*
        #[must_use = "a builder makes nothing until `build`"]
        pub struct $builder<'a> {
            parent: &'a $parent,
            label: Option<String>,
            options: gpuorch_sys::$options,
        }

        // SAFETY: the options are numbers, and pointers that are null until `build` has the label's.
        unsafe impl Send for $builder<'_> {}
        // SAFETY: likewise.
        unsafe impl Sync for $builder<'_> {}

        impl<'a> $builder<'a> {
            pub(crate) fn new(parent: &'a $parent) -> Self {
                Self { parent, label: None, options: gpuorch_sys::$options::new() }
            }

            /// The name for errors, logs, statistics and traces.
            pub fn label(mut self, label: impl Into<String>) -> Self {
                self.label = Some(label.into());
                self
            }

            $(
                $(#[$field_doc])*
                pub fn $field(mut self, $field: $type) -> Self {
                    self.options.$field = $field;
                    self
                }
            )*

            $(
                $(#[$flag_doc])*
                pub fn $method(mut self) -> Self {
                    self.options.flags |= gpuorch_sys::$flag;
                    self
                }
            )*

            /// Makes it.
            pub fn build(mut self) -> $crate::error::Result<$made> {
                let label =
                    $crate::handle::optional_c_string(self.label.as_deref(), concat!("gpo_", stringify!($create)))?;
                self.options.label = $crate::handle::pointer(&label);
                let mut raw = std::ptr::null_mut();
                $crate::call::call!($create(self.parent.as_raw(), &self.options, &mut raw))?;
                let owned = $crate::handle::Owned { raw: raw.into(), parent: self.parent.clone() };
                Ok($made { inner: std::sync::Arc::new(owned), $($member: Default::default()),* })
            }
        }
    };
}

pub(crate) use builder;
