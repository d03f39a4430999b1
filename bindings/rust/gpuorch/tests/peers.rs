//! Groups of devices: collectives, groups of several processes, symmetric memory and launches on all ranks.

mod world;

use gpuorch::peers::{
    BF16, Collective, Element, Engine, F8E4M3, F8E5M2, F16, Part, Peers, PeersId, RankLaunch, Reduction, Symmetric,
};
use gpuorch::{BoundKernel, Device, DeviceBuffer, Error, ErrorKind, Launch, Object, Result, Runtime, Stream};
use std::process::Command;
use std::time::Duration;
use world::recorded::kind;
use world::{World, world};

/// Two devices, a stream on each, and their group.
struct Pair {
    runtime: Runtime,
    devices: Vec<Device>,
    streams: Vec<Stream>,
    peers: Peers,
}

impl Pair {
    fn new() -> Result<Self> {
        let runtime = Runtime::new()?;
        let devices = (0..2).map(|ordinal| runtime.device(ordinal).open()).collect::<Result<Vec<_>>>()?;
        let streams = devices.iter().map(|device| device.stream()).collect::<Result<_>>()?;
        let peers = Peers::builder(&devices).label("pair").build()?;
        Ok(Self { runtime, devices, streams, peers })
    }

    /// Memory of a rank with these elements.
    fn buffer<T: Element + Send>(&self, rank: usize, elements: &[T]) -> Result<DeviceBuffer<T>> {
        let buffer = self.devices[rank].buffer(elements.len())?;
        self.streams[rank].write(elements, &buffer)?;
        Ok(buffer)
    }

    fn read<T: Element + Send>(&self, rank: usize, buffer: &DeviceBuffer<T>) -> Result<Vec<T>> {
        Ok(self.streams[rank].copy_to_host(buffer, vec![T::zeroed(); buffer.len()])?.wait()?)
    }

    /// The buffers of both ranks after a collective: `lens` elements, all 9 before.
    fn exchanged(&self, collective: &Collective<'_>, send: [&[i32]; 2], lens: [usize; 2]) -> Result<[Vec<i32>; 2]> {
        let send = [self.buffer(0, send[0])?, self.buffer(1, send[1])?];
        let receive = [self.buffer(0, &vec![9; lens[0]])?, self.buffer(1, &vec![9; lens[1]])?];
        let part = |rank: usize| Part::new(&self.streams[rank], &send[rank], &receive[rank]);
        self.peers.submit(collective, &[part(0), part(1)])?.wait()?;
        Ok([self.read(0, &receive[0])?, self.read(1, &receive[1])?])
    }
}

/// Skips a test for two devices on a machine with one.
macro_rules! pair {
    ($test:ident) => {
        if Runtime::new()?.device_count()? < 2 {
            println!("SKIP {}: there is one device", stringify!($test));
            return Ok(());
        } else {
            Pair::new()?
        }
    };
}

#[test]
fn all_ranks_get_the_reduction_in_place_and_out_of_place() -> Result<()> {
    let pair = pair!(all_ranks_get_the_reduction_in_place_and_out_of_place);
    for (reduction, wanted) in [
        (Reduction::Sum, [17, -1]),
        (Reduction::Product, [70, -20]),
        (Reduction::Minimum, [7, -5]),
        (Reduction::Maximum, [10, 4]),
        (Reduction::Average, [8, 0]),
    ] {
        let all_reduce = Collective::all_reduce(reduction).label(c"all of it");
        assert_eq!(pair.exchanged(&all_reduce, [&[7, 4], &[10, -5]], [2, 2])?, [wanted, wanted], "{reduction:?}");
        let x = [pair.buffer(0, &[7i64, 4])?, pair.buffer(1, &[10, -5])?];
        let part = |rank: usize| Part::in_place(&pair.streams[rank], &x[rank]);
        pair.peers.submit(&all_reduce, &[part(0), part(1)])?;
        for (rank, x) in x.iter().enumerate() {
            assert_eq!(pair.read(rank, x)?, wanted.map(i64::from), "{reduction:?}");
        }
    }
    let info = pair.peers.info()?;
    assert_eq!((info.ranks, info.local_ranks, info.rank, info.collectives), (2, 2, 0, 10), "{info:?}");
    assert_eq!(info.bytes, 5 * 2 * (2 * 4 + 2 * 8));
    Ok(())
}

