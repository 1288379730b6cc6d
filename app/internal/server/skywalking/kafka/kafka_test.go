package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"google.golang.org/protobuf/proto"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/brokers"
	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/kafka"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/peer"
	"github.com/dendroprof/dendro/traceprof"
)

// cluster is a Kafka of one process, a store, and a client that plays the agents.
type cluster struct {
	*testing.T
	ctx     context.Context
	brokers []string
	store   *faulty
	client  *kgo.Client
	admin   *kadm.Client
}

type faulty struct {
	*mem.Store
	broken atomic.Bool
}

func (f *faulty) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	if f.broken.Load() {
		return errors.New("the disk is on fire")
	}
	return f.Store.PutSnapshots(ctx, list...)
}

func newCluster(t *testing.T) *cluster { return clusterOf(t, nil) }

// clusterOf starts a cluster to which the agents connect in a way; topics are those of test/peers/kafka.
func clusterOf(t *testing.T, connect []kgo.Opt, topics ...string) *cluster {
	t.Helper()
	c := &cluster{T: t, ctx: t.Context(), store: &faulty{Store: mem.New()}}
	c.brokers = strings.Split(peer.Start(t, "kafka", topics...).Ready, ",")
	var err error
	if c.client, err = kgo.NewClient(append(connect, kgo.SeedBrokers(c.brokers...))...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.admin = kadm.NewClient(c.client)
	return c
}

// running is a fetcher at work.
type running struct {
	part server.Part
	end  func() // ends it and waits
}

// start starts a server's fetcher over the cluster's store.
func (c *cluster) start(o kafka.Options) *running {
	c.Helper()
	intake := traceprof.NewIntake(c.store, traceprof.IntakeOptions{MaxDelay: time.Millisecond})
	agents := skywalking.New(skywalking.Options{Store: c.store, Intake: intake,
		Dispatcher: traceprof.NewDispatcher(c.store, traceprof.DispatcherOptions{})})
	o.Addresses = c.brokers
	f, err := kafka.New(agents, o)
	if err != nil {
		c.Fatal(err)
	}
	r := &running{part: f.Part()}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	for _, run := range []func(context.Context) error{r.part.Run, agents.Run} {
		work.Go(func() {
			if err := run(ctx); err != nil {
				c.Errorf("it ended with %v", err)
			}
		})
	}
	r.end = sync.OnceFunc(func() {
		cancel()
		work.Wait()
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		if err := intake.Close(ctx); err != nil {
			c.Errorf("closing the intake: %v", err)
		}
	})
	c.Cleanup(r.end)
	return r
}

// produce sends records of one topic and waits until the brokers have them.
func (c *cluster) produce(topic string, records ...*kgo.Record) {
	c.Helper()
	for _, r := range records {
		r.Topic = topic
	}
	if err := c.client.ProduceSync(c.ctx, records...).FirstErr(); err != nil {
		c.Fatal(err)
	}
}

func record(t *testing.T, key string, m proto.Message) *kgo.Record {
	t.Helper()
	value, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return &kgo.Record{Key: []byte(key), Value: value}
}

// snapshots returns records of snapshots as the Java agent keys them.
func (c *cluster) snapshots(task, segment string, from, to int32) (list []*kgo.Record) {
	for i := from; i < to; i++ {
		list = append(list, record(c.T, fmt.Sprint(task, i), &profilev3.ThreadSnapshot{TaskId: task, TraceSegmentId: segment, Sequence: i,
			Time: int64(1000 + 10*i), Stack: &profilev3.ThreadStack{CodeSignatures: []string{"main:1", fmt.Sprintf("f:%d", i%3)}}}))
	}
	return list
}

// held returns the sequences of a segment.
func (c *cluster) held(task, segment string) []int32 {
	c.Helper()
	for s, err := range c.store.Snapshots(c.ctx, traceprof.SnapshotQuery{Tasks: []string{task}, Segments: []string{segment}}) {
		if err != nil {
			c.Fatal(err)
		}
		return s.Sequence
	}
	return nil
}

func upTo(n int32) (list []int32) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// committed returns how many records of a topic the group has committed.
func (c *cluster) committed(group, topic string) (n int64) {
	c.Helper()
	offsets, err := c.admin.FetchOffsets(c.ctx, group)
	if err != nil {
		c.Fatal(err)
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic {
			n += o.At
		}
	})
	return n
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 1500 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it did not happen: %s", what)
}

// topicsExist waits for the topics and returns their names.
func (c *cluster) topicsExist(prefix string) []string {
	c.Helper()
	var names []string
	eventually(c.T, "the topics exist", func() bool {
		list, err := c.admin.ListTopics(c.ctx)
		if err != nil {
			return false
		}
		names = slices.DeleteFunc(list.Names(), func(n string) bool { return !strings.HasPrefix(n, prefix+"skywalking-") })
		return len(names) == 8
	})
	return names
}

