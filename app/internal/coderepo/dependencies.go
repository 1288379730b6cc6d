package coderepo

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/report"
)

// bump is a package whose version differs between two commits.
type bump struct {
	report.Dependency
	of ecosystem
}

// readBumps returns the packages whose versions differ between two commits, by the files of
// the repository that pin them; none if those cannot be read: a report is complete without them.
func readBumps(ctx context.Context, repo, from, to string) (list []bump) {
	files, _ := gitlog.ReadVersions(ctx, repo, from, to, func(file string) (content, ok bool) {
		_, _, isJAR := profile.JARVersion(file)
		return lockFileOf(file) != nil, lockFileOf(file) != nil || isJAR
	})
	jars := [2]map[string]string{{}, {}}
	for _, f := range files {
		kind := lockFileOf(f.Path)
		if kind == nil {
			artifact, version, _ := profile.JARVersion(f.Path)
			for side, exists := range []bool{f.Base != nil, f.Head != nil} {
				if exists {
					jars[side][artifact] = version
				}
			}
			continue
		}
		list = append(list, differences(kind.parse(f.Base), kind.parse(f.Head), f.Path, kind.of)...)
	}
	return append(list, differences(jars[0], jars[1], "*.jar", ofJava)...)
}

// bumpCache keeps the packages that differ between pairs of commits.
type bumpCache map[[2]string][]bump

// entered returns the packages that differ between two commits and have one of some functions.
func (c bumpCache) entered(ctx context.Context, repo, from, to string, functions []profile.Function) []report.Dependency {
	if from == "" || to == "" || from == to {
		return nil
	}
	pair := [2]string{from, to}
	list, ok := c[pair]
	if !ok {
		list = readBumps(ctx, repo, from, to)
		c[pair] = list
	}
	return entered(list, functions)
}

// definitionsOf returns what a report knows of functions.
func definitionsOf(doc *report.Report, names []string) []profile.Function {
	list := make([]profile.Function, len(names))
	for i, name := range names {
		list[i] = doc.Definitions[name]
		list[i].Name = name
	}
	return list
}

func lockFileOf(file string) *lockFile {
	for i := range lockFiles {
		if lockFiles[i].is(path.Base(file)) {
			return &lockFiles[i]
		}
	}
	return nil
}

// differences lists packages that have another version, are new or gone, by name.
func differences(base, head map[string]string, file string, of ecosystem) (list []bump) {
	for _, name := range slices.Sorted(maps.Keys(head)) {
		if base[name] != head[name] {
			list = append(list, bump{report.Dependency{Name: name, Base: base[name], Head: head[name], File: file}, of})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if head[name] == "" {
			list = append(list, bump{report.Dependency{Name: name, Base: base[name], File: file}, of})
		}
	}
	return list
}

// entered returns the packages among bumps that one of some functions belongs to. A
// function of a package manager whose package has another name than its code (PyYAML, yaml)
// belongs to the only package of its ecosystem that changed. Functions of Go that belong to
// no other one belong to the release of Go.
func entered(bumps []bump, functions []profile.Function) []report.Dependency {
	var list []report.Dependency
	add := func(b *bump) {
		if !slices.Contains(list, b.Dependency) {
			list = append(list, b.Dependency)
		}
	}
	for i := range functions {
		best, fit := 0, []*bump(nil)
		var kin []*bump
		for k := range bumps {
			b := &bumps[k]
			if ecosystemOf(&functions[i]) == b.of {
				kin = append(kin, b)
			}
			switch n := belongs(&functions[i], b); {
			case n > best:
				best, fit = n, []*bump{b}
			case n == best && n > 0:
				fit = append(fit, b)
			}
		}
		if best == 0 && len(kin) == 1 && kin[0].of != ofGo && isInstalled(&functions[i]) {
			fit = kin
		}
		for _, b := range fit {
			add(b)
		}
	}
	slices.SortFunc(list, func(a, b report.Dependency) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.File, b.File))
	})
	return list
}

