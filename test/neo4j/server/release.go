package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Release is a published version of Neo4j Community and what it takes to run it.
type Release struct {
	Version   string
	MainClass string
	Java      int      // the oldest Java that runs it
	Flags     []string // of the Java machine, beyond those that every release needs
}

// The releases that Dendro is tested with.
var (
	// LTS is the release with long-term support.
	LTS = Release{Version: "5.26.30", MainClass: "org.neo4j.server.CommunityEntryPoint", Java: 17}
	// Newest is the newest one.
	Newest = Release{Version: "2026.08.1", MainClass: "org.neo4j.server.Neo4jCommunity", Java: 21,
		Flags: []string{"--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"}}
)

// ReleaseNamed returns the release of that name: lts, newest, or its version.
func ReleaseNamed(name string) (Release, error) {
	for alias, r := range map[string]Release{"lts": LTS, "newest": Newest} {
		if name == alias || name == r.Version {
			return r, nil
		}
	}
	return Release{}, fmt.Errorf("no release is called %q: lts (%s) or newest (%s)", name, LTS.Version, Newest.Version)
}

// cacheDir is the folder that downloads are kept in, shared by all tests that
// download: $DENDRO_CACHE, else .cache/dendro-test of the home directory.
func cacheDir() (string, error) {
	if dir := os.Getenv("DENDRO_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for downloads: %w (set DENDRO_CACHE)", err)
	}
	return filepath.Join(home, ".cache", "dendro-test"), nil
}

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dendro.test</groupId><artifactId>neo4j</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>%s</version></dependency>
  </dependencies>
</project>
`

// Install returns the folder with the release's jars and downloads them with
// Maven if they are not there yet. It is safe to call from several processes at
// once.
func (r Release) Install(ctx context.Context) (lib string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	lib = filepath.Join(cache, "neo4j-"+r.Version)
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("Neo4j %s is not in %s and Maven (mvn), which downloads it, is not on the PATH", r.Version, cache)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Downloaded beside its place and renamed: what is there is whole.
	work, err := os.MkdirTemp(cache, "neo4j-"+r.Version+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), fmt.Appendf(nil, pom, r.Version), 0o644); err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, maven, "-B", "-ntp", "-q", "-Dmaven.repo.local="+filepath.Join(cache, "maven"),
		"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib")
	c.Dir = work
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("downloading Neo4j %s with Maven: %w\n%s", r.Version, err, tail(string(out)))
	}
	err = os.Rename(filepath.Join(work, "lib"), lib)
	if _, there := os.Stat(lib); there == nil {
		return lib, nil // another process was faster
	}
	return lib, err
}

// ErrNoJava says that no Java here is new enough for a release.
var ErrNoJava = errors.New("no Java that is new enough")

// java returns the path of a Java that runs the release: $DENDRO_TEST_JAVA,
// $JAVA_HOME, java on the PATH, or one of those below /usr/lib/jvm.
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
	return "", fmt.Errorf("%w: Neo4j %s needs Java %d or newer (%s); set DENDRO_TEST_JAVA or JAVA_HOME", ErrNoJava, r.Version, r.Java, strings.Join(tried, "; "))
}

// javas lists where a Java may be.
func javas() []string {
	var list []string
	if path := os.Getenv("DENDRO_TEST_JAVA"); path != "" {
		list = append(list, path)
	}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		list = append(list, filepath.Join(home, "bin", "java"))
	}
	if path, err := exec.LookPath("java"); err == nil {
		list = append(list, path)
	}
	installed, _ := filepath.Glob("/usr/lib/jvm/*/bin/java")
	return append(list, installed...)
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

// tail returns the last lines of a program's output.
func tail(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
