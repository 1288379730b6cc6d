package inputs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRepeated lets `go test` run a test that runs a program again and again: it is repeated when a source
// of the program, a file that is embedded in it, or its module changed, and is taken from the cache otherwise.
func TestRepeated(t *testing.T) {
	code, err := os.ReadFile("inputs.go")
	if err != nil {
		t.Fatal(err)
	}
	dir, clock := t.TempDir(), time.Now().Add(-time.Hour) // Go keeps no result of a test that opened a file of the last seconds
	write := func(name, text string) {
		t.Helper()
		name, clock = filepath.Join(dir, name), clock.Add(time.Second)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644),
			os.Chtimes(name, clock, clock)); err != nil {
			t.Fatal(err)
		}
	}
	const module = "module example.com/m\n\ngo 1.26\n"
	write("go.mod", module)
	write("inputs/inputs.go", string(code))
	write("program/main.go", "package main\n\nimport \"example.com/m/word\"\n\nfunc main() { print(word.Text) }\n")
	write("word/word.go", "package word\n\nimport _ \"embed\"\n\n//go:embed data/word.txt\nvar Text string\n")
	write("word/data/word.txt", "one")
	write("script/run.sh", "echo one")
	write("m_test.go", `package m

import (
	"os/exec"
	"testing"

	"example.com/m/inputs"
)

func Test(t *testing.T) {
	inputs.Files("script")
	if err := inputs.Packages(".", "./program"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", "./program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
`)
	cached := func() bool {
		t.Helper()
		c := exec.Command("go", "test", ".")
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	cached()
	if !cached() {
		t.Error("without a change the test is repeated")
	}
	for name, text := range map[string]string{
		"program/main.go":    "package main\n\nimport \"example.com/m/word\"\n\nfunc main() { print(word.Text, 1) }\n",
		"word/data/word.txt": "three", "script/run.sh": "echo three", "word/more.go": "package word\n", "go.mod": module + "\n",
	} {
		write(name, text)
		if cached() {
			t.Errorf("after a change of %s the test is not repeated", name)
		}
	}
}
