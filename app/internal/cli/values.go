package cli

import (
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
)

// dateFlag parses a date or an age before now.
func dateFlag(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := words.ParseInstant(text, time.Now())
	if err != nil {
		return t, usagef("%s: %w", flag, err)
	}
	return t, nil
}

// pairs parses repeated key=value flags.
func pairs(flag string, texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, t := range texts {
		k, v, ok := strings.Cut(t, "=")
		if !ok || k == "" {
			return nil, usagef("%s %q is not key=value", flag, t)
		}
		m[k] = v
	}
	return m, nil
}