// ecosystemOf tells where the package of a function comes from; -1 if that is unknown.
func ecosystemOf(f *profile.Function) ecosystem {
	switch f.Kind {
	case profile.KindGo, profile.KindGoRuntime:
		return ofGo
	case profile.KindJava, profile.KindClass:
		return ofJava
	case profile.KindJS:
		return ofJS
	case profile.KindPython:
		return ofPython
	case profile.KindRust:
		return ofRust
	}
	switch path.Ext(f.File) {
	case ".py", ".pyx":
		return ofPython
	case ".js", ".mjs", ".cjs", ".ts":
		return ofJS
	}
	return -1
}

// isInstalled reports whether a package manager put the file of a function where it is.
func isInstalled(f *profile.Function) bool {
	return slices.ContainsFunc([]string{"/site-packages/", "/dist-packages/", "/node_modules/", "/.cargo/registry/", ".jar"},
		func(part string) bool {
			return strings.Contains("/"+f.File, part) || strings.Contains("/"+f.Module, part)
		})
}

// belongs tells how sure a function is of a package: 0 not at all.
func belongs(f *profile.Function, b *bump) int {
	switch b.of {
	case ofGo:
		if (b.Name == "go" || b.Name == "toolchain") && (f.Kind == profile.KindGo || f.Kind == profile.KindGoRuntime) {
			return 1 // it compiles every function
		}
		if rest, ok := strings.CutPrefix(f.Name, b.Name); ok && rest != "" && (rest[0] == '.' || rest[0] == '/') {
			return len(b.Name)
		}
	case ofJava:
		return javaBelongs(f, b.Name)
	case ofJS:
		if strings.Contains("/"+f.File, "/node_modules/"+b.Name+"/") {
			return len(b.Name)
		}
	case ofPython:
		plain := strings.NewReplacer("-", "_", ".", "_")
		for _, dir := range []string{"/site-packages/", "/dist-packages/"} {
			if _, rest, ok := strings.Cut("/"+f.File, dir); ok {
				first, _, _ := strings.Cut(rest, "/")
				if strings.EqualFold(plain.Replace(b.Name), strings.TrimSuffix(first, ".py")) {
					return 1
				}
			}
		}
	case ofRust:
		crate := strings.ReplaceAll(b.Name, "-", "_")
		if strings.HasPrefix(f.Name, crate+"::") || strings.HasPrefix(f.Name, "<"+crate+"::") ||
			strings.Contains(f.File, "/"+b.Name+"-"+b.Head+"/") {
			return len(crate)
		}
	}
	return 0
}

// javaBelongs tells how sure a function is of an artifact, group:name or only name. The path
// of its JAR is certain; otherwise the words of the artifact and its group are searched
// in the package: org.apache.commons:commons-csv has org.apache.commons.csv, and
// com.google.guava:guava most likely com.google.common.
func javaBelongs(f *profile.Function, coordinates string) int {
	group, artifact, ok := strings.Cut(coordinates, ":")
	if !ok {
		group, artifact = "", coordinates
	}
	const certain = 1000
	if rest, ok := strings.CutPrefix(path.Base(f.Module), artifact+"-"); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		return certain
	}
	if f.Kind != profile.KindJava || strings.Contains(f.Module, ".jar") {
		return 0
	}
	elements := strings.Split(f.Name, ".")
	if len(elements) < 3 {
		return 0
	}
	pkg := elements[:len(elements)-2]
	all := true
	words := strings.FieldsFunc(artifact, func(r rune) bool { return r == '-' || r == '.' || r == '_' })
	for _, w := range words {
		all = all && slices.Contains(pkg, w)
	}
	shared := 0
	for i, e := range strings.Split(group, ".") {
		if i >= len(pkg) || pkg[i] != e {
			break
		}
		shared++
	}
	switch {
	case all:
		return 100 + 10*len(words) + shared
	case shared >= 2:
		return shared
	}
	return 0
}
