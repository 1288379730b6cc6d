package archtest

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Policy says what packages may import. Rules are tried in order; the first one
// whose pattern fits a package is its rule.
type Policy struct {
	rules []rule
}

type rule struct {
	line    int
	pattern string
	allow   []string // packages of the module by pattern, others by prefix of the path
	forbid  []string // packages of the standard library that are not for this one
	reason  string
	used    bool            // a package of the module has this rule
	needed  map[string]bool // of allow: what a package imports
}

// planned begins the reason of a line for a package that does not exist yet.
const planned = "planned: "

// everywhere begins the reason of a line for a package that all others may import.
const everywhere = "everywhere: "

// ReadPolicy reads lines of three columns,
//
//	package | what it may import | why
//
// Empty lines and lines that begin with # are comments. A package is a directory
// relative to the root; `x/*` is any directory directly in x, `x/...` is x and
// all below. What may be imported is a list of the same patterns for packages of
// the module, and of prefixes of import paths for other modules; `-` alone is
// nothing. Folders at the root are floors, see floor. The standard library is always allowed, but for packages with a `!` in
// front. Every line gives a reason. A line or an import that fits no package of the
// module is a finding, unless the reason of a line for it begins with "planned: "; so is
// an import that no package with the rule has. All packages may import those whose reason begins with "everywhere: ".
func ReadPolicy(r io.Reader) (*Policy, error) {
	p := &Policy{}
	seen := map[string]int{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		columns := strings.Split(text, "|")
		if len(columns) != 3 {
			return nil, fmt.Errorf("policy line %d: %d columns, want package | imports | reason", n, len(columns))
		}
		ru := rule{line: n, pattern: strings.TrimSpace(columns[0]), reason: strings.TrimSpace(columns[2]), needed: map[string]bool{}}
		imports := strings.Fields(columns[1])
		switch before, ok := seen[ru.pattern]; {
		case ru.pattern == "" || len(imports) == 0:
			return nil, fmt.Errorf("policy line %d: an empty column; write - for no imports", n)
		case ru.reason == "":
			return nil, fmt.Errorf("policy line %d: no reason", n)
		case ok:
			return nil, fmt.Errorf("policy line %d: %s has a rule in line %d", n, ru.pattern, before)
		}
		seen[ru.pattern] = n
		for _, i := range imports {
			if std, ok := strings.CutPrefix(i, "!"); ok {
				ru.forbid = append(ru.forbid, std)
			} else if i != "-" {
				ru.allow = append(ru.allow, i)
			}
		}
		p.rules = append(p.rules, ru)
	}
	return p, lines.Err()
}

// find returns the rule for a directory.
func (p *Policy) find(dir string) *rule {
	for i := range p.rules {
		if fits(p.rules[i].pattern, dir) {
			return &p.rules[i]
		}
	}
	return nil
}

// fits reports whether a directory is what a pattern says.
func fits(pattern, dir string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == root || strings.HasPrefix(dir, root+"/")
	}
	if parent, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(dir) == parent
	}
	return dir == pattern
}

// tests is the folder of tests, which import what they test: all floors.
const tests = "test"

// top returns the folder at the root that a pattern or directory is in.
func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// floor returns the floor of a package: folders at the root are floors, in the order in which
// the policy first names them, the ground first. A package imports its own floor and those
// before it.
func (p *Policy) floor(dir string) int {
	return slices.IndexFunc(p.rules, func(r rule) bool { return top(r.pattern) == top(dir) })
}

// within reports whether an import path is a package or below it.
func within(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

// checkImports compares the imports of a package with its rule.
func (c *checker) checkImports(p *pkg) {
	ru := c.policy.find(p.dir)
	if ru == nil {
		c.add(p.dir, "no rule for this package: add a line to policy.txt on purpose")
		return
	}
	ru.used = true
	for _, f := range p.files {
		for _, spec := range f.syntax.Imports {
			imported := strings.Trim(spec.Path.Value, "`\"")
			if why := c.refuse(ru, imported); why != "" {
				c.add(f.at(spec.Pos()), "imports %s, %s (policy line %d: %s)", imported, why, ru.line, ru.reason)
			}
		}
	}
}

// refuse returns why a rule does not allow an import; empty if it does.
func (c *checker) refuse(ru *rule, imported string) string {
	if imported == "C" {
		return ""
	}
	if own, ok := strings.CutPrefix(imported, c.module+"/"); ok {
		if to := c.policy.find(own); to != nil && strings.HasPrefix(to.reason, everywhere) {
			return ""
		}
		if !ru.need(func(a string) bool { return fits(a, own) }) {
			return "which is not above it"
		}
		if c.policy.floor(own) > c.policy.floor(ru.pattern) && top(ru.pattern) != tests {
			return "which is on a later floor"
		}
		return ""
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") { // the standard library
		for _, f := range ru.forbid {
			if within(imported, f) {
				return "which is not for this layer"
			}
		}
		return ""
	}
	if !ru.need(func(a string) bool { return within(imported, a) }) {
		return "a module it does not have"
	}
	return ""
}

// need notes what allows an import, and reports whether anything does.
func (ru *rule) need(allows func(pattern string) bool) (allowed bool) {
	for _, a := range ru.allow {
		if allows(a) {
			ru.needed[a], allowed = true, true
		}
	}
	return allowed
}

// checkPolicy finds lines and imports of the policy for packages that do not exist, and
// imports that no package has.
func (c *checker) checkPolicy() {
	known := slices.Clone(c.packages)
	for _, ru := range c.policy.rules {
		if strings.HasPrefix(ru.reason, planned) {
			known = append(known, ru.pattern)
		}
	}
	for _, ru := range c.policy.rules {
		if strings.HasPrefix(ru.reason, planned) {
			continue
		}
		if !ru.used {
			c.add("policy.txt", "line %d: no package has the rule of %s: delete the line, or begin its reason with %q", ru.line, ru.pattern, planned)
		}
		for _, a := range ru.allow {
			first, _, _ := strings.Cut(a, "/")
			if !strings.Contains(first, ".") && !slices.ContainsFunc(known, func(dir string) bool { return fits(a, dir) }) {
				c.add("policy.txt", "line %d: %s may import %s, which fits no package", ru.line, ru.pattern, a)
			} else if ru.used && !ru.needed[a] {
				c.add("policy.txt", "line %d: %s may import %s, and does not: delete that", ru.line, ru.pattern, a)
			}
		}
	}
}
