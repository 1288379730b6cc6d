package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// java returns the path of a Java that runs the release: the first one of javas
// that says that it is new enough.
func (r Release) java(ctx context.Context) (string, error) {
	var tried []string
	for _, path := range javas() {
		version, err := javaVersion(ctx, path)
		switch {
		case err != nil:
			tried = append(tried, err.Error())
		case version < r.Java:
			tried = append(tried, fmt.Sprintf("%s is %d", path, version))
		default:
			return path, nil
		}
	}
	if tried == nil {
		tried = []string{"none found"}
	}
	return "", fmt.Errorf("no Java that is new enough: Neo4j %s needs Java %d or newer (%s); set DENDRO_TEST_JAVA or JAVA_HOME", r.Version, r.Java, strings.Join(tried, "; "))
}

// javas lists where a Java may be: $DENDRO_TEST_JAVA, $JAVA_HOME, the java on the
// PATH, homes like $JAVA_HOME_21_X64, which machines with several name so, and
// those below /usr/lib/jvm. One that has several names is listed once.
func javas() []string {
	var list []string
	seen := map[string]bool{}
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path // for its version to fail, and say why
		}
		if !seen[real] {
			seen[real] = true
			list = append(list, path)
		}
	}
	home := func(dir string) {
		if dir != "" {
			add(filepath.Join(dir, "bin", "java"))
		}
	}
	if path := os.Getenv("DENDRO_TEST_JAVA"); path != "" {
		add(path)
	}
	home(os.Getenv("JAVA_HOME"))
	if path, err := exec.LookPath("java"); err == nil {
		add(path)
	}
	for _, variable := range slices.Sorted(slices.Values(os.Environ())) {
		if name, dir, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "JAVA_HOME_") {
			home(dir)
		}
	}
	installed, _ := filepath.Glob("/usr/lib/jvm/*/bin/java")
	for _, path := range installed {
		add(path)
	}
	return list
}

var quotedVersion = regexp.MustCompile(`version "(\d+)`)

// javaVersion returns the feature version of a Java.
func javaVersion(ctx context.Context, path string) (int, error) {
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	m := quotedVersion.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s does not say its version", path)
	}
	return strconv.Atoi(string(m[1]))
}