/// The sum of one and one is two.
fn adds<T: Element + Send + PartialEq + std::fmt::Debug>(pair: &Pair, one: T, two: T) -> Result<()> {
    let x = [pair.buffer(0, &[one; 33])?, pair.buffer(1, &[one; 33])?];
    let part = |rank: usize| Part::in_place(&pair.streams[rank], &x[rank]);
    pair.peers.submit(&Collective::all_reduce(Reduction::Sum), &[part(0), part(1)])?;
    assert_eq!([pair.read(0, &x[0])?, pair.read(1, &x[1])?], [vec![two; 33], vec![two; 33]]);
    Ok(())
}

#[test]
fn elements_have_the_types_of_the_library() -> Result<()> {
    let pair = pair!(elements_have_the_types_of_the_library);
    adds(&pair, i8::MAX, -2)?;
    adds(&pair, 200u8, 144)?;
    adds(&pair, i32::MAX, -2)?;
    adds(&pair, 1u32 << 31, 0)?;
    adds(&pair, i64::MIN, 0)?;
    adds(&pair, u64::MAX, u64::MAX - 1)?;
    adds(&pair, 1.5f32, 3.0)?;
    adds(&pair, 1.5f64, 3.0)?;
    adds(&pair, F16(0x3c00), F16(0x4000))?;
    adds(&pair, BF16(0x3f80), BF16(0x4000))?;
    adds(&pair, F8E4M3(0x38), F8E4M3(0x40))?;
    adds(&pair, F8E5M2(0x3c), F8E5M2(0x40))
}

#[test]
fn each_collective_moves_its_elements() -> Result<()> {
    let pair = pair!(each_collective_moves_its_elements);
    let (a, b): ([i32; 4], [i32; 4]) = ([1, 2, 3, 4], [10, 20, 30, 40]);
    // Unused buffers of a rank are left unchanged.
    assert_eq!(
        pair.exchanged(&Collective::reduce(Reduction::Sum, 1), [&a, &b], [4, 4])?,
        [vec![9; 4], vec![11, 22, 33, 44]]
    );
    assert_eq!(pair.exchanged(&Collective::reduce_scatter(Reduction::Sum), [&a, &b], [2, 2])?, [[11, 22], [33, 44]]);
    assert_eq!(pair.exchanged(&Collective::broadcast(1), [&[], &b], [4, 4])?, [b, b]);
    let gathered = [1, 2, 3, 4, 10, 20, 30, 40];
    assert_eq!(pair.exchanged(&Collective::all_gather(), [&a, &b], [8, 8])?, [gathered, gathered]);
    assert_eq!(pair.exchanged(&Collective::all_to_all(), [&a, &b], [4, 4])?, [[1, 2, 10, 20], [3, 4, 30, 40]]);
    let (x, y) = (pair.buffer(0, &a)?, pair.buffer(1, &b)?);
    let (from_x, to_y) = (Part::sending(&pair.streams[0], &x).to(1), Part::receiving(&pair.streams[1], &y).from(0));
    pair.peers.submit(&Collective::send_receive(), &[from_x, to_y])?;
    assert_eq!((pair.read(0, &x)?, pair.read(1, &y)?), (a.to_vec(), a.to_vec()));
    // In place: a rank's own piece of the received buffer, and of the sent buffer.
    let (x, y) = (pair.buffer(0, &[1, 2, 0, 0])?, pair.buffer(1, &[0, 0, 3, 4])?);
    let (own_x, own_y) = (x.slice(..2), y.slice(2..));
    let parts = [Part::new(&pair.streams[0], own_x, &x), Part::new(&pair.streams[1], own_y, &y)];
    pair.peers.submit(&Collective::all_gather(), &parts)?;
    let parts = [Part::new(&pair.streams[0], &x, own_x), Part::new(&pair.streams[1], &y, own_y)];
    pair.peers.submit(&Collective::reduce_scatter(Reduction::Sum), &parts)?;
    assert_eq!((&pair.read(0, &x)?[..2], &pair.read(1, &y)?[2..]), (&[2, 4][..], &[6, 8][..]));
    Ok(())
}

