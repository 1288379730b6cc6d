//go:build linux

package server

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// TestFullDisk expects a server on a full disk to refuse an upload with the reason, to
// answer questions, and to store the upload once there is room.
func TestFullDisk(t *testing.T) {
	disk := program.NewDisk(t, "32m")
	writeOne(t, disk.Dir, "a.folded", "main;a 1\n")
	program.Must(t, disk.Dir, "import", "--store", "s.duckdb", "--run", "r", "a.folded")
	p := serve(t, disk.Dir)
	upload := func() string {
		t.Helper()
		resp, err := http.Post(p.http+"/api/v1/import?run=r2&benchmark=b", "application/octet-stream", strings.NewReader("main;b 1\n"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status + " " + string(text)
	}
	disk.Fill(t)
	for range 2 {
		if got := upload(); !strings.HasPrefix(got, "507 ") || !strings.Contains(got, "what was committed is safe, nothing of the failed change was stored") {
			t.Errorf("upload: %s", got)
		}
		if stored := storedSums(t, p.http); len(stored) != 1 {
			t.Errorf("%d profiles, not 1", len(stored))
		}
		_, errOut, status := program.Run(t, disk.Dir, "import", "--store", p.http, "--run", "r3", "a.folded")
		if status != 1 || !strings.Contains(errOut, "what was committed is safe") {
			t.Errorf("import through the server: status %d: %s", status, errOut)
		}
		_, errOut, status = program.Run(t, disk.Dir, "compact", "--store", p.http)
		if status != 1 || !strings.Contains(errOut, "the store is unchanged; it needs up to ") {
			t.Errorf("compact: status %d: %s", status, errOut)
		}
	}
	disk.Free(t)
	if got := upload(); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, `"status":"stored"`) {
		t.Errorf("upload with room: %s", got)
	}
	program.Must(t, disk.Dir, "compact", "--store", p.http)
}
