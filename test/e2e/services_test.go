package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
)

// TestServicesInTheList pushes two releases of six services, each slower with the newer one in a
// function of its own, and of one that is not; and looks for them in the list of every surface of the
// server, before and after it is started again.
func TestServicesInTheList(t *testing.T) {
	dir := t.TempDir()
	p, err := program.StartServer(dir, "--continuous")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Kill() }()
	at := time.Now().Add(-time.Hour).Truncate(time.Minute)
	for i := range 7 {
		for minute := range 24 {
			version, price := "1.0", 100
			if minute >= 12 {
				version, price = "1.1", 100+30*i
			}
			noise := func(n int) int { return (minute*7+i*3)*n%11 - 5 }
			text := fmt.Sprintf("main;handle;price%d %d\nmain;handle;tax %d\nmain;handle;write %d\nmain;read %d\nmain;plan %d\n", i, price+noise(3), 100+noise(5), 200+noise(7), 150+noise(2), 90+noise(4))
			from := at.Add(time.Duration(minute) * time.Minute)
			address := fmt.Sprintf("%s/ingest?name=%s&from=%d&until=%d", p.HTTP,
				url.QueryEscape(fmt.Sprintf("svc%d{service_version=%s}", i, version)), from.Unix(), from.Add(time.Minute).Unix())
			resp, err := http.Post(address, "text/plain", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status)
			}
		}
	}
	get := func(path string) string {
		resp, err := http.Get(p.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(path, resp.Status, err)
		}
		return string(body)
	}
	mcp := func() string {
		c := program.Command(dir, "mcp", "--store", p.HTTP)
		c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"regressions","arguments":{}}}` + "\n")
		return program.Succeed(t, c)
	}
	check := func(when string) {
		t.Helper()
		var list struct {
			Findings []struct {
				Group, ID, Status string
			}
		}
		text := program.Must(t, dir, "regressions", "--store", p.HTTP, "-o", "json")
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Findings) != 6 {
			t.Fatalf("%s: %v in the list: %s", when, err, text)
		}
		for surface, text := range map[string]string{
			"regressions": program.Must(t, dir, "regressions", "--store", p.HTTP), "overview": program.Must(t, dir, "overview", "--store", p.HTTP),
			"report":         program.Must(t, dir, "report", "--store", p.HTTP),
			"report of Home": get("/api/v1/report?candidates=0&max-depth=0&changed=true"), "/api/v1/regressions": get("/api/v1/regressions"),
			"mcp": mcp()} {
			for i := 1; i < 7; i++ {
				if want := fmt.Sprintf("price%d", i); !strings.Contains(text, want) || !strings.Contains(text, fmt.Sprintf("svc%d", i)) {
					t.Errorf("%s, %s: no %s in\n%s", when, surface, want, text)
				}
			}
			if strings.Contains(text, "price0") {
				t.Errorf("%s, %s names the service that did not change:\n%s", when, surface, text)
			}
		}
		for _, f := range list.Findings {
			if one := program.Must(t, dir, "regressions", "--store", p.HTTP, "--service", f.Group, "-o", "json"); !strings.Contains(one, f.ID) {
				t.Errorf("%s: a comparison of %s has not the id %s", when, f.Group, f.ID)
			}
		}
	}
	check("after the pushes")
	p.Kill()
	if p, err = program.StartServer(dir, "--continuous"); err != nil {
		t.Fatal(err)
	}
	check("after a start")
}
