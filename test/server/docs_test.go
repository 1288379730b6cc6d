package server

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestExamples runs the examples of docs/api.md, in their order, against a server:
// every call must succeed, and answer what a script could go on with.
func TestExamples(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := serve(t, dir)
	ran := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.ReplaceAll(strings.TrimSpace(line), "http://localhost:12800", p.http)
			c := exec.Command("sh", "-c", strings.Replace(line, "curl -s", "curl -sS --fail-with-body", 1))
			c.Dir = dir
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			if strings.HasPrefix(line, "curl") {
				ran++
				checkAnswer(t, line, string(out))
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d examples", ran)
	}
}

// checkAnswer demands an answer that is whole, and of an import one that worked.
func checkAnswer(t *testing.T, line, out string) {
	t.Helper()
	if out == "" {
		t.Errorf("%s: no answer", line)
	}
	if strings.HasPrefix(out, "{") {
		for text := range strings.Lines(out) {
			if !json.Valid([]byte(text)) {
				t.Errorf("%s: %s is no JSON", line, text)
			}
		}
	}
	if strings.Contains(line, "/import") && !strings.Contains(out, `"status":"stored"`) {
		t.Errorf("%s: %s", line, out)
	}
}
