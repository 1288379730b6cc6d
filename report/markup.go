package report

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
)

// number is a column of numbers, which have no markup.
func number(name string) table.Column {
	c := markup(name)
	c.Right, c.Whole = true, true
	return c
}

// markup is a column of cells that are Markdown.
func markup(name string) table.Column {
	return table.Column{Name: name, Markup: func(v any) string { return fmt.Sprint(v) }}
}

// escaped formats a cell as Markdown without markup.
func escaped(v any) string { return escapeText(fmt.Sprint(v)) }

// inMarkdown writes a table.
func inMarkdown(t *table.Table) string {
	var b strings.Builder
	_ = t.Write(&table.Output{W: &b, Format: "md"}) // a builder does not fail
	return b.String()
}

// code formats text as a code span, in which markup and @mentions have no effect.
func code(s string) string {
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longest(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// link links Markdown to an address; an empty one links nothing.
func link(markdown, address string) string {
	if address == "" || strings.ContainsAny(address, "()<> \n") {
		return markdown
	}
	return "[" + markdown + "](" + address + ")"
}

// fence formats lines as a code block.
func fence(lines []string) string {
	text := strings.Join(lines, "\n")
	ticks := strings.Repeat("`", max(3, longest(text, '`')+1))
	return ticks + "\n" + text + "\n" + ticks + "\n"
}

// longest returns the length of the longest run of a rune.
func longest(s string, of rune) int {
	most, n := 0, 0
	for _, r := range s {
		if r != of {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}

// inElement escapes a text in an element of HTML, where mentions work and Markdown does not.
func inElement(s string) string { return strings.ReplaceAll(html.EscapeString(s), "@", noMention) }

// noMention is an @ that mentions nobody: behind it is a space without width, also once entities are decoded.
const noMention = "@&#8203;"

// markups escapes all that is markup.
var markups = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "#", `\#`,
	"~", `\~`, "!", `\!`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", noMention)

// escapeText escapes all markup in a text.
func escapeText(s string) string { return markups.Replace(s) }

// escapeOwners formats owners so that they are mentioned, as in CODEOWNERS.
func escapeOwners(owners []string) string {
	list := make([]string, len(owners))
	for i, o := range owners {
		if list[i] = code(words.Clean(o)); isMention(o) {
			list[i] = o
		}
	}
	return strings.Join(list, " ")
}

// isMention reports whether an owner is exactly @user or @organisation/team.
func isMention(owner string) bool {
	name, ok := strings.CutPrefix(owner, "@")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '/' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// widest is the maximum length of names in tables; longer ones keep their end.
const widest = 90

func shorten(name string) string {
	n := utf8.RuneCountInString(name)
	if n <= widest {
		return name
	}
	r := []rune(name)
	return "…" + string(r[n-widest+1:])
}
