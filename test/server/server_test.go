package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/nightly"
	"github.com/dendroprof/dendro/test/program"
)

// TestMain lets more tests run at the same time than there are processors: they wait for most of
// their time, and each measures a server of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "6")
	}
	os.Exit(program.Main(m.Run))
}

// process is a server under test.
type process struct {
	*exec.Cmd
	http, grpc string // addresses
	log        *bytes.Buffer
}

// serve starts a server in dir on free ports and waits until it listens.
func serve(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	s, err := program.StartServer(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return &process{Cmd: s.Cmd, http: s.HTTP, grpc: s.GRPC, log: s.Log}
}

// end sends a signal and returns the exit status.
func (p *process) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() { p.Wait(); close(done) }()
	ready := 0 // answers; a busy machine may deliver the signal late
	ask := time.NewTicker(500 * time.Millisecond)
	defer ask.Stop()
	for late := time.After(60 * time.Second); ; {
		select {
		case <-done:
			return p.ProcessState.ExitCode()
		case <-ask.C: // whatever it waits for
			if status, _, err := answerOf(clientAt("127.0.0.3"), "GET", p.http+"/readyz", ""); err == nil && status == http.StatusOK {
				ready++
			}
			if ready == 10 {
				t.Error("an ending server stays ready")
			}
		case <-late:
			p.Process.Kill()
			t.Fatalf("the server does not end: %s", p.log)
		}
	}
}

// TestOwner asks for the file that a server owns: the error names the server, and
// what to do works. After a kill nobody owns it.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	_, errOut, status := program.Run(t, dir, "runs", "--store", "s.duckdb")
	if status != 1 || !strings.Contains(errOut, fmt.Sprintf("`dendro serve` (process %d)", p.Process.Pid)) ||
		!strings.Contains(errOut, "--store "+p.http) {
		t.Errorf("status %d: %s", status, errOut)
	}
	program.Must(t, dir, "runs", "--store", p.http)
	p.Process.Kill()
	p.Wait()
	program.Must(t, dir, "runs", "--store", "s.duckdb")

	// The note of the killed server does not blame whoever has the file now.
	pid := program.Waiting(t, dir, "import", "--store", "s.duckdb", "--run", "r", "-")
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, errOut, status := program.Run(t, dir, "runs", "--store", "s.duckdb")
		if status == 1 && strings.Contains(errOut, fmt.Sprint(pid)) {
			if strings.Contains(errOut, p.http) {
				t.Errorf("a server that is gone is named: %s", errOut)
			}
			return
		}
		if time.Now().After(until) {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
}

// TestKilledServer kills the server while a client imports through it, and expects that
// the client names it and says what may be stored. Then nobody answers at the address.
func TestKilledServer(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	client := program.Command(dir, "import", "--store", p.http, "--run", "r", "--benchmark", "b", "-")
	stdin, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	client.Stderr = &errOut
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	p.measures(t, `route="GET /api/v1/info"`)
	p.Process.Kill()
	p.Wait()
	io.WriteString(stdin, "main;f 1\n")
	stdin.Close()
	client.Wait()
	if status := client.ProcessState.ExitCode(); status != 1 ||
		!strings.Contains(errOut.String(), "no server answers at "+p.http) &&
			!strings.Contains(errOut.String(), "the connection to "+p.http+" broke") {
		t.Errorf("status %d: %s", status, &errOut)
	}
	_, message, status := program.Run(t, dir, "runs", "--store", p.http)
	if status != 1 || !strings.Contains(message, "no server answers at "+p.http) || !strings.Contains(message, "dendro serve") {
		t.Errorf("status %d: %s", status, message)
	}
	program.Must(t, dir, "runs", "--store", "s.duckdb")
}

// importing waits until the server has begun an import.
func (p *process) importing(t *testing.T) {
	t.Helper()
	p.measures(t, "dendro_imports_in_flight 1")
}

