package coderepo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/report"
)

// TestLockFiles: each kind of file that pins versions.
func TestLockFiles(t *testing.T) {
	for _, x := range []struct{ file, text, want string }{
		{"go.mod", "module m\n\ngo 1.26\n\nrequire a.org/x v1.0.0 // indirect\n\nrequire (\n\ta.org/y/v2 v2.1.0\n\ta.org/z v1.1.0\n)\nreplace (\n\ta.org/z => ../z\n)\nreplace a.org/w v1 => a.org/v v1.2.0\n",
			"a.org/w a.org/v v1.2.0, a.org/x v1.0.0, a.org/y/v2 v2.1.0, a.org/z ../z, go 1.26"},
		{"bin/shop.buildinfo", "bin/shop: go1.26.8\n\tpath\ta.org/shop/cmd\n\tmod\ta.org/shop\t(devel)\t\n\tdep\ta.org/x\tv1.0.0\th1:abc=\n\tdep\ta.org/y\tv1.1.0\n\t=>\ta.org/fork\tv1.2.0\th1:def=\n\tbuild\t-compiler=gc\n",
			"a.org/x v1.0.0, a.org/y a.org/fork v1.2.0, go 1.26.8"},
		{"sub/pom.xml", "<project><properties><v>2.1</v></properties><parent><groupId>p</groupId><artifactId>q</artifactId><version>3</version></parent><dependencyManagement><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>${v}</version></dependency></dependencies></dependencyManagement><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId></dependency></dependencies></project>",
			"g:a 2.1, p:q 3"},
		{"pom.xml", "<project>", ""},
		{"build.gradle.kts", "dependencies {\n  implementation(\"g.h:a-b:1.2\")\n  test 'j:u:4.13'\n  x(\"g:c:$v\")\n}", "g.h:a-b 1.2, j:u 4.13"},
		{"gradle.lockfile", "# comment\ng.h:a-b:1.2=compileClasspath,runtimeClasspath\nempty=\n", "g.h:a-b 1.2"},
		{"package-lock.json", `{"packages":{"":{"version":"1"},"node_modules/a":{"version":"1.0.0"},"node_modules/b/node_modules/a":{"version":"2.0.0"},"node_modules/@s/c":{"version":"3.0.0"}}}`, "@s/c 3.0.0, a 1.0.0"},
		{"package-lock.json", `{"dependencies":{"a":{"version":"1.0.0"}}}`, "a 1.0.0"},
		{"package-lock.json", `{`, ""},
		{"yarn.lock", "a@^1.0.0:\n  version \"1.0.1\"\n\n\"@s/c@^3\", \"@s/c@^3.1\":\n  version \"3.2.0\"\n", "@s/c 3.2.0, a 1.0.1"},
		{"pnpm-lock.yaml", "packages:\n\n  a@1.0.1:\n    resolution: {}\n\n  '@s/c@3.2.0(x@1)':\n    resolution: {}\n", "@s/c 3.2.0, a 1.0.1"},
		{"requirements-dev.txt", "# all\nPyYAML==6.0.1  # yaml\nrequests[security] == 2.31.0 ; python_version > '3'\nnumpy>=1\n", "PyYAML 6.0.1, requests 2.31.0"},
		{"pyproject.toml", "[project]\nversion = \"1.0\"\nrequires-python = \"==3.12\"\ndependencies = [\n  \"jsonschema==4.23.0\",\n" +
			"  'requests[security] == 2.31.0 ; x', \"numpy>=1\",\n]\n[project.optional-dependencies]\ntest = [\"pytest==8.1\"]\n",
			"jsonschema 4.23.0, pytest 8.1, requests 2.31.0"},
		{"pyproject.toml", "[tool.poetry]\nversion = \"1.0\"\n[tool.poetry.dependencies]\npython = \"3.11\"\nattrs = \"23.1.0\"\nyarl = \"^1.9\"\n" +
			"xmltodict = { version = \"==0.13.0\", optional = true }\n[tool.black]\nline-length = \"100\"\n", "attrs 23.1.0, xmltodict 0.13.0"},
		{"poetry.lock", "[[package]]\nname = \"attrs\"\nversion = \"23.1.0\"\ndescription = \"x\"\n", "attrs 23.1.0"},
		{"Cargo.lock", "version = 3\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\n", "serde 1.0.1"},
	} {
		kind := lockFileOf(x.file)
		if kind == nil {
			t.Errorf("%s is not known", x.file)
			continue
		}
		versions := kind.parse([]byte(x.text))
		var got []string
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			got = append(got, name+" "+versions[name])
		}
		if text := strings.Join(got, ", "); text != x.want {
			t.Errorf("%s:\n%s\nwant %s", x.file, text, x.want)
		}
	}
}

