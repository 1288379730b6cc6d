package traceprof

import (
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
)

// nativeLine is the Java agent's line number of native methods; -1 is an unknown line.
const nativeLine = -2

// code is a parsed code signature: a frame of the program or of the agent.
type code struct {
	fn     profile.Function
	line   int32
	native bool
	role   role
}

// role classifies frames of a program that was instrumented by the Java agent. The agent
// replaces a method by one that calls an interceptor, which calls the original method
// through generated classes:
//
//	shop.Cart.total:-1                                        stub
//	org.apache.skywalking.….enhance.InstMethodsInter.intercept:95   glue
//	shop.Cart$$sw$auxiliary$815cqm1.call:-1                   glue
//	shop.Cart.$sw$original$total$eq1kks1$accessor$$sw$kspurn1:-1    glue
//	shop.Cart.$sw$original$total$eq1kks1:105                  original
//
// The names of the glue differ in every run. The program itself has one frame,
// shop.Cart.total:105.
type role uint8

const (
	ordinary role = iota
	glue
	original // a method that the agent renamed
)

// parseSignature parses a code signature: `class.method:line` of Java,
// `file.function: line` of Python, `function:line` of Go.
func parseSignature(signature string, language Language) code {
	if i := strings.LastIndex(signature, ": "); i > 0 {
		if line, ok := lineNumber(signature[i+2:]); ok {
			return pythonCode(signature[:i], line)
		}
	}
	c := code{fn: profile.Function{Name: signature}}
	if i := strings.LastIndexByte(signature, ':'); i > 0 {
		if line, ok := lineNumber(signature[i+1:]); ok {
			c.fn.Name, c.line = signature[:i], max(0, line)
			c.native = line == nativeLine
		}
	}
	if language == GoProfiles {
		c.fn.Kind = profile.KindGo
		return c
	}
	if strings.IndexByte(c.fn.Name, '.') > 0 {
		c.fn.Kind = profile.KindJava
		c.role, c.fn.Name = agentRole(c.fn.Name)
	}
	return c
}

// Code returns the functions that the code signatures of an analysis name. A path in one of
// them, which has no file, is that of a Go package.
func (a *Analysis) Code() []profile.Function {
	var language Language
	for i := range a.Functions {
		if name := a.Functions[i].Name; strings.Contains(name, "/") && !strings.Contains(name, ": ") {
			language = GoProfiles
		}
	}
	return column.Of(a.Functions, func(f profile.Function) profile.Function { return parseSignature(f.Name, language).fn })
}

func lineNumber(text string) (int32, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil
}

// pythonCode splits `file.function`; the name of a function has no dot.
func pythonCode(place string, line int32) code {
	c := code{fn: profile.Function{Name: place, Kind: profile.KindPython}, line: max(0, line)}
	if i := strings.LastIndexByte(place, '.'); i > 0 && i+1 < len(place) {
		c.fn.File, c.fn.Name = place[:i], place[i+1:]
	}
	return c
}

// interceptors is the package of the Java agent's interceptors.
const interceptors = "org.apache.skywalking.apm.agent.core.plugin.interceptor.enhance."

// originalMarks begin the new names of methods in newer and older agents. A hash follows
// the method's own name.
var originalMarks = []string{".$sw$original$", "$original$"}

// agentRole returns the role of a Java frame, and its name in the program.
func agentRole(name string) (role, string) {
	switch {
	case strings.HasPrefix(name, interceptors) && strings.HasSuffix(name, ".intercept"),
		strings.Contains(name, "$auxiliary$"), strings.Contains(name, "$accessor$"):
		return glue, name
	}
	for i, mark := range originalMarks {
		at := strings.Index(name, mark)
		if at <= 0 {
			continue
		}
		if i > 0 { // class.method$original$hash
			return original, name[:at]
		}
		method := name[at+len(mark):]
		if end := strings.LastIndexByte(method, '$'); end > 0 {
			method = method[:end]
		}
		return original, name[:at] + "." + method
	}
	return ordinary, name
}