// measures waits until a text is part of the server's metrics.
func (p *process) measures(t *testing.T, wanted string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(p.http + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && strings.Contains(string(text), wanted) {
			return
		}
	}
	t.Fatalf("the metrics never have %s", wanted)
}

// TestSignals ends the server while an upload is under way: it is finished first.
func TestSignals(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		dir := t.TempDir()
		p := serve(t, dir)
		in, out := io.Pipe()
		answer := make(chan string)
		go func() {
			resp, err := http.Post(p.http+"/api/v1/import?run=r&benchmark=b", "application/octet-stream", in)
			if err != nil {
				answer <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			answer <- fmt.Sprint(string(text), err)
		}()
		io.WriteString(out, "main;a 1\n")
		p.importing(t)
		time.AfterFunc(500*time.Millisecond, func() {
			io.WriteString(out, "main;b 2\n")
			out.Close()
		})
		if status := p.end(t, signal); status != 0 {
			t.Errorf("%s: status %d: %s", name, status, p.log)
		}
		if got := <-answer; !strings.Contains(got, `"status":"stored"`) || !strings.HasSuffix(got, "<nil>") {
			t.Errorf("%s: the upload that had begun: %s", name, got)
		}
		if out := program.Must(t, dir, "top", "--store", "s.duckdb", "-o", "tsv"); !strings.Contains(out, "main") {
			t.Errorf("%s: afterwards: %s", name, out)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.serve")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}

// TestSecondSignal ends a server at once that waits for an upload that never ends.
func TestSecondSignal(t *testing.T) {
	p := serve(t, t.TempDir())
	in, out := io.Pipe()
	defer out.Close()
	go http.Post(p.http+"/api/v1/import?run=r&benchmark=b", "application/octet-stream", in)
	io.WriteString(out, "main;a 1\n")
	p.importing(t)
	p.Process.Signal(syscall.SIGTERM)
	time.Sleep(300 * time.Millisecond) // it sees the first signal
	if status := p.end(t, syscall.SIGTERM); status == 0 {
		t.Error("it ended in order before the drain was over")
	}
}

// upload sends files in one form and returns those that were acknowledged.
func upload(address string, files map[string]string) (acked []string, err error) {
	in, out := io.Pipe()
	form := multipart.NewWriter(out)
	go func() {
		for name, content := range files {
			w, err := form.CreateFormFile("file", name)
			if err == nil {
				_, err = io.WriteString(w, content)
			}
			if err != nil {
				break // the server is gone
			}
		}
		form.Close()
		out.Close()
	}()
	defer in.Close()
	resp, err := http.Post(address+"/api/v1/import?run=r&date=2026-01-01", form.FormDataContentType(), in)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		var line struct{ File, Status string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return acked, err // cut by the kill
		}
		if line.Status == "stored" || line.Status == "unchanged" {
			acked = append(acked, line.File)
		}
		if line.File == "" {
			return acked, nil
		}
	}
	return acked, errors.New("the answer broke off")
}

// TestKill kills the server with SIGKILL during an upload of many files. What was
// acknowledged is there, whole; what was not can be sent again.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	sums := map[string]int64{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		var b strings.Builder
		name := fmt.Sprintf("bench-%03d.folded", i)
		for l := range 100 {
			v := 1 + r.Int64N(9)
			sums[name] += v
			fmt.Fprintf(&b, "main;f%d;g%d;own%d_%d %d\n", l%7, l%31, i, l, v)
		}
		files[name] = b.String()
	}
	tries := nightly.Or(3, 6)
	if testing.Short() {
		tries = 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r = rand.New(rand.NewPCG(seed, 0))
	interrupted := 0
	for i := range tries {
		os.Remove(filepath.Join(dir, "s.duckdb"))
		os.Remove(filepath.Join(dir, "s.duckdb.wal"))
		p := serve(t, dir, "--log-level", "error")
		time.AfterFunc(time.Duration((400*i+r.IntN(400))/tries)*time.Millisecond, func() { p.Process.Kill() })
		acked, err := upload(p.http, files)
		p.Wait()
		if err != nil {
			interrupted++
		}
		p = serve(t, dir, "--log-level", "error")
		stored := storedSums(t, p.http)
		for _, name := range acked {
			if stored[name] == 0 {
				t.Fatalf("%s was acknowledged and is lost", name)
			}
		}
		for name, sum := range stored {
			if sum != sums[name] {
				t.Fatalf("%s: %d of %d samples", name, sum, sums[name])
			}
		}
		if again, err := upload(p.http, files); err != nil || len(again) != len(files) {
			t.Fatalf("sent again: %d of %d acknowledged, %v", len(again), len(files), err)
		}
		if stored := storedSums(t, p.http); len(stored) != len(files) {
			t.Fatalf("sent again: %d of %d stored", len(stored), len(files))
		}
		p.end(t, syscall.SIGTERM)
	}
	if interrupted < tries/3 {
		t.Errorf("only %d of %d uploads were interrupted: the test does not test", interrupted, tries)
	}
}

// storedSums returns the sum of every stored profile by its file.
func storedSums(t *testing.T, address string) map[string]int64 {
	t.Helper()
	resp, err := http.Get(address + "/api/v1/profiles")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc struct {
		Rows []struct {
			File string
			Sum  int64
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	stored := map[string]int64{}
	for _, row := range doc.Rows {
		stored[row.File] = row.Sum
	}
	return stored
}

// TestGarbage writes what means nothing to both ports, from many connections, and
// demands that others are answered meanwhile and afterwards.
func TestGarbage(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir, "--header-timeout", "1s", "--stall-timeout", "1s")
	r := rand.New(rand.NewPCG(7, 7))
	for _, address := range []string{strings.TrimPrefix(p.http, "http://"), p.grpc} {
		for i := range 50 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			garbage := make([]byte, r.IntN(4096))
			for j := range garbage {
				garbage[j] = byte(r.IntN(256))
			}
			prefix := []string{"", "GET ", "POST /api/v1/import HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}[i%4]
			c.Write(append([]byte(prefix), garbage...))
		}
	}
	writeOne(t, dir, "a.folded", "main;a 1\n")
	program.Must(t, dir, "import", "--store", p.http, "--run", "r", "a.folded")
	if out := program.Must(t, dir, "top", "--store", p.http); !strings.Contains(out, "main") {
		t.Errorf("after the garbage: %s", out)
	}
	resp, err := http.Post(p.http+"/api/v1/store/put", "application/octet-stream",
		strings.NewReader("DNDR\x01\xff\xff\xff\xff\xff\xff\xff\xff"))
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("garbage to put: %v, %v", resp, err)
	}
	if status := p.end(t, syscall.SIGTERM); status != 0 || strings.Contains(p.log.String(), "panic") {
		t.Errorf("status %d: %s", status, p.log)
	}
}

func writeOne(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMemory uploads a file whose text is much larger than its tree: memory follows
// the tree.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 300 MB")
	}
	p := serve(t, t.TempDir())
	var block bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&block, "main;%s;leaf%d 1\n", strings.Repeat("frame;", 80), i)
	}
	in, out := io.Pipe()
	go func() {
		for range 300 {
			if _, err := out.Write(block.Bytes()); err != nil {
				break
			}
		}
		out.Close()
	}()
	resp, err := http.Post(p.http+"/api/v1/import?run=r&benchmark=b", "application/octet-stream", in)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), `"status":"stored"`) {
		t.Errorf("%s, %v", text, err)
	}
	p.end(t, syscall.SIGTERM)
	peak := program.PeakMemory(p.ProcessState)
	t.Logf("%d MB of text, peak memory %d MB", 300*block.Len()>>20, peak>>20)
	if peak > 400<<20 {
		t.Errorf("peak memory %d MB for a tree of 2,000 leaves", peak>>20)
	}
}
