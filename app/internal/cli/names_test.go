package cli

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// evil is a name that means something in every output: to a spreadsheet, a browser, a terminal, a shell, a
// query, a workflow, a path, a chat.
const evil = "=cmd|'/C calc'!A0 <script>alert(1)</script><img src=x onerror=alert(2)> \x1b]0;t\x07\x1b[31m\u202e\u2066\u2028 " +
	"\"`'\\|;--$(id) [l](javascript:x) @team :tada: ]]> {{7*7}} %0A ../../x\n::error::x\r\n| a | b |\n# head"

// evilRuns writes runs of a benchmark, in the last of which a function takes more, as pprof files whose texts are
// all hostile, and imports them.
func evilRuns(t *testing.T, store string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	for run := range 12 {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: evil, Unit: evil}},
			Comments: []string{evil}, Mapping: []*profile.Mapping{{ID: 1, File: evil, BuildID: evil}}}
		for i := range 12 {
			f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint(i, evil), SystemName: evil, Filename: evil + ".go"}
			if i == 0 {
				f.Name = evil
			}
			l := &profile.Location{ID: f.ID, Mapping: p.Mapping[0], Line: []profile.Line{{Function: f, Line: 7}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			value := int64(400 + 3*rng.NormFloat64())
			if run >= 10 && i == 0 {
				value *= 2
			}
			stack := []*profile.Location{l}
			if i > 0 {
				stack = append(stack, p.Location[0])
			}
			p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{value * 1e7, value},
				Label: map[string][]string{evil: {evil}, "thread": {evil}}})
		}
		name := fmt.Sprintf("r%02d.pb.gz", run)
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(file); err != nil {
			t.Fatal(err)
		}
		file.Close()
		flags := [][2]string{{"--group", evil}, {"--benchmark", evil}, {"--run", fmt.Sprint(evil, run)}, {"--branch", evil},
			{"--commit", fmt.Sprint(evil, run)}, {"--repository", evil}, {"--machine", evil}, {"--attr", "a=" + evil},
			{"--metric", "m" + strings.ReplaceAll(evil, "=", "") + "=12ms"}, {"--date", fmt.Sprintf("2026-11-%02d", run+1)}}
		for {
			args := []string{"import", "--store", store, "--keep-source", name}
			for _, f := range flags {
				args = append(args, f[0], f[1])
			}
			status, _, said := answer(args...)
			if status == 0 {
				break
			}
			harmless(t, "import", "text", said)
			refused := slices.IndexFunc(flags, func(f [2]string) bool { return strings.Contains(said, f[0]+":") })
			if refused < 0 {
				t.Fatal(said)
			}
			t.Logf("%s is refused: %.200s", flags[refused][0], said)
			flags = slices.Delete(flags, refused, refused+1)
		}
	}
}

// answer runs a command and returns what it prints.
func answer(args ...string) (status int, out, said string) {
	var o, e bytes.Buffer
	status = Main(args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

// obeyed returns the first character that controls a terminal or hides text; 0 if there is none. Tabs and ends of
// lines are allowed: the output has its own.
func obeyed(text string) rune {
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError) {
			return r
		}
	}
	return 0
}

