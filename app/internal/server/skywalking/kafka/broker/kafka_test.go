package kafka_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/app/internal/server/brokers"
	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/kafka"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/broker"
	"github.com/dendroprof/dendro/traceprof"
)

const (
	namespace = "shop"
	prefix    = namespace + "-skywalking-"
)

// records returns what a real Java agent sent, as its Kafka reporter sends it, and
// what of it a server is to hold: the sequences of each segment's snapshots, and
// the segments.
func records(t *testing.T) (list []*kgo.Record, snapshots map[string][]int32, segments []string) {
	t.Helper()
	f, err := os.Open("../../testdata/java-agent.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	snapshots = map[string][]int32{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Ev, Method string
			Raw        []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Ev != "msg" {
			continue
		}
		r := &kgo.Record{Value: e.Raw}
		switch e.Method {
		case "/skywalking.v3.ProfileTask/collectSnapshot":
			m := new(profilev3.ThreadSnapshot)
			decode(t, e.Raw, m)
			r.Topic, r.Key = prefix+"profilings", fmt.Append(nil, m.GetTaskId(), m.GetSequence())
			snapshots[m.GetTraceSegmentId()] = append(snapshots[m.GetTraceSegmentId()], m.GetSequence())
		case "/skywalking.v3.TraceSegmentReportService/collect":
			m := new(agentv3.SegmentObject)
			decode(t, e.Raw, m)
			r.Topic, r.Key = prefix+"segments", []byte(m.GetTraceSegmentId())
			segments = append(segments, m.GetTraceSegmentId())
		case "/skywalking.v3.ManagementService/reportInstanceProperties":
			r.Topic, r.Key = prefix+"managements", []byte("register-shop-1")
		case "/skywalking.v3.ManagementService/keepAlive":
			r.Topic, r.Key = prefix+"managements", []byte("shop-1")
		case "/skywalking.v3.JVMMetricReportService/collect":
			r.Topic, r.Key = prefix+"metrics", []byte("shop-1")
		default:
			continue
		}
		list = append(list, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range snapshots {
		slices.Sort(s)
	}
	slices.Sort(segments)
	return list, snapshots, segments
}

func decode(t *testing.T, raw []byte, m proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
}

// serve runs a server's fetcher over a store until end is called.
func serve(t *testing.T, b *broker.Broker, st traceprof.Store) (end func()) {
	t.Helper()
	intake := traceprof.NewIntake(st, traceprof.IntakeOptions{})
	agents := skywalking.New(skywalking.Options{Store: st, Intake: intake,
		Dispatcher: traceprof.NewDispatcher(st, traceprof.DispatcherOptions{})})
	fetcher, err := kafka.New(agents, kafka.Options{Options: brokers.Options{Addresses: []string{b.Address}}, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	for _, run := range []func(context.Context) error{fetcher.Part().Run, agents.Run} {
		work.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	end = sync.OnceFunc(func() {
		cancel()
		work.Wait()
		if err := intake.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("it did not happen: %s", what)
}

// held returns what a store has in the form of records.
func held(t *testing.T, st traceprof.Store) (snapshots map[string][]int32, segments []string) {
	t.Helper()
	snapshots = map[string][]int32{}
	for s, err := range st.Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		snapshots[s.Segment] = s.Sequence
	}
	list, err := st.Segments(t.Context(), traceprof.SegmentQuery{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		segments = append(segments, s.ID)
	}
	slices.Sort(segments)
	return snapshots, segments
}

// TestRealKafka sends what an agent sent through Kafka to two servers over one
// store. Half way one of the servers goes, and the broker is killed and started
// again.
func TestRealKafka(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") != "1" {
		t.Skip("needs Java and Maven; set DENDRO_TEST_REAL=1 to run a real Kafka")
	}
	b := broker.New(t)
	st := mem.New()
	end := serve(t, b, st)
	serve(t, b, st)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address), kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	eventually(t, "all topics exist", func() bool {
		topics, err := admin.ListTopics(t.Context())
		return err == nil && len(slices.DeleteFunc(topics.Names(), func(n string) bool { return !strings.HasPrefix(n, prefix) })) == 8
	})
	list, wantSnapshots, wantSegments := records(t)
	half := len(list) / 2
	if err := client.ProduceSync(t.Context(), list[:half]...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "something of the first half is stored", func() bool { _, segments := held(t, st); return len(segments) > 0 })
	b.End(t, syscall.SIGKILL)
	b.Start(t)
	end()
	if err := client.ProduceSync(t.Context(), list[half:]...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	same := func(a, b map[string][]int32) bool {
		if len(a) != len(b) {
			return false
		}
		for k := range a {
			if !slices.Equal(a[k], b[k]) {
				return false
			}
		}
		return true
	}
	eventually(t, "all is stored", func() bool {
		snapshots, segments := held(t, st)
		return same(snapshots, wantSnapshots) && slices.Equal(segments, wantSegments)
	})
	eventually(t, "the instance is stored with its properties", func() bool {
		instances, err := st.Instances(t.Context(), "shop-java", 0)
		return err == nil && len(instances) == 1 && instances[0].Language == "java"
	})
	eventually(t, "all offsets are committed", func() bool {
		lags, err := admin.Lag(t.Context(), "dendro")
		if err != nil {
			return false
		}
		lag := lags["dendro"]
		return lag.Error() == nil && lag.Lag.Total() == 0
	})
}