#[test]
fn streams_meet_at_a_barrier() -> Result<()> {
    let pair = pair!(streams_meet_at_a_barrier);
    let timeline = pair.runtime.timeline(0)?;
    pair.streams[1].wait_timeline(&timeline, 1)?;
    pair.peers.barrier(&[&pair.streams[0], &pair.streams[1]])?;
    assert_eq!(kind(pair.streams[0].wait_for(Duration::from_millis(20))), ErrorKind::Timeout);
    timeline.signal(1)?;
    pair.streams[0].wait()?;
    assert_eq!(kind(pair.peers.barrier(&[&pair.streams[0]])), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn what_does_not_fit_together_is_refused_and_named() -> Result<()> {
    let pair = pair!(what_does_not_fit_together_is_refused_and_named);
    let x = [pair.buffer(0, &[1; 4])?, pair.buffer(1, &[2; 4])?];
    let (s, all_reduce) = (&pair.streams, Collective::all_reduce(Reduction::Sum));
    let (whole, part_of) = (Part::in_place(&s[0], &x[0]), |len: usize| Part::in_place(&s[1], x[1].slice(..len)));
    let (sending, send_receive) = (Part::sending(&s[0], &x[0]), Collective::send_receive());
    let somebody_elses = world();
    let other = somebody_elses.device.buffer::<i32>(4)?;
    for (collective, parts, named) in [
        (all_reduce, [whole, part_of(3)], "rank 1 has 3 elements to send, and the first buffer of rank 0 asks for 4"),
        (all_reduce, [whole, Part::none(&s[1])], "rank 1 has no buffer to send"),
        (all_reduce, [whole, Part::sending(&s[1], &x[1])], "rank 1 has no buffer to receive"),
        (
            Collective::all_gather(),
            [whole, part_of(4)],
            "rank 0 has 4 elements to receive, and the first buffer of rank 0",
        ),
        (
            Collective::all_to_all(),
            [Part::in_place(&s[0], x[0].slice(..3)), part_of(3)],
            "rank 0 has 3 elements to send, which are no 2 equal pieces",
        ),
        (Collective::broadcast(2), [whole, part_of(4)], "collective.root is 2"),
        (send_receive, [sending, part_of(4).to(0).from(0)], "rank 0: a rank that sends says to which rank"),
        (send_receive, [sending.to(1), Part::none(&s[1])], "rank 0 sends to rank 1, which doesn't receive from it"),
        (all_reduce, [whole, Part::in_place(&s[1], &x[0])], "memory of another device"),
        (all_reduce, [whole, whole], "is of another device than the rank"),
        (all_reduce, [whole, Part::in_place(&s[1], &other)], "of another runtime"),
        (
            all_reduce,
            [whole, Part::new(&s[1], x[1].slice(..4), x[1].slice(..4)).to(1)],
            "send_to or receive_from of rank 1 is not 0",
        ),
    ] {
        let error = pair.peers.submit(&collective, &parts).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "gpo_peers_submit"), "{error}");
        assert!(error.message().contains(named), "{error}, not {named}");
    }
    let error = pair.peers.submit(&all_reduce, &[whole]).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("has 2 ranks"), "{error}");
    assert_eq!(pair.peers.info()?.collectives, 0);
    // The refused calls had no effect.
    pair.peers.submit(&all_reduce, &[whole, part_of(4)])?.wait()?;
    assert_eq!(pair.read(0, &x[0])?, [3; 4]);
    Ok(())
}

