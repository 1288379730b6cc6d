package agents

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
)

// tap passes the bytes between agents and a server on as they are, and keeps the snapshots among
// them: what a busy machine let an agent see is then known, whatever the server makes of it.
type tap struct {
	server string
	in     net.Listener
	all    sync.WaitGroup

	mu   sync.Mutex
	sent map[string]map[int32]dump // by segment and number: agents may send one twice
	err  error                     // why something was not understood
}

// dump is what an agent sent of a stack.
type dump struct {
	number int32
	time   int64    // ms, from before the stack was taken
	stack  []string // outermost first
}

// newTap returns a tap of a server's gRPC address, which ends with the test.
func newTap(t *testing.T, server string) *tap {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{server: server, in: in, sent: map[string]map[int32]dump{}}
	p.all.Go(func() {
		for {
			agent, err := in.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.pass(agent) })
		}
	})
	t.Cleanup(func() { // after the agent has ended, and so its connections
		in.Close()
		p.all.Wait()
		if p.err != nil {
			t.Error(p.err)
		}
	})
	return p
}

func (t *tap) pass(agent net.Conn) {
	defer agent.Close()
	server, err := net.Dial("tcp", t.server)
	if err != nil {
		return // as a server that is not there
	}
	defer server.Close()
	tee, write := io.Pipe()
	t.all.Go(func() {
		if err := t.read(tee); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.err = errors.Join(t.err, err)
		}
		io.Copy(io.Discard, tee) //nolint:errcheck // the agent's connection goes on
	})
	t.all.Go(func() {
		io.Copy(agent, server) //nolint:errcheck // an end is an end
		agent.Close()
	})
	io.Copy(server, io.TeeReader(agent, write)) //nolint:errcheck // an end is an end
	write.Close()
}

// read reads what an agent sends over a connection.
func (t *tap) read(connection io.Reader) error {
	if _, err := io.CopyN(io.Discard, connection, int64(len(http2.ClientPreface))); err != nil {
		return nil // nothing was sent
	}
	frames := http2.NewFramer(io.Discard, connection)
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	rest := map[uint32]*bytes.Buffer{} // of the streams of snapshots: what is no whole message yet
	for {
		frame, err := frames.ReadFrame()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if strings.HasSuffix(f.PseudoValue("path"), "/collectSnapshot") {
				rest[f.StreamID] = new(bytes.Buffer)
			}
		case *http2.DataFrame:
			if b := rest[f.StreamID]; b != nil {
				b.Write(f.Data())
				if err := t.messages(b); err != nil {
					return err
				}
			}
		}
	}
}

// messages takes the whole messages, which are snapshots, out of a buffer.
func (t *tap) messages(b *bytes.Buffer) error {
	const head = 5 // a flag, and the length of the message
	for b.Len() >= head && b.Len() >= head+int(binary.BigEndian.Uint32(b.Bytes()[1:])) {
		message := b.Next(head + int(binary.BigEndian.Uint32(b.Bytes()[1:])))
		if message[0] != 0 {
			return errors.New("an agent compresses snapshots, which the tap does not read")
		}
		var s profilev3.ThreadSnapshot
		if err := proto.Unmarshal(message[head:], &s); err != nil {
			return err
		}
		t.mu.Lock()
		if t.sent[s.TraceSegmentId] == nil {
			t.sent[s.TraceSegmentId] = map[int32]dump{}
		}
		t.sent[s.TraceSegmentId][s.Sequence] = dump{s.Sequence, s.Time, s.Stack.GetCodeSignatures()}
		t.mu.Unlock()
	}
	return nil
}

// dumps returns what agents sent of a segment, by number.
func (t *tap) dumps(segment string) (list dumps) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.sent[segment] {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b dump) int { return int(a.number) - int(b.number) })
	return list
}

// dumps are those of a segment, by number.
type dumps []dump

// total is what an analysis of the time from one time to another has to say of the calls whose
// signature matches: the times between neighbours that both have the call.
func (d dumps) total(matches func(signature string) bool, from, to int64) (ms float64) {
	for i := 1; i < len(d); i++ {
		a, b := d[i-1], d[i]
		if b.number != a.number+1 || a.time < from || b.time > to {
			continue
		}
		for depth := 0; depth < min(len(a.stack), len(b.stack)) && a.stack[depth] == b.stack[depth]; depth++ {
			if matches(a.stack[depth]) {
				ms += float64(b.time - a.time)
			}
		}
	}
	return ms
}

// seen returns the time from the first stack that has a function to the last one.
func (d dumps) seen(matches func(signature string) bool) (ms float64) {
	first := slices.IndexFunc(d, func(d dump) bool { return slices.ContainsFunc(d.stack, matches) })
	for i := max(first, 0); i < len(d); i++ {
		if slices.ContainsFunc(d[i].stack, matches) {
			ms = float64(d[i].time - d[first].time)
		}
	}
	return ms
}

// steps returns the times between neighbours, as far as they lie between two times.
func (d dumps) steps(from, to int64) (list []int64) {
	for i := 1; i < len(d); i++ {
		if a, b := max(d[i-1].time, from), min(d[i].time, to); a < b {
			list = append(list, b-a)
		}
	}
	return list
}

// true wants a function to be seen for the time that it took by its own clock. A stack is taken
// after its time and before that of the next, so that the ends of a call are known but for steps of
// the agent: at most three are missing, and one is too much.
func (d dumps) true(t *testing.T, what string, matches func(signature string) bool, took float64, from, to int64) {
	t.Helper()
	longest := to - from
	if len(d) > 0 {
		longest = max(slices.Max(append(d.steps(from, to), 0)), d[0].time-from, to-d[len(d)-1].time)
	}
	const rounded = 2
	if got := d.seen(matches); got > took+float64(longest)+rounded || got < took-3*float64(longest)-rounded {
		t.Errorf("%s took %v ms and was seen for %v ms; the agent's longest step is %d ms", what, took, got, longest)
	}
}
