package gitlog

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/dendroprof/dendro/profile"
)

// index finds the files that can hold a function.
type index struct {
	byBase  map[string][]string // base name in lower case → paths, sorted
	byDir   map[string][]string // directory → base names of sources in it, sorted
	dirs    map[string][]string // last element of a directory → directories, sorted
	modules map[string]string   // of Go: module path → directory
}

// Extensions of sources, by what names their functions have.
var (
	jvmExtensions = []string{".java", ".scala", ".kt", ".groovy", ".clj"}
	// In these the package need not be the directory, nor the class the file.
	looseExtensions = []string{".scala", ".kt"}
	cExtensions     = []string{".cc", ".cpp", ".cxx", ".c", ".h", ".hh", ".hpp", ".hxx", ".inl"}
)

func newIndex(files map[string]int64, modules map[string]string) *index {
	x := &index{byBase: map[string][]string{}, byDir: map[string][]string{}, dirs: map[string][]string{}, modules: modules}
	for f := range files {
		base := strings.ToLower(path.Base(f))
		x.byBase[base] = append(x.byBase[base], f)
		dir := path.Dir(f)
		if x.byDir[dir] == nil {
			x.dirs[path.Base(dir)] = append(x.dirs[path.Base(dir)], dir)
		}
		x.byDir[dir] = append(x.byDir[dir], path.Base(f))
	}
	for _, m := range []map[string][]string{x.byBase, x.byDir, x.dirs} {
		for _, list := range m {
			slices.Sort(list)
		}
	}
	return x
}

// files returns the files that can hold a function: by its file where the profile
// says it, else by what its name looks like.
func (x *index) files(fn *profile.Function) []string {
	name, file := place(fn)
	if file != "" {
		if list := x.bySuffix(file); len(list) > 0 {
			return list
		}
	}
	for _, find := range []func(name string) []string{x.goFiles, x.cppFiles, x.jvmFiles, x.pythonFiles} {
		if list := find(name); len(list) > 0 {
			return list
		}
	}
	return nil
}

// place returns the name and the file of a function. A script's function may be named
// with its file.
func place(fn *profile.Function) (name, file string) {
	name, file = fn.Name, fn.File
	if at := strings.LastIndex(name, " ("); at > 0 && strings.HasSuffix(name, ")") && file == "" {
		if inside := name[at+2 : len(name)-1]; strings.Contains(path.Base(inside), ".") {
			name, file = name[:at], inside
		}
	}
	return name, file
}

