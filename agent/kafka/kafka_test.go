package kafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/agent"
	"github.com/dendroprof/dendro/agent/internal/servertest"
	"github.com/dendroprof/dendro/agent/kafka"
)

// TestReport profiles a segment: everything but the task goes through Kafka.
func TestReport(t *testing.T) {
	topics := []string{"test-skywalking-segments", "test-skywalking-profilings", "test-skywalking-managements"}
	brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topics...))
	if err != nil {
		t.Fatal(err)
	}
	defer brokers.Close()
	k, err := kafka.New(kafka.Options{Namespace: "test"}, kgo.SeedBrokers(brokers.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	s := servertest.New(t, nil)
	stop, err := agent.Start(agent.Options{Service: "shop", Instance: "one", Server: s.Addr, Interval: 50 * time.Millisecond, Budget: 1,
		Send: k.Send})
	if err != nil {
		t.Fatal(err)
	}
	s.Order(servertest.Poll, servertest.Task("t1", "checkout"))
	s.Until("the task is delivered", func(seen servertest.Seen) bool {
		return len(seen.Polls) > 0 && seen.Polls[len(seen.Polls)-1].LastCommandTime > 0
	})
	agent.Segment(t.Context(), "checkout", func(context.Context) error { time.Sleep(time.Second); return nil })
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
	seen := s.Seen()
	if len(seen.Finished) != 1 || len(seen.Segments)+len(seen.Snapshots)+len(seen.Instances) > 0 {
		t.Errorf("over gRPC came %+v", seen)
	}

	consumer, err := kgo.NewClient(kgo.SeedBrokers(brokers.ListenAddrs()...), kgo.ConsumeTopics(topics...))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	segment, instances, snapshots := &agentv3.SegmentObject{}, 0, 0
	parse := func(r *kgo.Record, m proto.Message) {
		if err := proto.Unmarshal(r.Value, m); err != nil {
			t.Errorf("%s: %v", r.Topic, err)
		}
	}
	for segment.TraceSegmentId == "" || instances == 0 || snapshots == 0 {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%v; %d instances, %d snapshots", err, instances, snapshots)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			key := string(r.Key)
			switch strings.TrimPrefix(r.Topic, "test-skywalking-") {
			case "segments":
				if parse(r, segment); key != segment.TraceSegmentId {
					t.Errorf("key %q of segment %s", key, segment.TraceSegmentId)
				}
			case "profilings":
				m := &profilev3.ThreadSnapshot{}
				if parse(r, m); !strings.HasPrefix(key, "t1") || m.TaskId != "t1" {
					t.Errorf("key %q of snapshot %v", key, m)
				}
				snapshots++
			case "managements":
				m := &managementv3.InstanceProperties{}
				if parse(r, m); key != "register-one" || m.Service != "shop" {
					t.Errorf("key %q of instance %v", key, m)
				}
				instances++
			}
		})
	}
}

// TestNoBroker wants an error when nobody answers, and no waiting without end.
func TestNoBroker(t *testing.T) {
	k, err := kafka.New(kafka.Options{}, kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := k.Send(ctx, []agent.Record{{Topic: "a", Key: "b"}}); err == nil ||
		!strings.HasPrefix(err.Error(), "agent/kafka: producing 1 records") {
		t.Error(err)
	}
	if _, err := kafka.New(kafka.Options{}, kgo.SeedBrokers()); err == nil {
		t.Error("no broker is no error")
	}
}
