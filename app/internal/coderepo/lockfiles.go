package coderepo

import (
	"encoding/json"
	"encoding/xml"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ecosystem is a family of packages whose functions can be told by name or file.
type ecosystem int

const (
	ofGo ecosystem = iota
	ofJava
	ofJS
	ofPython
	ofRust
)

// lockFile is a kind of file that says which versions of which packages a program has.
type lockFile struct {
	is    func(name string) bool // by the file's name without folders
	of    ecosystem
	parse func(data []byte) map[string]string // versions by package
}

func named(names ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(names, func(pattern string) bool {
			ok, _ := path.Match(pattern, name)
			return ok
		})
	}
}

// lockFiles are the kinds of files that are read. Of a kind that pins versions and one that
// gives ranges (package.json) only the first is.
var lockFiles = []lockFile{
	{named("go.mod"), ofGo, parseGoMod},
	{named("*.buildinfo", "buildinfo.txt"), ofGo, parseBuildInfo},
	{named("pom.xml"), ofJava, parsePOM},
	{named("build.gradle", "build.gradle.kts", "*.gradle"), ofJava, lines(regexp.MustCompile(`["']([\w.-]+:[\w.-]+):(\d[\w.+-]*)["']`))},
	{named("gradle.lockfile"), ofJava, lines(regexp.MustCompile(`(?m)^([\w.-]+:[\w.-]+):([\w.+-]+)=`))},
	{named("package-lock.json", "npm-shrinkwrap.json"), ofJS, parsePackageLock},
	{named("yarn.lock"), ofJS, lines(regexp.MustCompile(`(?m)^"?(@?[^@\s"]+)@[^\n]*:\n\s+version:? "?([\w.+-]+)"?`))},
	{named("pnpm-lock.yaml"), ofJS, lines(regexp.MustCompile(`(?m)^\s+'?/?(@?[^@\s'/]+(?:/[^@\s'/]+)?)@(\d[\w.+-]*)[^\n]*:\s*$`))},
	{named("requirements*.txt", "constraints*.txt"), ofPython,
		lines(regexp.MustCompile(`(?m)^\s*` + pinned))},
	{named("pyproject.toml"), ofPython, parsePyproject},
	{named("poetry.lock", "uv.lock", "pdm.lock"), ofPython, lines(tomlPackage)},
	{named("Cargo.lock"), ofRust, lines(tomlPackage)},
}

// pinned is a requirement of pip for one version: `requests[security]==2.31.0`.
const pinned = `([\w.-]+)(?:\[[^\]]*\])?\s*===?\s*([\w.+!-]+)`

var (
	quotedPin = lines(regexp.MustCompile(`["']` + pinned))                                                              // of [project]
	poetryPin = lines(regexp.MustCompile(`(?m)^([\w.-]+)\s*=\s*(?:\{.*\bversion\s*=\s*)?["'](?:==)?(\d[\w.+!-]*)["']`)) // of Poetry
	tomlTable = regexp.MustCompile(`(?m)^\[([^\[\]\n]+)\]`)
)

// parsePyproject reads the packages for which a pyproject.toml wants one version.
func parsePyproject(data []byte) map[string]string {
	versions := quotedPin(data)
	tables := tomlTable.FindAllSubmatchIndex(data, -1)
	for i, at := range tables {
		end := len(data)
		if i+1 < len(tables) {
			end = tables[i+1][0]
		}
		if table := string(data[at[2]:at[3]]); strings.HasPrefix(table, "tool.poetry.") && strings.HasSuffix(table, "dependencies") {
			maps.Copy(versions, poetryPin(data[at[1]:end]))
		}
	}
	delete(versions, "python")
	return versions
}

var tomlPackage = regexp.MustCompile(`(?m)^\[\[package\]\]\s*\nname = "([^"]+)"\s*\nversion = "([^"]+)"`)

// lines returns a parser of files in which an expression finds package and version.
func lines(expression *regexp.Regexp) func(data []byte) map[string]string {
	return func(data []byte) map[string]string {
		versions := map[string]string{}
		for _, m := range expression.FindAllSubmatch(data, -1) {
			versions[string(m[1])] = string(m[2])
		}
		return versions
	}
}