#[test]
fn a_collective_is_awaited_and_a_held_one_cancelled_on_all_streams() -> Result<()> {
    let pair = pair!(a_collective_is_awaited_and_a_held_one_cancelled_on_all_streams);
    let x = [pair.buffer(0, &[1u8; 4])?, pair.buffer(1, &[2; 4])?];
    let parts = [Part::in_place(&pair.streams[0], &x[0]), Part::in_place(&pair.streams[1], &x[1])];
    let all_reduce = Collective::all_reduce(Reduction::Sum);
    pollster::block_on(async { pair.peers.submit(&all_reduce, &parts)?.await })?;
    assert!(pair.streams[0].is_done()? && pair.streams[1].is_done()?);
    let timeline = pair.runtime.timeline(0)?;
    pair.streams[1].wait_timeline(&timeline, 1)?;
    let held = pair.peers.submit(&all_reduce, &parts)?;
    let awaited = held.clone().into_future();
    timeline.fail(ErrorKind::Failed, "no data today")?;
    let error = held.wait().unwrap_err();
    assert!(error.kind() == ErrorKind::Failed && error.message().contains("no data today"), "{error}");
    assert_eq!(kind(pollster::block_on(awaited)), ErrorKind::Failed);
    assert!(pair.streams.iter().all(|stream| stream.is_done().is_err()));
    Ok(())
}

#[test]
fn a_collective_is_recorded_and_launched_again() -> Result<()> {
    let pair = pair!(a_collective_is_recorded_and_launched_again);
    let x = [pair.buffer(0, &[1i32; 8])?, pair.buffer(1, &[1; 8])?];
    pair.streams[1].wait()?;
    let (first, second) = (&pair.streams[0], pair.devices[1].stream()?);
    let (begin, end) = (pair.devices[0].event()?, pair.devices[1].event()?);
    let template = pair.devices[0].template()?;
    // SAFETY: the buffers outlive the launches.
    unsafe {
        template.record(first, |_| {
            begin.record(first)?;
            second.wait_event(&begin)?;
            let parts = [Part::in_place(first, &x[0]), Part::in_place(&second, &x[1])];
            pair.peers.submit(&Collective::all_reduce(Reduction::Sum), &parts)?;
            end.record(&second)?;
            first.wait_event(&end).map(drop)
        })?;
    }
    let graph = template.graph()?;
    for sum in [2, 4, 8] {
        graph.launch(first)?.wait()?;
        assert_eq!([pair.read(0, &x[0])?, pair.read(1, &x[1])?], [[sum; 8], [sum; 8]]);
    }
    Ok(())
}

#[test]
fn a_group_says_what_it_is_and_is_split() -> Result<()> {
    let pair = pair!(a_group_says_what_it_is_and_is_split);
    let Pair { devices, peers, .. } = &pair;
    assert_eq!((peers.label()?, peers.ranks(), peers.rank(), peers.devices().len()), ("pair".to_owned(), 2, 0, 2));
    let _link = peers.link(0, 1)?;
    assert_eq!(kind(peers.link(0, 2)), ErrorKind::InvalidArgument);
    let part = peers.split(&[1]).label("second").engine(Engine::Direct).build()?;
    assert_eq!((part.ranks(), part.label()?), (1, "second".to_owned()));
    assert_eq!(part.devices()[0].as_raw(), devices[1].as_raw());
    for ranks in [&[0, 0][..], &[2], &[]] {
        let error = peers.split(ranks).build().unwrap_err();
        assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "gpo_peers_split"), "{error}");
    }
    let error = peers.abort().unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.message().contains("of one process"), "{error}");
    Ok(())
}

