package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markdown returns all Markdown files of the repository by their paths from its root,
// without those of test data.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		list[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// links returns the links of a page to files of the repository, without their
// anchors, and the anchors of each.
func links(name, text string) map[string][]string {
	list := map[string][]string{}
	text = codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target := m[1] + m[2]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") || strings.HasPrefix(target, "../../security/") {
			continue // the last one is a page of the repository's web site
		}
		file, anchor, _ := strings.Cut(target, "#")
		if file == "" {
			file = name
		} else {
			file = path.Join(path.Dir(name), file)
		}
		list[file] = append(list[file], anchor)
	}
	return list
}

// anchors returns the anchors that GitHub makes of a page's headings.
func anchors(text string) map[string]bool {
	list := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		list[strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return list
}

func TestLinks(t *testing.T) {
	all := markdown(t)
	for name, text := range all {
		for file, list := range links(name, text) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, file)
				continue
			}
			for _, anchor := range list {
				if target, isPage := all[file]; isPage && !anchors(target)[anchor] {
					t.Errorf("%s links to %s#%s, which has no such heading", name, file, anchor)
				}
			}
		}
	}
}

// TestIndex wants every page of docs listed in its index, and the pages at the top
// linked from README.md.
func TestIndex(t *testing.T) {
	all := markdown(t)
	indexed := links("docs/README.md", all["docs/README.md"])
	top := links("README.md", all["README.md"])
	for name := range all {
		switch {
		case strings.HasPrefix(name, "docs/") && name != "docs/README.md":
			if indexed[name] == nil {
				t.Errorf("docs/README.md does not link to %s", name)
			}
		case !strings.Contains(name, "/") && name != "README.md" || name == "docs/README.md":
			if top[name] == nil {
				t.Errorf("README.md does not link to %s", name)
			}
		}
	}
}

func TestAnchors(t *testing.T) {
	got := anchors("# A `code`: more, less (x)\n```\n# none\n```\n## `make bench`\n")
	for _, want := range []string{"a-code-more-less-x", "make-bench"} {
		if !got[want] {
			t.Errorf("no anchor %s in %v", want, got)
		}
	}
	if got["none"] {
		t.Error("a comment of a code block is an anchor")
	}
}
