package skywalking_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// The benchmarks run the server in this process and the agents in another one, so
// that what the server costs can be told: `server-us/op` and `%core` are its CPU
// time, in user and kernel. `go test -bench . -benchtime 300000x` of the first
// sends as many snapshots; the second is for -benchtime 1x.

// load tells the other process, which is this program again, what to play.
const load = "DENDRO_BENCH_LOAD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(load); spec != "" {
		if err := play(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// play is the other process: "snapshots ADDRESS COUNT" or "agents ADDRESS COUNT
// SECONDS KIND".
func play(spec string) error {
	f := strings.Fields(spec)
	count, err := strconv.Atoi(f[2])
	if err != nil {
		return err
	}
	if f[0] == "snapshots" {
		return playSnapshots(f[1], count)
	}
	seconds, err := strconv.Atoi(f[3])
	if err != nil {
		return err
	}
	return playAgents(f[1], count, seconds, f[4])
}

// What is sent: streams of 30 snapshots of 60 frames, of 20 tasks with 500
// distinct stacks each, which share their outer frames as real ones do.
const (
	perStream  = 30
	streams    = 512 // at a time: each waits for a commit
	frames     = 60
	benchTasks = 20
	distinct   = 500
)

func benchStacks() [][]byte {
	stacks := make([][]byte, distinct)
	for i := range stacks {
		var b []byte
		for f := range frames {
			fn := f
			if f >= frames/2 {
				fn = f*31 + i%(f*8)
			}
			b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType),
				fmt.Sprintf("org.example.shop.service.Checkout%d.handle:%d", fn%97, fn))
		}
		stacks[i] = b
	}
	return stacks
}

func dialBench(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{})))
}

func playSnapshots(address string, count int) error {
	stacks := benchStacks()
	fmt.Println("ready")
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wait sync.WaitGroup
	for range 8 {
		conn, err := dialBench(address)
		if err != nil {
			return err
		}
		defer conn.Close()
		for range streams / 8 {
			wait.Go(func() {
				for failed.Load() == nil {
					stream := int(next.Add(1)) - 1
					if stream*perStream >= count {
						return
					}
					if err := sendStream(conn, stacks, stream, min(perStream, count-stream*perStream)); err != nil {
						failed.Store(&err)
					}
				}
			})
		}
	}
	wait.Wait()
	fmt.Println("done")
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func sendStream(conn *grpc.ClientConn, stacks [][]byte, number, count int) error {
	s, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true}, collectSnapshot)
	if err != nil {
		return err
	}
	task, segment := fmt.Sprintf("1700000000%03d_c2hvcA==.1", number%benchTasks),
		fmt.Sprintf("f26ef21ccee943d1806c12cf54948c00.57.%017d", number)
	now := time.Now().UnixMilli()
	for i := range count {
		// A thread stays where it is for some dumps.
		stack := stacks[(number*7+i/4)%len(stacks)]
		b := make([]byte, 0, len(stack)+128) // the transport keeps it
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), task)
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), segment)
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(now+int64(10*i)))
		b = protowire.AppendVarint(protowire.AppendTag(b, 4, protowire.VarintType), uint64(i))
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), stack)
		if err := s.SendMsg(&b); err != nil {
			return fmt.Errorf("%w, %w", err, s.RecvMsg(new(commonv3.Commands)))
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	return s.RecvMsg(new(commonv3.Commands))
}