// count returns a number of the fetcher's metrics.
func (r *running) count(t *testing.T, topic, outcome string) (n float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r.part.Metrics...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "dendro_kafka_records_total" && label(m, "topic") == topic && label(m, "outcome") == outcome {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// allTopics returns the names of the topics, in order.
func allTopics(prefix string) []string {
	list := []string{"logging", "logs", "logs-json", "managements", "meters", "metrics", "profilings", "segments"}
	for i := range list {
		list[i] = prefix + list[i]
	}
	return list
}

// TestTopics: every topic exists, and what each brings is processed or dropped.
func TestTopics(t *testing.T) {
	c := newCluster(t)
	r := c.start(kafka.Options{Alias: "west", Separator: ".", Namespace: "prod"})
	const prefix = "west.prod-skywalking-"
	if diff := cmp.Diff(allTopics(prefix), c.topicsExist("west.prod-")); diff != "" {
		t.Fatal(diff)
	}
	c.produce(prefix+"profilings", c.snapshots("t", "s", 0, 30)...)
	c.produce(prefix+"segments", record(t, "s", &agentv3.SegmentObject{TraceId: "trace", TraceSegmentId: "s", Service: "shop",
		ServiceInstance: "shop-1",
		Spans:           []*agentv3.SpanObject{{OperationName: "/buy", StartTime: 1, EndTime: 2}}}))
	c.produce(prefix+"managements",
		record(t, "register-shop-2", &managementv3.InstanceProperties{Service: "shop", ServiceInstance: "shop-2",
			Properties: []*commonv3.KeyStringValuePair{{Key: "language", Value: "java"}}}),
		record(t, "shop-3", &managementv3.InstancePingPkg{Service: "shop", ServiceInstance: "shop-3"}))
	c.produce(prefix+"metrics", record(t, "shop-4", &agentv3.JVMMetricCollection{Service: "shop", ServiceInstance: "shop-4"}))
	for _, topic := range []string{"meters", "logs", "logging", "logs-json"} {
		c.produce(prefix+topic, &kgo.Record{Value: []byte("whatever")})
	}
	eventually(t, "the snapshots are stored", func() bool { return len(c.held("t", "s")) == 30 })
	if diff := cmp.Diff(upTo(30), c.held("t", "s")); diff != "" {
		t.Error(diff)
	}
	eventually(t, "the instances are stored", func() bool {
		list, err := c.store.Instances(c.ctx, "shop", 0)
		return err == nil && len(list) == 4 && list[1].Language == "java"
	})
	eventually(t, "the rest is counted", func() bool {
		for _, topic := range []string{"meters", "logs", "logging", "logs-json"} {
			if r.count(t, prefix+topic, "dropped") != 1 {
				return false
			}
		}
		return r.count(t, prefix+"profilings", "processed") == 30 && c.committed("dendro", prefix+"profilings") == 30
	})
	if list, err := c.store.Segments(c.ctx, traceprof.SegmentQuery{}); err != nil || len(list) != 1 || list[0].Endpoint != "/buy" {
		t.Errorf("segments %+v %v", list, err)
	}
	if err := r.part.Ready(c.ctx); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// TestTopicsOfOthers: topics that are there are read by who may not create any.
func TestTopicsOfOthers(t *testing.T) {
	c := clusterOf(t, []kgo.Opt{kgo.SASL(plain.Auth{User: "root", Pass: "secret"}.AsMechanism())}, allTopics("skywalking-")...)
	r := c.start(kafka.Options{Options: brokers.Options{User: "reader", Password: "public"}})
	c.produce("skywalking-profilings", c.snapshots("t", "s", 0, 3)...)
	eventually(t, "the snapshots are stored", func() bool { return len(c.held("t", "s")) == 3 })
	if err := r.part.Ready(c.ctx); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// TestPoison: what cannot be understood is counted and skipped.
func TestPoison(t *testing.T) {
	c := newCluster(t)
	r := c.start(kafka.Options{})
	c.topicsExist("")
	for _, topic := range []string{"skywalking-profilings", "skywalking-segments", "skywalking-managements", "skywalking-metrics"} {
		c.produce(topic, &kgo.Record{Key: []byte("k"), Value: []byte("\x0a\xffgarbage")})
	}
	broken := c.snapshots("t", "s", 0, 1)[0]
	broken.Value = append(broken.Value, 5<<3|2, 3, 1<<3|2, 9, 0) // a stack that is cut
	c.produce("skywalking-profilings", broken)
	c.produce("skywalking-profilings", c.snapshots("t", "s", 0, 3)...)
	eventually(t, "the good ones are stored", func() bool { return len(c.held("t", "s")) == 3 })
	eventually(t, "the bad ones are counted", func() bool {
		return r.count(t, "skywalking-profilings", "poison") == 2 && r.count(t, "skywalking-segments", "poison") == 1 &&
			r.count(t, "skywalking-managements", "poison") == 1 && r.count(t, "skywalking-metrics", "poison") == 1
	})
	if got := c.committed("dendro", "skywalking-profilings"); got != 5 {
		t.Errorf("%d records committed", got)
	}
}

// TestOffsetsWaitForTheStore: nothing is committed that is not stored, and it is
// stored as soon as the store works again.
func TestOffsetsWaitForTheStore(t *testing.T) {
	c := newCluster(t)
	r := c.start(kafka.Options{Group: "g"})
	c.topicsExist("")
	c.produce("skywalking-profilings", c.snapshots("t", "first", 0, 10)...)
	eventually(t, "the first are committed", func() bool { return c.committed("g", "skywalking-profilings") == 10 })
	c.store.broken.Store(true)
	c.produce("skywalking-profilings", c.snapshots("t", "second", 0, 10)...)
	eventually(t, "the fetcher is not ready", func() bool { return r.part.Ready(c.ctx) != nil })
	if got := c.committed("g", "skywalking-profilings"); got != 10 || c.held("t", "second") != nil {
		t.Errorf("%d committed while the store fails", got)
	}
	c.store.broken.Store(false)
	eventually(t, "the second are committed", func() bool { return c.committed("g", "skywalking-profilings") == 20 })
	if got := len(c.held("t", "second")); got != 10 {
		t.Errorf("%d snapshots committed and stored", got)
	}
	// One that is killed while the store fails has committed nothing: the next one
	// reads it all.
	c.store.broken.Store(true)
	c.produce("skywalking-profilings", c.snapshots("t", "third", 0, 10)...)
	eventually(t, "the fetcher is not ready", func() bool { return r.part.Ready(c.ctx) != nil })
	c.store.broken.Store(false)
	r.end()
	c.start(kafka.Options{Group: "g"})
	eventually(t, "the third are stored", func() bool { return len(c.held("t", "third")) == 10 })
}

// TestServersShare: two servers read the partitions of one group, and when one
// ends the other reads all of them.
func TestServersShare(t *testing.T) {
	c := newCluster(t)
	one := c.start(kafka.Options{Group: "g"})
	two := c.start(kafka.Options{Group: "g"})
	c.topicsExist("")
	sent := int32(0)
	both := func() bool {
		return one.count(t, "skywalking-profilings", "processed") > 0 && two.count(t, "skywalking-profilings", "processed") > 0
	}
	for range 100 {
		c.produce("skywalking-profilings", c.snapshots("t", "s", sent, sent+50)...)
		if sent += 50; both() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !both() {
		t.Fatal("one server has read everything")
	}
	one.end()
	c.produce("skywalking-profilings", c.snapshots("t", "s", sent, sent+200)...)
	sent += 200
	eventually(t, "all snapshots are stored", func() bool { return len(c.held("t", "s")) == int(sent) })
	if !slices.Equal(c.held("t", "s"), upTo(sent)) {
		t.Error("the sequences are not those that were sent")
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		o    kafka.Options
		want string
	}{
		{kafka.Options{}, "no broker"},
		{kafka.Options{Options: brokers.Options{Addresses: []string{"x:1", " "}}}, "broker 2 is empty"},
		{kafka.Options{Options: brokers.Options{Addresses: []string{"x:1"}, User: "u"}}, "--kafka-password-file"},
		{kafka.Options{Options: brokers.Options{Addresses: []string{"x:1"}, Password: "p"}}, "--kafka-user"},
		{kafka.Options{Options: brokers.Options{Addresses: []string{"x:1"}, User: "u", Password: "p", Mechanism: "magic"}}, "no SASL mechanism"},
	} {
		if _, err := kafka.New(skywalking.New(skywalking.Options{}), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
	for _, mechanism := range []string{"", "plain", "scram-sha-256", "scram-sha-512"} {
		if _, err := kafka.New(skywalking.New(skywalking.Options{}),
			kafka.Options{Options: brokers.Options{Addresses: []string{"x:1"}, TLS: true, User: "u", Password: "p",
				Mechanism: mechanism}}); err != nil {
			t.Errorf("%q: %v", mechanism, err)
		}
	}
}

// TestNoBroker: a broker that is not there is waited for, and it is said.
func TestNoBroker(t *testing.T) {
	c := newCluster(t)
	c.brokers = []string{"127.0.0.1:1"}
	r := c.start(kafka.Options{})
	eventually(t, "it says so", func() bool { return r.part.Ready(c.ctx) != nil })
	r.end()
}