// parseGoMod reads what a go.mod requires, and the release of Go as `go` or `toolchain`.
func parseGoMod(data []byte) map[string]string {
	versions := map[string]string{}
	block := ""
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
		case fields[0] == ")":
			block = ""
		case block != "":
			goLine(versions, block, fields)
		default:
			goLine(versions, fields[0], fields[1:])
		}
	}
	return versions
}

// goLine reads a directive of a go.mod.
func goLine(versions map[string]string, directive string, fields []string) {
	switch {
	case (directive == "go" || directive == "toolchain") && len(fields) == 1:
		versions[directive] = fields[0]
	case directive == "require" && len(fields) == 2:
		if _, replaced := versions[fields[0]]; !replaced {
			versions[fields[0]] = fields[1]
		}
	case directive == "replace":
		for i, f := range fields {
			if f == "=>" && i > 0 && i+1 < len(fields) {
				versions[fields[0]] = strings.Join(fields[i+1:], " ")
			}
		}
	}
}

// parseBuildInfo reads what `go version -m` prints of a program: its release of Go, and its
// modules with what replaces them.
func parseBuildInfo(data []byte) map[string]string {
	versions := map[string]string{}
	last := ""
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 3 && fields[0] == "dep":
			last = fields[1]
			versions[last] = fields[2]
		case len(fields) >= 2 && fields[0] == "=>" && last != "":
			versions[last] = strings.Join(fields[1:min(len(fields), 3)], " ")
		case len(fields) == 2 && strings.HasSuffix(fields[0], ":"):
			if release, ok := strings.CutPrefix(fields[1], "go"); ok {
				versions["go"] = release
			}
		}
	}
	return versions
}

// parsePOM reads the dependencies of a Maven project, with the values of its properties.
func parsePOM(data []byte) map[string]string {
	type artifact struct {
		Group    string `xml:"groupId"`
		Artifact string `xml:"artifactId"`
		Version  string `xml:"version"`
	}
	var pom struct {
		Properties struct {
			All []struct {
				XMLName xml.Name
				Value   string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"properties"`
		Parent  artifact   `xml:"parent"`
		Managed []artifact `xml:"dependencyManagement>dependencies>dependency"`
		Used    []artifact `xml:"dependencies>dependency"`
	}
	if xml.Unmarshal(data, &pom) != nil {
		return nil
	}
	var properties []string
	for _, p := range pom.Properties.All {
		properties = append(properties, "${"+p.XMLName.Local+"}", strings.TrimSpace(p.Value))
	}
	value := strings.NewReplacer(properties...)
	versions := map[string]string{}
	for _, a := range append(append(pom.Managed, pom.Used...), pom.Parent) {
		if version := strings.TrimSpace(value.Replace(a.Version)); version != "" {
			versions[strings.TrimSpace(value.Replace(a.Group))+":"+strings.TrimSpace(a.Artifact)] = version
		}
	}
	return versions
}

// parsePackageLock reads a package-lock.json of any version. Of a package in several
// versions it takes the one nearest to the top.
func parsePackageLock(data []byte) map[string]string {
	type entry struct {
		Version string `json:"version"`
	}
	var lock struct {
		Packages     map[string]entry `json:"packages"`
		Dependencies map[string]entry `json:"dependencies"`
	}
	if json.Unmarshal(data, &lock) != nil {
		return nil
	}
	versions, depth := map[string]string{}, map[string]int{}
	for name, e := range lock.Dependencies {
		versions[name] = e.Version
	}
	for place, e := range lock.Packages {
		at := strings.LastIndex(place, "node_modules/")
		if at < 0 || e.Version == "" {
			continue
		}
		name, deep := place[at+len("node_modules/"):], strings.Count(place, "node_modules/")
		if known, ok := depth[name]; !ok || deep < known || deep == known && e.Version < versions[name] {
			versions[name], depth[name] = e.Version, deep
		}
	}
	return versions
}