// playAgents plays agents that each have a connection and report once a second:
// polls, and with kind "all" keep-alives and metrics.
func playAgents(address string, count, seconds int, kind string) error {
	reports := map[string]func(service, instance string) proto.Message{
		"/skywalking.v3.ProfileTask/getProfileTaskCommands": func(s, i string) proto.Message {
			return &profilev3.ProfileTaskCommandQuery{Service: s, ServiceInstance: i, LastCommandTime: -1}
		},
	}
	metrics, err := recordedMetrics()
	if err != nil {
		return err
	}
	if kind == "all" {
		reports["/skywalking.v3.ManagementService/keepAlive"] = func(s, i string) proto.Message {
			return &managementv3.InstancePingPkg{Service: s, ServiceInstance: i}
		}
	}
	agents := make([][]func() error, count) // their reports
	for agent := range agents {
		conn, err := dialBench(address)
		if err != nil {
			return err
		}
		defer conn.Close()
		service, instance := fmt.Sprintf("service-%d", agent%50), fmt.Sprintf("instance-%d", agent)
		for method, message := range reports {
			m := message(service, instance)
			agents[agent] = append(agents[agent], func() error { return conn.Invoke(context.Background(), method, m, new(commonv3.Commands)) })
		}
		if kind == "all" {
			raw := append([]byte(nil), metrics...)
			raw = protowire.AppendString(protowire.AppendTag(raw, 2, protowire.BytesType), service)
			raw = protowire.AppendString(protowire.AppendTag(raw, 3, protowire.BytesType), instance)
			agents[agent] = append(agents[agent], func() error {
				return conn.Invoke(context.Background(), "/skywalking.v3.JVMMetricReportService/collect", &raw, new(commonv3.Commands))
			})
		}
		if err := agents[agent][0](); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	var wait sync.WaitGroup
	var failed atomic.Pointer[error]
	for agent, calls := range agents {
		wait.Go(func() {
			time.Sleep(time.Duration(agent) * time.Second / time.Duration(count))
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for range seconds {
				for _, call := range calls {
					if err := call(); err != nil {
						failed.Store(&err)
					}
				}
				<-tick.C
			}
		})
	}
	wait.Wait()
	fmt.Println("done")
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// recordedMetrics returns what a real agent reports of its JVM in a second.
func recordedMetrics() ([]byte, error) {
	events, err := readRecording("java-agent")
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if e.Ev == "msg" && strings.HasSuffix(e.Method, "JVMMetricReportService/collect") {
			return e.Raw, nil
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// serveBench serves a store and returns the address.
func serveBench(b *testing.B, st traceprof.Store) string {
	b.Helper()
	intake := traceprof.NewIntake(st, traceprof.IntakeOptions{})
	agents := skywalking.New(skywalking.Options{Store: st, Intake: intake,
		Dispatcher: traceprof.NewDispatcher(st, traceprof.DispatcherOptions{})})
	s, err := server.New(server.Options{GRPCListen: "127.0.0.1:0"}, agents.Part())
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := intake.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return s.GRPCAddr()
}

// measure lets the other process play and returns the CPU time of this one from
// when the other says that it is ready until it says that it is done.
func measure(b *testing.B, spec string) (cpu, wall time.Duration) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), load+"="+spec)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var began time.Time
	var before time.Duration
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "ready":
			b.ResetTimer()
			began, before = time.Now(), cpuTime(b)
		case "done":
			b.StopTimer()
			cpu, wall = cpuTime(b)-before, time.Since(began)
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/float64(b.N), "client-us/op")
	return cpu, wall
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func stores(b *testing.B, run func(b *testing.B, st traceprof.Store)) {
	b.Run("store=mem", func(b *testing.B) { run(b, mem.New()) })
	b.Run("store=duckdb", func(b *testing.B) {
		st, err := duckdb.Open(b.Context(), filepath.Join(b.TempDir(), "bench.duckdb"), duckdb.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { st.Close() })
		run(b, st)
	})
}

// BenchmarkSnapshots sends snapshots in streams of 30, each stream answered when
// they are durable.
func BenchmarkSnapshots(b *testing.B) {
	stores(b, func(b *testing.B, st traceprof.Store) {
		address := serveBench(b, st)
		cpu, wall := measure(b, fmt.Sprintf("snapshots %s %d", address, b.N))
		b.ReportMetric(float64(b.N)/wall.Seconds(), "snapshots/s")
		b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "server-us/op")
	})
}

// BenchmarkAgents lets 1,000 agents report every second for ten seconds.
func BenchmarkAgents(b *testing.B) {
	const seconds = 10
	for _, kind := range []string{"all", "polls"} {
		b.Run("reports="+kind, func(b *testing.B) {
			stores(b, func(b *testing.B, st traceprof.Store) {
				address := serveBench(b, st)
				for range b.N {
					cpu, _ := measure(b, fmt.Sprintf("agents %s 1000 %d %s", address, seconds, kind))
					b.ReportMetric(100*cpu.Seconds()/seconds, "%core")
				}
			})
		})
	}
}
