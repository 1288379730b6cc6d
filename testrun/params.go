package testrun

import (
	"regexp"
	"strings"
)

// Param is one parameter that a benchmark's name carries.
type Param struct {
	Key, Value string
}

var (
	// 029_(deployment,EMBEDDED)_(jdk,17): Neo4j's suite and others like it.
	tupleParam = regexp.MustCompile(`_?\(([^(),]+),([^()]*)\)`)
	// BenchmarkX/size=10/mode=fast-8: Go.
	goParam = regexp.MustCompile(`/([A-Za-z_][A-Za-z0-9_.]*)=([^/]*)`)
	// Parser.parse:size=10,mode=fast or Parser.parse?size=10: JMH's text, queries.
	listParam = regexp.MustCompile(`(?:^|[,&;])\s*([A-Za-z_][A-Za-z0-9_.]*)=([^,&;]*)`)
)

// Params returns the base name and the parameters in a benchmark's name, in
// order. Three spellings are known:
//
//	029_(deployment,EMBEDDED)_(jdk,17)   →  029         deployment=EMBEDDED jdk=17
//	Sort/size=1000/order=random-8        →  Sort        size=1000 order=random procs=8
//	Parser.parse:size=10,mode=fast       →  Parser.parse size=10 mode=fast
//
// A name in none of them is its own base name.
func (b Benchmark) Params() (base string, params []Param) {
	name := b.Name
	if m := tupleParam.FindAllStringSubmatchIndex(name, -1); m != nil {
		for _, i := range m {
			params = append(params, Param{strings.TrimSpace(name[i[2]:i[3]]), strings.TrimSpace(name[i[4]:i[5]])})
		}
		return strings.TrimRight(tupleParam.ReplaceAllString(name, ""), "_"), params
	}
	if m := goParam.FindAllStringSubmatchIndex(name, -1); m != nil {
		for _, i := range m {
			params = append(params, Param{name[i[2]:i[3]], name[i[4]:i[5]]})
		}
		if last := &params[len(params)-1]; m[len(m)-1][5] == len(name) {
			if v, procs, ok := cutProcs(last.Value); ok {
				last.Value = v
				params = append(params, Param{"procs", procs})
			}
		}
		return goParam.ReplaceAllString(name, ""), params
	}
	if base, list, ok := strings.Cut(name, ":"); ok || strings.Contains(name, "?") {
		if !ok {
			base, list, _ = strings.Cut(name, "?")
		}
		for _, m := range listParam.FindAllStringSubmatch(list, -1) {
			params = append(params, Param{m[1], strings.TrimSpace(m[2])})
		}
		if params != nil {
			return base, params
		}
	}
	return name, nil
}

// cutProcs splits Go's "-8" (GOMAXPROCS) off a value.
func cutProcs(v string) (value, procs string, ok bool) {
	i := strings.LastIndexByte(v, '-')
	if i <= 0 || i+1 == len(v) {
		return v, "", false
	}
	for _, r := range v[i+1:] {
		if r < '0' || r > '9' {
			return v, "", false
		}
	}
	return v[:i], v[i+1:], true
}