// harmless checks an output in a format.
func harmless(t *testing.T, what, format, text string) {
	t.Helper()
	fail := func(why string, args ...any) { t.Errorf("%s as %s: %s", what, format, fmt.Sprintf(why, args...)) }
	around := func(sign string) string {
		i := strings.Index(text, sign)
		return text[max(0, i-60):min(len(text), i+80)]
	}
	shown := slices.Contains([]string{"text", "md", "tsv", "junit"}, format) // the others have names exactly
	if r := obeyed(text); r != 0 && shown {
		fail("it has %U: %q", r, around(string(r)))
	}
	for line := range strings.Lines(text) {
		if shown && strings.HasPrefix(strings.TrimSpace(line), "::error::x") {
			fail("a line is a command of a workflow: %.80q", line)
		}
	}
	var err error
	switch format {
	case "json", "sarif", "json-columns", "speedscope":
		if !json.Valid([]byte(text)) {
			fail("no JSON: %.200q", text)
		}
	case "csv":
		_, err = csv.NewReader(strings.NewReader(text)).ReadAll()
	case "tsv":
		columns := -1
		for line := range strings.Lines(text) {
			if n := strings.Count(line, "\t"); columns >= 0 && n != columns {
				fail("a line has %d tabs, the first %d: %.100q", n, columns, line)
			} else {
				columns = n
			}
		}
	case "html", "svg":
		for _, sign := range []string{"<script>alert", "<img src=x"} {
			if strings.Contains(text, sign) {
				fail("it has %s: %q", sign, around(sign))
			}
		}
		if format == "svg" {
			err = whole(text)
		}
	case "junit":
		err = whole(text)
	case "md":
		fenced := false
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(line, "    ") {
				continue
			}
			for _, sign := range []string{"<script>", "<img", "](javascript:", "@team"} {
				if before, _, found := strings.Cut(withoutCode(line), sign); found && !strings.HasSuffix(before, `\`) &&
					!(sign[0] == ']' && line[0] == '<') { // there is no Markdown in elements
					fail("%s is no text: %.200q", sign, line)
				}
			}
		}
	}
	if err != nil {
		fail("%v", err)
	}
}

// withoutCode returns a line of Markdown without its code spans, which as many backticks end as begin them.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(line, "`")
		b.WriteString(text)
		if !found {
			return b.String()
		}
		code := strings.TrimLeft(rest, "`")
		ticks := strings.Repeat("`", 1+len(rest)-len(code))
		if line = code; strings.HasSuffix(text, `\`) {
			continue
		}
		if end := strings.Index(" "+strings.ReplaceAll(code, ticks+"`", strings.Repeat("x", len(ticks)+1)), ticks); end > 0 {
			line = code[end-1+len(ticks):]
		}
	}
}

// whole reads a document of XML to its end.
func whole(text string) error {
	for in := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := in.Token(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// TestHostileNames puts one name, which means something in every output, in the place of each text that a profile
// and a run have, and reads every output: of all commands, formats and files.
func TestHostileNames(t *testing.T) {
	outside := t.TempDir()
	folder := filepath.Join(outside, "a", "b") // the name leads two folders up
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for name, value := range map[string]string{"DENDRO_STORE": "", "NO_COLOR": "1", "XDG_CONFIG_HOME": t.TempDir(), "GITHUB_ACTIONS": ""} {
		t.Setenv(name, value)
	}
	const store = "s.duckdb"
	evilRuns(t, store)
	address, printed := serveCopy(t, store), 0 // which opens the store once: a file prints the same (TestSameAsServer)
	for _, line := range [][]string{
		{"overview"}, {"runs"}, {"runs", "--profiles"}, {"history"}, {"history", "--function", evil}, {"top"}, {"top", "r00.pb.gz"},
		{"tree"}, {"tree", "--view", "flame"}, {"tree", "r00.pb.gz"}, {"diff", "--last", "1"}, {"diff", "r00.pb.gz", "r11.pb.gz"},
		{"find", "*"}, {"find", "*", "--by", "run"}, {"find", evil}, {"list", evil}, {"bottlenecks"},
		{"bottlenecks", "--contexts", "3", "--plots", "3"},
		{"regressions"}, {"report"}, {"check"}, {"check", "--last", "2"}, {"sql", "SELECT * FROM profiles"}, {"sql", "SELECT * FROM functions"},
		{"sql", "SELECT '" + strings.ReplaceAll(evil, "'", "''") + "' AS \"" + strings.ReplaceAll(evil, `"`, `""`) + "\""},
		{"sql", evil}, {"tree", "--type", evil}, {"top", "--benchmark", evil}, {"top", "--run", evil}, {"runs", "--branch", evil + "x"},
		{"services"}, {"store", "info"}, {"detect", "r00.pb.gz"}, {"prune", "--keep", "100", "--dry-run"}, {evil}, {"top", "--" + evil},
		{"top", evil},
		{"import", evil}, {"import", "--layout", evil, "r00.pb.gz"}, {"completion", evil},
	} {
		formats := []string{"", "text", "json", "tsv", "csv", "md", "html", "svg", "sarif", "junit", "json-columns"}
		for _, format := range formats {
			args := slices.Clone(line)
			if strings.HasPrefix(line[0], "import") || line[0] == "completion" {
				if format != "" {
					continue
				}
			}
			if format != "" {
				args = append(args, "-o", format)
			} else if line[0] == "sql" {
				continue // its default is for programs
			}
			file := func(a string) bool { return strings.HasSuffix(a, ".gz") }
			if line[0] != "completion" && !slices.ContainsFunc(line, file) {
				args = append(args, "--store", address)
			}
			_, out, said := answer(args...)
			what := fmt.Sprintf("%.60q", args)
			if out != "" {
				printed++
				if format == "" {
					format = "text"
				}
				harmless(t, what, format, out)
			}
			harmless(t, what+" (errors)", "text", said)
		}
	}
	if printed < 100 {
		t.Errorf("only %d outputs", printed)
	}
	for _, format := range []string{"folded", "speedscope", "pprof", "firefox", "callgrind", "otlp"} {
		_, out, said := answer("convert", "r00.pb.gz", "--format", format)
		if t.Logf("convert to %s: %d bytes %.100q", format, len(out), said); out != "" && utf8.ValidString(out) {
			kind := map[string]string{"folded": "folded", "speedscope": "speedscope", "firefox": "speedscope"}[format]
			harmless(t, "convert", cmp.Or(kind, "pprof"), out)
		}
		harmless(t, "convert (errors)", "text", said)
	}

	// Files have names of their own, in their folder.
	for _, args := range [][]string{
		{"export", "--format", "folded", "-o", "exported.folded", "--run", evil + "0"}, {"export", "--format", "parquet", "-o", "parquet"},
		{"export", "--format", "neo4j-admin", "-o", "graph"}, {"publish", "--to", "lake"},
		{"report", "--write", "report.md", "--write", "report.html"},
	} {
		status, _, said := answer(append(args, "--store", store)...)
		t.Logf("%.40q: status %d: %.200q", args, status, said)
		harmless(t, args[0], "text", said)
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if obeyed(path) != 0 || strings.ContainsAny(path, "<>|\"'`$") || !filepath.IsLocal(path) {
			t.Errorf("a file %q", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, parent := range []string{outside, filepath.Dir(folder)} {
		if files, err := os.ReadDir(parent); err != nil || len(files) != 1 {
			t.Errorf("files outside of the folder: %v, %v", files, err)
		}
	}
}
