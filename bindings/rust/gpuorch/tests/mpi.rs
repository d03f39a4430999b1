//! A group of four processes that `mpirun` starts: `GPUORCH_TEST_MPIRUN` has its command line.

mod world;

use gpuorch::Result;
use gpuorch::peers::{Collective, Engine, Part, Reduction};
use std::process::Command;
use std::ptr::null_mut;
use std::time::Duration;
use world::world;

/// The test in each of the processes.
#[test]
fn one_of_the_processes() -> Result<()> {
    if std::env::var_os("GPUORCH_TEST_RANK").is_none() {
        return Ok(());
    }
    let w = world();
    // SAFETY: the program doesn't call MPI, and means all of its processes.
    let peers = unsafe { w.device.join_by_mpi(null_mut()) };
    let peers = peers.engine(Engine::Host).timeout(Duration::from_secs(30)).join()?;
    let (rank, ranks) = (peers.rank(), peers.ranks());
    let (mine, came) = (w.device.buffer::<i32>(1000)?, w.device.buffer::<i32>(1000)?);
    w.stream.fill(&mine, rank as i32 + 1)?;
    peers.submit(&Collective::all_reduce(Reduction::Sum), &[Part::new(&w.stream, &mine, &came)])?.wait()?;
    assert_eq!(w.stream.copy_to_host(&came, vec![0; 1000])?.wait()?, [(ranks * (ranks + 1) / 2) as i32; 1000]);
    println!("rank {rank} of {ranks} has the sum");
    Ok(())
}

#[test]
fn four_processes_under_mpirun_have_the_sum() {
    let Ok(mpirun) = std::env::var("GPUORCH_TEST_MPIRUN") else {
        println!("SKIP four_processes_under_mpirun_have_the_sum: there is no mpirun of Open MPI");
        return;
    };
    let mut words = mpirun.split(' ');
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", "one_of_the_processes", "--nocapture"]).env("GPUORCH_TEST_RANK", "1");
    let output = command.output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for rank in 0..4 {
        assert!(told.contains(&format!("rank {rank} of 4 has the sum")), "{told}");
    }
}
