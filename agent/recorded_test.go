package agent_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/agent"
	"github.com/dendroprof/dendro/agent/internal/servertest"
)

// messages are the types that agents send, by method.
var messages = map[string]proto.Message{
	servertest.Poll: &profilev3.ProfileTaskCommandQuery{}, servertest.Snapshots: &profilev3.ThreadSnapshot{},
	servertest.Segments: &agentv3.SegmentObject{}, servertest.Register: &managementv3.InstanceProperties{},
}

// recorded is what real agents sent and were told.
type recorded struct {
	messages map[string][]proto.Message
	task     map[string]string
}

// recordings reads what the tests of the server replay.
func recordings(t *testing.T) recorded {
	t.Helper()
	if _, err := os.Stat("../app"); err != nil {
		t.Skip("only in Dendro's repository: ", err)
	}
	r := recorded{messages: map[string][]proto.Message{}}
	for _, name := range []string{"java-agent", "python-agent"} {
		f, err := os.Open(filepath.Join("..", "app", "internal", "server", "skywalking", "testdata", name+".jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e struct {
				Ev, Method string
				Raw        []byte
				Commands   []struct {
					Command string
					Args    [][2]string
				}
			}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			if kind := messages[e.Method]; kind != nil && e.Ev == "msg" {
				m := kind.ProtoReflect().New().Interface()
				if err := proto.Unmarshal(e.Raw, m); err != nil {
					t.Fatal(err)
				}
				r.messages[e.Method] = append(r.messages[e.Method], m)
			}
			for _, c := range e.Commands {
				if c.Command == "ProfileTaskQuery" && r.task == nil {
					r.task = map[string]string{}
					for _, a := range c.Args {
						r.task[a[0]] = a[1]
					}
				}
			}
		}
	}
	return r
}

// fields counts the messages in which each field is set, nested ones under a path.
func fields(list []proto.Message) (set map[string]int, n map[string]int) {
	set, n = map[string]int{}, map[string]int{}
	var walk func(path string, m protoreflect.Message)
	walk = func(path string, m protoreflect.Message) {
		n[path]++
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			name := path + "." + string(f.Name())
			set[name]++
			switch {
			case f.IsList() && f.Kind() == protoreflect.MessageKind:
				for i := range v.List().Len() {
					walk(name, v.List().Get(i).Message())
				}
			case f.Kind() == protoreflect.MessageKind:
				walk(name, v.Message())
			}
			return true
		})
	}
	for _, m := range list {
		walk("", m.ProtoReflect())
	}
	return set, n
}

// TestRecorded gives the agent the very task that real agents were given, and wants
// messages with the fields that real agents always set, and no others than they do.
func TestRecorded(t *testing.T) {
	r := recordings(t)
	s := servertest.New(t, nil)
	stop := start(t, s, agent.Options{})
	task := r.task
	task["StartTime"] = fmt.Sprint(time.Now().UnixMilli()) // it ran in the past
	running(t, s, task)
	agent.Entry(t.Context(), agent.Call{Operation: task["EndpointName"], Component: 1, Layer: 3}, func(ctx context.Context) error {
		done := make(chan struct{})
		agent.Go(ctx, func(context.Context) { sampled(s, 2); close(done) })
		sampled(s, 2)
		<-done
		return nil
	})
	stop()
	seen := s.Seen()
	ours := map[string][]proto.Message{}
	for _, m := range seen.Polls {
		ours[servertest.Poll] = append(ours[servertest.Poll], m)
	}
	for _, m := range seen.Segments {
		ours[servertest.Segments] = append(ours[servertest.Segments], m)
	}
	for _, m := range seen.Instances {
		ours[servertest.Register] = append(ours[servertest.Register], m)
	}
	for _, list := range seen.Snapshots {
		for _, m := range list {
			ours[servertest.Snapshots] = append(ours[servertest.Snapshots], m)
		}
	}
	if len(ours) != len(messages) {
		t.Errorf("the agent called %d of %d methods", len(ours), len(messages))
	}
	for method, list := range ours {
		theirs := r.messages[method]
		if len(theirs) == 0 {
			t.Errorf("no agent calls %s", method)
		}
		want, all := fields(theirs)
		got, n := fields(list)
		parent := func(field string) string { return field[:len(field)-len(filepath.Ext(field))] }
		for field, times := range want {
			if p := parent(field); times == all[p] && got[field] < n[p] {
				t.Errorf("%s: real agents always set %s, we in %d of %d messages", method, field, got[field], n[p])
			}
		}
		for field := range got {
			if want[field] == 0 && field != ".layer" {
				t.Errorf("%s: no real agent sets %s", method, field)
			}
		}
	}
}
