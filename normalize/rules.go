package normalize

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Limits of a file of rules. Every rule is tried on every distinct name.
const (
	maxRules     = 1_000
	maxRuleBytes = 4_096 // of one line
	maxGroups    = 100   // of one replacement
)

// Rules are the rules of a user, applied in order to the result of the built-in ones. Nil is
// no rules. Rules are immutable and safe for concurrent use.
type Rules struct {
	list []rule
	hash string
}

type rule struct {
	expression  *regexp.Regexp
	replacement string
}

// Len returns the number of rules.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.list)
}

// ReadRules reads rules of the form
//
//	# The number of a Spark stage depends on what ran before.
//	GeneratedIteratorForCodegenStage\d+  =>  GeneratedIteratorForCodegenStage
//	^com\.acme\.(\w+)Impl\.              =>  com.acme.$1.
//	\$Timer\d+$                          =>
//
// one per line: a regular expression (RE2), `=>` between spaces, a replacement.
// The expression matches any part of the name, as often as it occurs. `$1` or
// `${name}` in the replacement is a group, `$$` a dollar sign, nothing deletes.
// Spaces around both are dropped; empty lines and lines that begin with # are comments. A
// rule is not applied to a name that it would make empty, or longer than 64,000 bytes.
//
// Name is the file's name for errors, which are profile.ParseErrors: name:line.
func ReadRules(name string, r io.Reader) (*Rules, error) {
	rules := &Rules{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRuleBytes)
	n := 0
	fail := func(err error, hint string) error {
		return &profile.ParseError{Source: name, Line: n, Offset: -1, Err: err, Hint: hint}
	}
	hash := sha256.New()
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if len(rules.list) == maxRules {
			return nil, fail(fmt.Errorf("more than %d rules: %w", maxRules, profile.ErrTooLarge), "")
		}
		parsed, err := parseRule(line)
		if err != nil {
			return nil, fail(fmt.Errorf("%w rule: %w", profile.ErrMalformed, err), "write: regexp => replacement")
		}
		rules.list = append(rules.list, parsed)
		fmt.Fprintf(hash, "%q %q\n", parsed.expression, parsed.replacement)
	}
	if err := lines.Err(); err != nil {
		n++
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fail(fmt.Errorf("line longer than %d bytes: %w", maxRuleBytes, profile.ErrTooLarge), "")
		}
		return nil, fail(fmt.Errorf("reading rules: %w", err), "")
	}
	rules.hash = hex.EncodeToString(hash.Sum(nil)[:8])
	return rules, nil
}

func parseRule(line string) (rule, error) {
	left, replacement, ok := strings.Cut(line+" ", " => ")
	if !ok {
		return rule{}, errors.New("missing => between spaces")
	}
	left, replacement = strings.TrimSpace(left), strings.TrimSpace(replacement)
	if left == "" {
		return rule{}, errors.New("missing expression before =>")
	}
	re, err := regexp.Compile(left)
	if err != nil {
		return rule{}, err
	}
	if len(reference.FindAllString(replacement, maxGroups+1)) > maxGroups {
		return rule{}, fmt.Errorf("the replacement uses more than %d groups", maxGroups)
	}
	if group, ok := unknownGroup(re, replacement); ok {
		return rule{}, fmt.Errorf("the replacement uses group %q, which the expression does not have; write $$ for a dollar sign", group)
	}
	return rule{re, replacement}, nil
}

// reference matches what regexp.Expand treats as a group, and `$$`.
var reference = regexp.MustCompile(`\$(?:\$|\{([\pL\pN_]+)\}|([\pL\pN_]+))`)

// unknownGroup returns a group that the replacement uses and the expression does not have,
// such as the end of a class name with a dollar. Expand would silently drop it.
func unknownGroup(re *regexp.Regexp, replacement string) (string, bool) {
	for _, m := range reference.FindAllStringSubmatch(replacement, -1) {
		group := m[1] + m[2]
		if group == "" {
			continue
		}
		known := slices.Contains(re.SubexpNames(), group)
		for i := range re.NumSubexp() + 1 {
			known = known || group == fmt.Sprint(i)
		}
		if !known {
			return group, true
		}
	}
	return "", false
}

// apply applies the rules in order. No intermediate name is longer than maxName.
func (r *Rules) apply(name string) string {
	if r == nil {
		return name
	}
	for _, rule := range r.list {
		if next := rule.replace(name); next != "" && len(next) <= maxRewritten {
			name = cutLong(next)
		}
	}
	return name
}

// maxRewritten is the maximum length of what a rule makes of a name, in bytes: a rule may
// repeat a group, or match every character.
const maxRewritten = 16 * maxName

// replace replaces every match in a name, up to the match that makes the result longer than
// maxRewritten.
func (r *rule) replace(name string) string {
	var out []byte
	end := 0
	for _, match := range r.expression.FindAllStringSubmatchIndex(name, -1) {
		out = append(out, name[end:match[0]]...)
		out = r.expression.ExpandString(out, r.replacement, name, match)
		if end = match[1]; len(out) > maxRewritten {
			return string(out)
		}
	}
	return string(append(out, name[end:]...))
}
