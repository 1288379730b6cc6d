package pyroscope

import (
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/continuous"
)

// parseName parses the name of a program with its labels, `app{region=eu,version=1.2}`. Values
// have neither quotes nor escapes. What follows the first `}` is ignored; without one, so is
// the last pair, as in Pyroscope.
func parseName(text string) (app string, labels []continuous.Label, err error) {
	app, rest, braces := strings.Cut(text, "{")
	app = strings.TrimSpace(app)
	pairs, _, closed := strings.Cut(rest, "}")
	for braces {
		key, after, ok := strings.Cut(pairs, "=")
		if !ok {
			break
		}
		value, next, more := strings.Cut(after, ",")
		if !more && !closed {
			break
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" || strings.ContainsFunc(key, func(c rune) bool { return !wordy(c, "_.") }) {
			return "", nil, fmt.Errorf("name: the label %.60q has characters other than letters, digits, `_` and `.`", key)
		}
		if key == nameLabel {
			app = value
		} else {
			labels = append(labels, continuous.Label{Name: key, Value: value})
		}
		pairs = next
	}
	switch {
	case app == "":
		return "", nil, fmt.Errorf("name: the parameter has no name of a program: %.60q", text)
	case strings.ContainsFunc(app, func(c rune) bool { return !wordy(c, "_.-/") }):
		return "", nil, fmt.Errorf("name: the program %.60q has characters other than letters, digits, `_`, `.`, `-` and `/`", app)
	}
	return app, labels, nil
}

// wordy reports whether a character is a letter or digit of ASCII, or one of others.
func wordy(c rune, others string) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(others, c)
}
