package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTasksPage runs the commands of docs/tasks.md, in their order, on a store with
// sampled requests and two tasks that became runs, and compares the outputs shown.
func TestTasksPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	script := `env DENDRO_STORE=s.duckdb SEGMENT=s1 SLOW=s1 FAST=s3 TASK=first LATER=second
sampled
exec dendro task export last -o first.pb.gz
exec dendro import --group shop --benchmark /checkout --run first --date 2026-01-01 first.pb.gz
exec dendro import --group shop --benchmark /checkout --run second --date 2026-01-02 first.pb.gz
`
	files := ""
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```(sh|console)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[2]) {
			command, prompt := strings.CutPrefix(line, "$ ")
			switch {
			case block[1] == "sh":
				script += "exec " + line
				ran++
			case prompt:
				ran++
				script += fmt.Sprintf("exec %scmp stdout %d.txt\n", command, ran)
				files += fmt.Sprintf("-- %d.txt --\n", ran)
			default:
				files += line
			}
		}
	}
	if ran < 10 {
		t.Fatalf("only %d commands", ran)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.txtar"), []byte(script+files), 0o600); err != nil {
		t.Fatal(err)
	}
	params := scriptParams()
	params.Dir, params.UpdateScripts = dir, false
	testscript.Run(t, params)
}