// bySuffix returns the files of the repository that have the most of a path's end
// in common with it: two elements at least, unless one of the two has no more. Go names
// the files of a module with its version (example.com/m@v1.2.0/f.go), the directory in
// which a repository keeps its own copy has none.
func (x *index) bySuffix(file string) []string {
	file = strings.TrimPrefix(path.Clean(strings.ReplaceAll(file, `\`, "/")), "/")
	want := strings.Split(file, "/")
	for i, element := range want[:len(want)-1] {
		want[i], _, _ = strings.Cut(element, "@v")
	}
	var found closest
	for _, f := range x.byBase[strings.ToLower(want[len(want)-1])] {
		have := strings.Split(f, "/")
		if n := inCommon(want, have); n > 0 && (n >= 2 || n == len(want) || n == len(have)) {
			found.add(n, f)
		}
	}
	return found.files
}

// closest collects the files with the highest score. Files with a lower score are dropped.
type closest struct {
	n     int
	files []string
}

func (c *closest) add(n int, file string) {
	if n > c.n {
		c.n, c.files = n, nil
	}
	if n == c.n && !slices.Contains(c.files, file) {
		c.files = append(c.files, file)
	}
}

// goFiles returns the sources of the package of a Go function,
// `example.com/m/pkg.(*T).Method`, if a module of the repository holds it.
func (x *index) goFiles(name string) []string {
	dot := strings.LastIndexByte(name, '/') + 1
	end := strings.IndexByte(name[dot:], '.')
	if end < 0 {
		return nil
	}
	pkg := strings.ReplaceAll(name[:dot+end], "%2e", ".")
	longest, dir := -1, ""
	for module, at := range x.modules {
		if rest, ok := strings.CutPrefix(pkg, module); ok && (rest == "" || rest[0] == '/') && len(module) > longest {
			longest, dir = len(module), path.Join(at, strings.TrimPrefix(rest, "/"))
		}
	}
	if longest < 0 {
		return nil
	}
	dir = cmp.Or(dir, ".")
	return x.sources(dir, func(base string) bool {
		return strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go")
	})
}

// sources returns the files of a directory that are wanted.
func (x *index) sources(dir string, wanted func(base string) bool) []string {
	var list []string
	for _, base := range x.byDir[dir] {
		if wanted(base) {
			list = append(list, path.Join(dir, base))
		}
	}
	return list
}

// cppFiles returns the files named like the class of a C++ function, or like the
// innermost namespace of one without: `db::PageCache::get(int)` is in PageCache.cc,
// page_cache.h, pagecache.cpp. Of files in several directories those that have more
// of the namespaces in their path.
func (x *index) cppFiles(name string) []string {
	parts := strings.Split(withoutArguments(name), "::")
	if len(parts) < 2 {
		return nil
	}
	class := parts[len(parts)-2]
	var found closest
	for _, base := range []string{strings.ToLower(class), snake(class)} {
		for _, ext := range cExtensions {
			for _, f := range x.byBase[base+ext] {
				n := 1
				for dir := range strings.SplitSeq(path.Dir(f), "/") {
					if slices.Contains(parts[:len(parts)-2], dir) {
						n++
					}
				}
				found.add(n, f)
			}
		}
	}
	return found.files
}

// withoutArguments takes arguments, template arguments and the return type off a
// C++ name.
func withoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch r {
		case '<':
			depth++
		case '>':
			depth = max(0, depth-1)
		case '(':
			if depth == 0 && b.Len() > 0 && !strings.HasSuffix(b.String(), "::") {
				return b.String()
			}
			depth++
		case ')':
			depth = max(0, depth-1)
		case ' ':
			if depth == 0 {
				b.Reset() // what was before is the return type
			}
		default:
			if depth == 0 {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// snake writes PageCache as page_cache.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// jvmFiles returns the files of the class of a JVM method, `a.b.C$Inner.method`:
// C.java (or .scala, .kt, …) in a directory that ends in a/b. Scala and Kotlin may leave
// out the beginning of the package in the directory, and put several classes into
// a file: then it is any source of the package.
func (x *index) jvmFiles(name string) []string {
	name = strings.ReplaceAll(name, "/", ".")
	if at := strings.IndexByte(name, '('); at >= 0 {
		name = name[:at]
	}
	// Behind a $ anything may follow, dots too: C$$Lambda.run, C$.MODULE$.
	outer, _, inner := strings.Cut(name, "$")
	if !inner {
		at := strings.LastIndexByte(outer, '.')
		if at < 0 {
			return nil
		}
		outer = outer[:at]
	}
	parts := strings.Split(outer, ".")
	class, pkg := parts[len(parts)-1], parts[:len(parts)-1]
	if class == "" || len(pkg) == 0 {
		return nil
	}
	classes := []string{class}
	if facade, ok := strings.CutSuffix(class, "Kt"); ok && facade != "" {
		classes = append(classes, facade) // functions outside of classes
	}
	var found closest
	for _, class := range classes {
		for _, ext := range jvmExtensions {
			for _, f := range x.byBase[strings.ToLower(class+ext)] {
				n := inCommon(strings.Split(path.Dir(f), "/"), pkg)
				if path.Base(f) == class+ext && n > 0 && (n == len(pkg) || slices.Contains(looseExtensions, ext)) {
					found.add(n, f)
				}
			}
		}
	}
	if len(found.files) > 0 {
		return found.files
	}
	var list []string
	for _, dir := range x.dirs[pkg[len(pkg)-1]] {
		if inCommon(strings.Split(dir, "/"), pkg) == len(pkg) {
			list = append(list, x.sources(dir, func(base string) bool { return slices.Contains(looseExtensions, path.Ext(base)) })...)
		}
	}
	return list
}

// inCommon returns how many elements two paths have in common at their ends.
func inCommon(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// pythonFiles returns the file of a Python function, `pkg.module.Class.method`:
// the longest beginning of the name that is a module or a package.
func (x *index) pythonFiles(name string) []string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == ':' })
	for n := len(parts) - 1; n > 0; n-- {
		for _, tail := range [][]string{append(slices.Clone(parts[:n-1]), parts[n-1]+".py"), append(slices.Clone(parts[:n]), "__init__.py")} {
			var list []string
			for _, f := range x.byBase[strings.ToLower(tail[len(tail)-1])] {
				if inCommon(strings.Split(f, "/"), tail) == len(tail) {
					list = append(list, f)
				}
			}
			if len(list) > 0 {
				return list
			}
		}
	}
	return nil
}
