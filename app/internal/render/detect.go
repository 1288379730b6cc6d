package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/contents"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/table"
)

// Detected writes what a file is, in a line, and indented below what it contains.
func Detected(o *table.Output, d *contents.File) error {
	var b strings.Builder
	title := d.Title
	if title != "" && len(d.Packing) > 0 {
		title += ", " + strings.Join(d.Packing, ", ")
	}
	if d.Error != "" {
		if title != "" {
			title += ": "
		}
		fmt.Fprintf(&b, "%s: %s%s\n", words.Clean(d.Name), title, words.Clean(d.Error))
		_, err := io.WriteString(o.W, b.String())
		return err
	}
	fmt.Fprintf(&b, "%s: %s\n", words.Clean(d.Name), title)
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", name, words.Clean(text))
		}
	}
	field("recorded by", strings.TrimSpace(d.Profiler+" "+d.Version))
	field("recorded", recorded(d))
	detectedTypes(d, field)
	field("content", detectedContents(d))
	field("states", strings.Join(d.States, ", "))
	detectedLabels(d, field)
	for _, w := range d.Warnings {
		field("warning", w)
	}
	_, err := io.WriteString(o.W, b.String())
	return err
}

// recorded returns when, for how long and at what interval a profile was recorded.
func recorded(d *contents.File) string {
	var parts []string
	if t, err := time.Parse(time.RFC3339Nano, d.Start); err == nil {
		parts = append(parts, t.Format(time.RFC3339))
	}
	if d.Duration > 0 {
		parts = append(parts, nanoseconds(d.Duration))
	}
	if d.Interval > 0 {
		parts = append(parts, "a sample every "+nanoseconds(d.Interval))
	}
	return strings.Join(parts, ", ")
}

// detectedTypes writes the value types, aligned.
func detectedTypes(d *contents.File, field func(name, text string)) {
	width := 0
	for _, t := range d.Types {
		width = max(width, len(t.Name))
	}
	name := words.Plural(len(d.Types), "value type")
	for _, t := range d.Types {
		text := fmt.Sprintf("%-*s  %s in %s %s", width, t.Name, counted(t.Total.Amount(t.Unit)), words.Count(t.Samples),
			words.Plural(t.Samples, "row"))
		if t.NoStack > 0 {
			text += fmt.Sprintf(", %s without a stack", words.Count(t.NoStack))
		}
		if t.Period > 0 {
			text += ", period " + counted(document.Whole(t.Period, 0).Amount(t.PeriodUnit))
		}
		if t.Default && len(d.Types) > 1 {
			text += " (default)"
		}
		field(name, text)
		name = ""
	}
}

// shownLabels is how many values of a label are printed.
const shownLabels = 5

// detectedLabels writes the values of each label.
func detectedLabels(d *contents.File, field func(name, text string)) {
	unit := ""
	for _, t := range d.Types {
		if t.Default {
			unit = t.Unit
		}
	}
	amount := func(value string, n document.Number) string { return value + ": " + counted(n.Amount(unit)) }
	name := words.Plural(len(d.Values), "label")
	for _, l := range d.Values {
		var values []string
		for _, v := range l.Values[:min(len(l.Values), shownLabels)] {
			values = append(values, amount(l.Key+"="+v.Value, v.Total))
		}
		if more := len(l.Values) - len(values) + l.More; more > 0 {
			values = append(values, words.Count(more)+" more")
		}
		if l.None.Value() != 0 {
			values = append(values, amount("none", l.None))
		}
		field(name, strings.Join(values, ", "))
		name = ""
	}
}

// detectedContents counts what is in a profile.
func detectedContents(d *contents.File) string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{d.Functions, "function"}, {d.Stacks, "stack"}, {d.Threads, "thread"}, {d.Markers, "marker"}} {
		if c.n > 0 {
			parts = append(parts, words.Count(c.n)+" "+words.Plural(c.n, c.word))
		}
	}
	if d.Depth > 0 {
		parts = append(parts, fmt.Sprintf("at most %s deep", words.Count(d.Depth)))
	}
	return strings.Join(parts, ", ")
}

// counted returns an amount without the word for what a count without a unit counts.
func counted(amount string) string {
	return strings.TrimSuffix(strings.TrimSuffix(amount, " samples"), " sample")
}

func nanoseconds(ns int64) string { return document.Whole(ns, 0).Amount("nanoseconds") }