#[test]
fn what_can_not_be_a_group_is_refused() -> Result<()> {
    let (w, other) = (world(), world());
    assert_eq!(kind(Peers::new([])), ErrorKind::InvalidArgument);
    let error = Peers::new([&w.device, &w.device]).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("ranks 0 and 1"), "{error}");
    assert_eq!(kind(Peers::new([&w.device, &other.device])), ErrorKind::InvalidHandle);
    assert_eq!(kind(Peers::builder([&w.device]).engine(Engine::Host).build()), ErrorKind::InvalidArgument);
    let alone = Peers::new([&w.device])?;
    assert_eq!(kind(alone.symmetric::<u32>(8).engine(Engine::Nvshmem).remote().build()), ErrorKind::NotSupported);
    assert_eq!(kind(alone.symmetric::<u32>(8).engine(Engine::Host).build()), ErrorKind::InvalidArgument);
    assert_eq!(alone.symmetric::<u32>(8).engine(Engine::Direct).build()?.on(0).all().len(), 8);
    assert_eq!(kind(Peers::builder([&w.device]).label("a\0b").build()), ErrorKind::InvalidArgument);
    let id = PeersId::new()?;
    assert_eq!(kind(w.device.join_by_id(&id, 1, 1).join()), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.device.join_by_id(&id, 0, 1).engine(Engine::Direct).join()), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.device.join_by_id(&PeersId::from_bytes([0; 128]), 0, 1).join()), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.device.join_by_file("a\0b", 0, 1).join()), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.device.join_by_file("/nowhere/at/all", 0, 1).join()), ErrorKind::NotFound);
    assert_eq!(kind(w.device.join_by_file("/dev/null/group", 0, 1).join()), ErrorKind::Io);
    let error = w.device.join_by_id(&id, 0, 2).timeout(Duration::from_millis(50)).join().unwrap_err();
    assert!(error.kind() == ErrorKind::PeerLost && error.message().contains("rank 1"), "{error}");
    let (api, mut room) = (gpuorch::sys::api().expect("the library"), [0u8; 1]);
    // SAFETY: the buffer has the stated size.
    let status = unsafe { api.peers_make_id.expect("a member")(room.as_mut_ptr().cast(), 1, std::ptr::null_mut()) };
    assert_eq!(status, gpuorch::sys::GPO_BUFFER_TOO_SMALL);
    Ok(())
}

#[test]
fn a_group_of_one_is_joined_by_an_id() -> Result<()> {
    let w = world();
    let made = PeersId::new()?;
    assert_ne!(made, PeersId::new()?);
    let id = PeersId::from_bytes(*made.as_bytes());
    let peers = w.device.join_by_id(&id, 0, 1).label("alone").engine(Engine::Host).check_order().join()?;
    assert_eq!((peers.label()?, peers.ranks(), peers.rank()), ("alone".to_owned(), 1, 0));
    let (x, y) = (w.device.buffer::<f32>(10)?, w.device.buffer::<f32>(10)?);
    w.stream.fill(&x, 2.5)?;
    let all_reduce = Collective::all_reduce(Reduction::Average);
    peers.submit(&all_reduce, &[Part::new(&w.stream, &x, &y)])?.wait()?;
    assert_eq!(w.stream.copy_to_host(&y, vec![0.0; 10])?.wait()?, [2.5; 10]);
    assert_eq!(peers.split(&[0]).build()?.devices().len(), 1);
    peers.abort()?;
    let submitted = peers.submit(&all_reduce, &[Part::new(&w.stream, &x, &y)]);
    assert_eq!(kind(submitted.and_then(|all_reduce| all_reduce.wait())), ErrorKind::Cancelled);
    Ok(())
}

/// Runs `each` on two threads, which stand for processes: two ranks that have joined by a file.
fn joined(name: &str, each: impl Fn(&World, Peers) -> Result<()> + Sync) -> Result<()> {
    let w = world();
    let path = std::env::temp_dir().join(format!("gpuorch-rust-{}-{name}", std::process::id()));
    let rank = |rank: u32| {
        let peers = w.device.join_by_file(&path, rank, 2).engine(Engine::Host).timeout(Duration::from_secs(20));
        let own = World { runtime: w.runtime.clone(), device: w.device.clone(), stream: w.device.stream()? };
        each(&own, peers.join()?)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| rank(1));
        rank(0).and(other.join().expect("no panic"))
    })?;
    assert!(!path.exists());
    Ok(())
}

