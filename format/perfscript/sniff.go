package perfscript

import "bytes"

// sniffedLines is how many lines decide.
const sniffedLines = 200

// mostOdd is how many lines more than headers may be neither header nor frame: warnings of perf
// that went into the file.
const mostOdd = 2

// Sniff reports whether text that begins with prefix is what perf script prints:
// behind comments a header with a time or an event, and near it a frame; or the
// comment with which perf's own header begins.
func Sniff(prefix []byte) bool {
	headers, frames, odd := 0, 0, 0
	inHead := false
	for n := 0; n < sniffedLines && len(prefix) > 0; n++ {
		var line []byte
		line, prefix, _ = bytes.Cut(prefix, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		switch {
		case len(line) == 0:
			continue
		case line[0] == '#':
			if headers == 0 && bytes.HasPrefix(line, []byte("# captured on")) {
				return true
			}
			continue
		case headers > 0 && (startsBlank(line) && frameShaped(line) || bareFrame(line)) && !inHead:
			if _, rest, _ := bytes.Cut(bytes.TrimLeft(line, " \t"), []byte(" ")); len(rest) > 0 {
				frames++
			}
		default:
			if h := parseHeader(line); h.strong() && h.usual() {
				headers++
				if inHead = frameShaped(h.rest) && bytes.IndexByte(h.rest, ' ') > 0; inHead {
					frames++
				}
			} else if odd++; (headers == 0 || !startsBlank(line)) && odd > headers+mostOdd {
				return false
			}
		}
		if frames >= 2 && headers >= 1 {
			return true
		}
	}
	return headers > 0 && frames > 0
}

// usual reports whether a header has a process in front of time and event, as
// all but strange selections of fields have.
func (h *header) usual() bool {
	_, pid, tid, cpu := parseFront(h.front)
	return h.hasTime && len(pid)+len(tid)+len(cpu) > 0 || len(h.event) > 0 && (h.hasTime || len(pid)+len(tid) > 0)
}
