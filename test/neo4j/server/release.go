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

	"github.com/dendroprof/dendro/test/cache"
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

// Install returns the folder with the release's jars, which are downloaded if they
// are not there yet. It is safe to call from several processes at once.
func (r Release) Install(ctx context.Context) (lib string, err error) {
	return cache.Jars(ctx, "neo4j-"+r.Version, "org.neo4j:neo4j:"+r.Version)
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
