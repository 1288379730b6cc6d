package normalize

import "strings"

// ThreadName returns a name that threads of different runs and workers of one pool share:
// ids are dropped and every run of digits becomes `*`, so `[pool-2-thread-17 tid=4711]` is
// `pool-*-thread-*`. A hexadecimal number after `0x` is one run. The result is empty if
// there is only an id.
func ThreadName(raw string) string {
	name := dropThreadID(strings.TrimSpace(raw))
	if run(name, func(c byte) bool { return !digit(c) }) == len(name) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		if !digit(name[i]) {
			b.WriteByte(name[i])
			i++
			continue
		}
		b.WriteByte('*')
		if s := name[i:]; len(s) > 2 && s[0] == '0' && s[1] == 'x' && anyHex(s[2]) {
			i += 2 + run(s[2:], anyHex)
		} else {
			i += digits(s)
		}
	}
	return b.String()
}

// dropThreadID drops the id in the notations of async-profiler (`[name tid=7]`),
// py-spy (`thread (7): name`) and perf (`comm-7/8`).
func dropThreadID(name string) string {
	if inner, ok := strings.CutPrefix(name, "["); ok && strings.HasSuffix(inner, "]") {
		name = inner[:len(inner)-1]
	}
	if rest, ok := strings.CutPrefix(name, "thread ("); ok {
		if n := digits(rest); n > 0 && strings.HasPrefix(rest[n:], ")") {
			return strings.TrimPrefix(rest[n+1:], ": ")
		}
	}
	if i := strings.LastIndex(name, "tid="); i >= 0 && i+4 < len(name) && digits(name[i+4:]) == len(name)-i-4 &&
		(i == 0 || name[i-1] == ' ') {
		return strings.TrimRight(name[:i], " ")
	}
	if slash := strings.LastIndexByte(name, '/'); slash > 0 && digits(name[slash+1:]) == len(name)-slash-1 && slash+1 < len(name) {
		n := slash
		for n > 0 && digit(name[n-1]) {
			n--
		}
		if n > 1 && n < slash && name[n-1] == '-' {
			return name[:n-1]
		}
	}
	return name
}