#[test]
fn ranks_that_joined_by_a_file_sum_and_say_where_they_differ() -> Result<()> {
    joined("sum", |w, peers| {
        let own = peers.rank() + 1;
        let (x, all_reduce) = (w.device.buffer::<u32>(100)?, Collective::all_reduce(Reduction::Sum));
        w.stream.fill(&x, own)?;
        peers.submit(&all_reduce, &[Part::in_place(&w.stream, &x)])?;
        assert_eq!(w.stream.copy_to_host(&x, vec![0; 100])?.wait()?, [3; 100]);
        // The failing stream is a separate one.
        let fails = w.device.stream()?;
        let error = peers.submit(&all_reduce, &[Part::in_place(&fails, x.slice(..50 * own as usize))])?.wait();
        let error = error.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("rank"), "{error}");
        peers.submit(&all_reduce, &[Part::in_place(&w.stream, &x)])?.wait()
    })
}

#[test]
fn a_rank_that_has_gone_is_lost_to_the_other() -> Result<()> {
    joined("lost", |w, peers| {
        if peers.rank() == 1 {
            return Ok(()); // dropped, as if the process had died
        }
        let x = w.device.buffer::<u32>(100)?;
        let submitted = peers.submit(&Collective::broadcast(1), &[Part::receiving(&w.stream, &x)]);
        let error = submitted.and_then(|broadcast| broadcast.wait()).unwrap_err();
        assert!(error.kind() == ErrorKind::PeerLost && error.message().contains("rank 1"), "{error}");
        Ok(())
    })
}

