package ingest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/words"
)

// Layout reads labels from paths: a pattern such as
// `{run}/{group}/{benchmark}.{ext}` whose fields stand for parts of a path.
//
// Fields: run, group, benchmark, date, commit, branch, type, ext, `*` (anything).
// A field never spans a `/`; `{ext}` stands for known extensions only,
// compression included. The pattern must match the end of a path, from the
// beginning of a folder's or file's name on.
type Layout struct {
	text   string
	re     *regexp.Regexp
	fields []string
}

var layoutField = regexp.MustCompile(`\{[^{}]*\}`)

// ParseLayout parses the text form of a layout.
func ParseLayout(text string) (*Layout, error) {
	l := &Layout{text: text}
	var b strings.Builder
	b.WriteString(`(?:^|/)`)
	rest := strings.TrimPrefix(text, "./")
	for {
		at := layoutField.FindStringIndex(rest)
		if at == nil {
			break
		}
		b.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		switch name := rest[at[0]+1 : at[1]-1]; name {
		case "run", "group", "benchmark", "date", "commit", "branch", "type":
			l.fields = append(l.fields, name)
			b.WriteString(`([^/]+?)`)
		case "ext":
			b.WriteString(`(?:` + extensionPattern() + `)`)
		case "*":
			b.WriteString(`[^/]*?`)
		default:
			return nil, fmt.Errorf("layout %q: unknown field {%s}; known fields are {run} {group} {benchmark} {date} {commit} {branch} {type} {ext} {*}", text, name)
		}
		rest = rest[at[1]:]
	}
	b.WriteString(regexp.QuoteMeta(rest) + `$`)
	if len(l.fields) == 0 {
		return nil, fmt.Errorf("layout %q has no field", text)
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("layout %q: %w", text, err)
	}
	l.re = re
	return l, nil
}

// UnmarshalText parses a layout.
func (l *Layout) UnmarshalText(text []byte) error {
	parsed, err := ParseLayout(string(text))
	if err == nil {
		*l = *parsed
	}
	return err
}

// extensionPattern matches one or two known extensions, a format's and a
// compression's, or nothing else.
func extensionPattern() string {
	var alternatives []string
	for _, ext := range format.KnownExtensions() {
		alternatives = append(alternatives, regexp.QuoteMeta(strings.TrimPrefix(ext, ".")))
	}
	one := `(?:` + strings.Join(alternatives, "|") + `)`
	return one + `(?:\.` + one + `)*`
}

// Label returns the label of a path, or an error if it does not match.
func (l *Layout) Label(name string) (Label, error) {
	m := l.re.FindStringSubmatch(slashed(name))
	if m == nil {
		return Label{}, fmt.Errorf("the path does not match the layout %s", l.text)
	}
	var label Label
	for i, field := range l.fields {
		value := m[i+1]
		switch field {
		case "run":
			label.Run.Key = value
		case "group":
			label.Group = value
		case "benchmark":
			label.Benchmark = value
		case "commit":
			label.Run.Commit = value
		case "branch":
			label.Run.Branch = value
		case "type":
			label.Type = value
		case "date":
			date, err := words.ParseDate(value)
			if err != nil {
				return label, fmt.Errorf("layout %s: %w", l.text, err)
			}
			label.Run.Date = date
		}
	}
	return label, nil
}
