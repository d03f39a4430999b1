//! Has gpuorch's source use loom's lock, here and nowhere else.

fn main() {
    println!("cargo::rustc-cfg=gpuorch_loom");
}
