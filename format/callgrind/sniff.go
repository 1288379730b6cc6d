package callgrind

import "bytes"

// Sniff reports whether text that begins with prefix is of callgrind: it says so
// in its first line, or a line of its head says which events are counted and a
// function follows. All lines up to there must be of the format.
func Sniff(prefix []byte) bool {
	if bytes.HasPrefix(prefix, []byte("# callgrind format")) {
		return true
	}
	events := false
	for len(prefix) > 0 {
		var line []byte
		line, prefix, _ = bytes.Cut(prefix, []byte("\n"))
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case bytes.HasPrefix(line, []byte("events:")):
			events = true
		case bytes.HasPrefix(line, []byte("fn=")):
			return events
		case bytes.HasPrefix(line, []byte("fl=")), bytes.HasPrefix(line, []byte("ob=")), bytes.HasPrefix(line, []byte("fi=")):
			if !events {
				return false
			}
		default:
			if key, _, ok := bytes.Cut(line, []byte(":")); !ok || len(key) > 20 || bytes.ContainsAny(key, " =;{\"") {
				return false
			}
		}
	}
	return false
}