/// In a child process: the library looks for MPI once.
#[test]
fn without_mpi_no_group_is_joined_by_it() -> Result<()> {
    const TEST: &str = "without_mpi_no_group_is_joined_by_it";
    if std::env::var_os("GPUORCH_TEST_CHILD").is_some() {
        let w = world();
        // SAFETY: the program has no MPI.
        let error = unsafe { w.device.join_by_mpi(std::ptr::null_mut()) }.join().unwrap_err();
        assert!(error.kind() == ErrorKind::NotSupported && error.message().contains("/nowhere/mpi"), "{error}");
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", TEST]).env("GPUORCH_TEST_CHILD", "mpi").env("GPUORCH_MPI", "/nowhere/mpi");
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

#[test]
fn symmetric_memory_has_an_address_on_each_device_and_outlives_its_group() -> Result<()> {
    let pair = pair!(symmetric_memory_has_an_address_on_each_device_and_outlives_its_group);
    let memory = pair.peers.symmetric::<u32>(1000).alignment(4096).label("halo").build()?;
    assert_eq!((memory.label()?, memory.len(), memory.is_empty()), ("halo".to_owned(), 1000, false));
    let info = memory.info()?;
    assert_eq!((info.ranks, info.bytes, info.alignment), (2, 4000, 4096), "{info:?}");
    for rank in 0..2 {
        let (address, device) = (memory.address(rank)?, &pair.devices[rank as usize]);
        assert_eq!((address % 4096, memory.on(rank).all().address()), (0, address));
        assert_eq!(device.describe_memory(address)?.device_ordinal, rank as i32);
    }
    assert_eq!(kind(memory.address(2)), ErrorKind::InvalidArgument);
    assert!(std::thread::scope(|scope| scope.spawn(|| memory.on(2)).join().is_err()));
    for refused in [pair.peers.symmetric::<u32>(0), pair.peers.symmetric::<u32>(1).alignment(100)] {
        assert_eq!(kind(refused.build()), ErrorKind::InvalidArgument);
    }
    assert_eq!(kind(memory.reset(1, &pair.streams[0])), ErrorKind::InvalidArgument);
    memory.reset(1, &pair.streams[1])?.wait()?;
    // The memory is zeroed, and can be used in collectives and copies.
    let Pair { streams, peers, .. } = pair;
    streams[0].fill(memory.on(0).slice(1..), 5)?;
    let parts = [Part::in_place(&streams[0], memory.on(0)), Part::in_place(&streams[1], memory.on(1))];
    peers.submit(&Collective::all_reduce(Reduction::Sum), &parts)?;
    drop(peers);
    let host = streams[1].copy_to_host(memory.on(1), vec![9; 1000])?;
    drop(memory);
    let host = host.wait()?;
    assert!(host[0] == 0 && host[1..] == [5; 999]);
    Ok(())
}

/// Each rank writes a number into the other rank's memory, at its own place. After the barrier it adds up the received
/// numbers.
const MEET: &str = r#"
#include <gpuorch/device/peer.cuh>
extern "C" __global__ void meet(gpo::symmetric memory, unsigned number, unsigned *sum, unsigned long long *status) {
    const unsigned other = 1 - memory.rank;
    int status_of = gpo::peer_success;
    if (threadIdx.x == 0) status_of = gpo::put(memory, other, 4 * memory.rank, &number, 4);
    const int met = gpo::barrier(memory, gpo::nanoseconds(20000000000));
    if (threadIdx.x != 0) return;
    *sum = number + gpo::pointer<unsigned>(memory, memory.rank, 0)[other];
    *status = status_of | met;
}
"#;

type Meet = BoundKernel<(Symmetric<u32>, u32, DeviceBuffer<u32>, DeviceBuffer<u64>)>;

#[test]
fn kernels_of_all_ranks_meet() -> Result<()> {
    let pair = pair!(kernels_of_all_ranks_meet);
    let Pair { devices, streams, peers, .. } = &pair;
    let memory = peers.symmetric::<u32>(2).build()?;
    // SAFETY: a gpo::symmetric with room for two numbers on each rank, a number, and two addresses.
    let bind = |device: &Device| -> Result<Meet> { unsafe { device.compile(MEET)?.kernel("meet")?.bind() } };
    let kernels = devices.iter().map(bind).collect::<Result<Vec<_>>>()?;
    let sums = [pair.buffer(0, &[0])?, pair.buffer(1, &[0])?];
    let status = [pair.buffer(0, &[77])?, pair.buffer(1, &[77])?];
    let launch = |rank: usize, shape: &Launch<'static>, number: u32| {
        let arguments = (memory.on(rank as u32), number, &sums[rank], &status[rank]);
        RankLaunch::new(&streams[rank], &kernels[rank], shape, arguments)
    };
    let shape = Launch::new(1, 32).label(c"meet");
    for round in 1..=3 {
        peers.launch(&[launch(0, &shape, round)?, launch(1, &shape, 100 * round)?])?;
        for rank in 0..2 {
            assert_eq!(pair.read(rank, &sums[rank])?, [101 * round]);
            assert_eq!(pair.read(rank, &status[rank])?, [0]);
        }
    }
    let too_many = launch(1, &Launch::new(1 << 20, 32), 1)?;
    let error = peers.launch(&[launch(0, &shape, 1)?, too_many]).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::LimitExceeded && error.message().contains("rank 1"), "{error}");
    assert_eq!(kind(peers.launch(&[launch(0, &shape, 1)?])), ErrorKind::InvalidArgument);
    // A rank's memory is for that rank's kernels.
    let arguments = (memory.on(1), 1, &sums[0], &status[0]);
    let error = RankLaunch::new(&streams[0], &kernels[0], &shape, arguments).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("rank 1 is for kernels"), "{error}");
    let other = world();
    let arguments = (memory.on(0), 1, &sums[0], &status[0]);
    assert_eq!(kind(kernels[0].launch(&other.stream, &shape, arguments)), ErrorKind::InvalidArgument);
    Ok::<_, Error>(())
}
