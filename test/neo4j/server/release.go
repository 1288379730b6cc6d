package server

import (
	"context"
	"fmt"

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
