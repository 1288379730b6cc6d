// Package agents runs the agents of Apache SkyWalking, unmodified, and Dendro's own
// for Go inside small programs: a shop in Python, one in Java and the Go agent's
// example, each with an endpoint that takes a known time. Its tests let them report
// to `dendro serve` and compare its answers with what the shops measured themselves and with
// what the agents sent: on a busy machine that is less than they would send otherwise, and
// certain.
// Programs that Pyroscope's SDKs profile push to it, and what it acknowledged has to
// be in its flame graphs.
//
// The tests of SkyWalking's agents and of Pyroscope's SDKs run where DENDRO_TEST_REAL is
// set. They need python3 with venv, Node.js with npm, and a JDK 17 or newer that
// SkyWalking's agent runs on (up to 24); agents and SDKs are downloaded once, into package
// cache's folder. Two things cannot be downloaded so: SkyWalking's UI Booster (DENDRO_BOOSTER) and
// its Go agent (DENDRO_SKYWALKING_GO). Their tests fail where these are not set; `none` leaves
// them out.
package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a running program that prints where it listens.
type Process struct {
	cmd    *exec.Cmd
	output tail
	gone   chan struct{} // closed when it has ended
	err    error         // how it ended
}

// start starts a program. Every line that it prints is given to line until that
// returns true, which is what start waits for.
func start(ctx context.Context, cmd *exec.Cmd, line func(string) bool) (*Process, error) {
	p := &Process{cmd: cmd, gone: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &p.output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		lines, waiting := bufio.NewScanner(out), true
		for lines.Scan() {
			fmt.Fprintln(&p.output, lines.Text())
			if waiting && line(lines.Text()) {
				waiting = false
				close(ready)
			}
		}
		p.err = cmd.Wait()
		close(p.gone)
	}()
	select {
	case <-ready:
		return p, nil
	case <-p.gone:
		return nil, fmt.Errorf("%s: %w\n%s", cmd.Path, errors.Join(errors.New("ended before it was ready"), p.err), p.Output())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("%s: %w\n%s", cmd.Path, ctx.Err(), p.Output()), p.Kill())
	}
}

// Output returns the end of what the program printed.
func (p *Process) Output() string { return p.output.String() }

// Stop asks the program to end and waits until it has; after 15 seconds it is
// killed, which is an error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(15 * time.Second):
		return errors.Join(fmt.Errorf("%s did not end when it was asked to\n%s", p.cmd.Path, p.Output()), p.Kill())
	}
}

// Kill ends the program at once and waits until it has ended.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.gone
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailBytes = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if n := len(t.end) - tailBytes; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}

// Shop is a program with an agent in it.
type Shop struct {
	*Process
	URL      string
	Service  string // the name under which its agent reports
	Instance string
	Endpoint string // as its agent names GET /checkout
	Slow     string // a part of the code signature of the slow function
}

// Took is how long the functions of one request took, by the shop's own clock,
// in ms.
type Took struct {
	Slow float64 `json:"slow"`
	Rest float64 `json:"rest"`

	began, ended int64 // the request, in ms
}

// Request asks the shop for a path.
func (s *Shop) Request(ctx context.Context, path string) (took Took, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return took, err
	}
	took.began = time.Now().UnixMilli()
	defer func() { took.ended = time.Now().UnixMilli() }()
	req.Close = true // a connection per request: the Python shop then has a thread per request
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return took, fmt.Errorf("%w\n%s", err, s.Output())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return took, err
	}
	if resp.StatusCode != http.StatusOK {
		return took, fmt.Errorf("%s: %s: %s\n%s", req.URL, resp.Status, body, s.Output())
	}
	return took, json.Unmarshal(body, &took)
}

// start starts the shop's program, which prints its address.
func (s *Shop) start(ctx context.Context, cmd *exec.Cmd) (err error) {
	s.Process, err = start(ctx, cmd, func(line string) bool {
		if !strings.HasPrefix(line, "http://") {
			return false
		}
		s.URL = line
		return true
	})
	return err
}