// TestEntered: a package is named if one of the functions is its own.
func TestEntered(t *testing.T) {
	of := func(kind ecosystem, names ...string) (list []bump) {
		for _, name := range names {
			list = append(list, bump{report.Dependency{Name: name, Base: "1", Head: "2"}, kind})
		}
		return list
	}
	java := of(ofJava, "org.apache.commons:commons-csv", "org.apache.commons:commons-lang3", "com.google.code.gson:gson",
		"com.google.guava:guava", "com.fasterxml.jackson.core:jackson-databind")
	for _, x := range []struct {
		bumps []bump
		f     profile.Function
		want  string
	}{
		{of(ofGo, "a.org/x", "a.org/x/v2"), profile.Function{Name: "a.org/x/v2.Parse", Kind: profile.KindGo}, "a.org/x/v2"},
		{of(ofGo, "a.org/x", "go"), profile.Function{Name: "a.org/x.(*T).M", Kind: profile.KindGo}, "a.org/x"},
		{of(ofGo, "a.org/x", "go"), profile.Function{Name: "encoding/json.Marshal", Kind: profile.KindGo}, "go"},
		{of(ofGo, "a.org/x"), profile.Function{Name: "a.org/xy.F", Kind: profile.KindGo}, ""},
		{java, profile.Function{Name: "org.apache.commons.csv.CSVPrinter.print", Kind: profile.KindJava}, "org.apache.commons:commons-csv"},
		{java, profile.Function{Name: "com.google.gson.Gson.toJson", Kind: profile.KindJava}, "com.google.code.gson:gson"},
		{java, profile.Function{Name: "com.fasterxml.jackson.databind.ObjectMapper.read", Kind: profile.KindJava},
			"com.fasterxml.jackson.core:jackson-databind"},
		{java, profile.Function{Name: "com.google.common.collect.ImmutableList.of", Kind: profile.KindJava},
			"com.google.code.gson:gson com.google.guava:guava"},
		{java, profile.Function{Name: "com.google.common.collect.ImmutableList.of", Module: "/m2/guava/32.1/guava-32.1.jar",
			Kind: profile.KindJava}, "com.google.guava:guava"},
		{java, profile.Function{Name: "com.acme.Shop.run", Kind: profile.KindJava}, ""},
		{of(ofJS, "lodash", "lodash.merge"), profile.Function{Name: "f", File: "/w/node_modules/lodash/x.js", Kind: profile.KindJS}, "lodash"},
		{of(ofJS, "@s/c"), profile.Function{Name: "f", File: "file:///w/node_modules/@s/c/dist/x.js"}, "@s/c"},
		{of(ofJS, "lodash"), profile.Function{Name: "f", File: "/w/src/x.js", Kind: profile.KindJS}, ""},
		{of(ofPython, "ruamel.yaml", "attrs"), profile.Function{Name: "load", File: "/v/lib/python3/site-packages/ruamel_yaml/main.py",
			Kind: profile.KindPython}, "ruamel.yaml"},
		{of(ofPython, "PyYAML"), profile.Function{Name: "load", File: "/v/lib/python3/site-packages/yaml/main.py", Kind: profile.KindPython},
			"PyYAML"},
		{of(ofPython, "PyYAML"), profile.Function{Name: "load", File: "site-packages/yaml/main.py", Kind: profile.KindPython}, "PyYAML"},
		{of(ofPython, "PyYAML", "attrs"), profile.Function{Name: "load", File: "/v/lib/python3/site-packages/yaml/main.py",
			Kind: profile.KindPython}, ""},
		{of(ofRust, "serde-json"), profile.Function{Name: "serde_json::de::from_str", Kind: profile.KindRust}, "serde-json"},
	} {
		var got []string
		for _, d := range entered(x.bumps, []profile.Function{x.f}) {
			got = append(got, d.Name)
		}
		if text := strings.Join(got, " "); text != x.want {
			t.Errorf("%s: %s, want %s", fmt.Sprint(x.f), text, x.want)
		}
	}
}
