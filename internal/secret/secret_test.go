package secret

import (
	"slices"
	"testing"
)

func TestInClear(t *testing.T) {
	t.Setenv(ClearVariable, "mesh, 10.0.0.7,")
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "[::1]": true,
		"mesh": true, "Mesh": true, "10.0.0.7": true,
		"": false, "10.0.0.8": false, "example.org": false, "localhost.example.org": false, "127.0.0.1.example.org": false, "0.0.0.0": false,
		"mesh.example.org": false, "2130706433": false,
	} {
		if err := InClear("the token", host, "https://"); (err == nil) != want {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestWithout(t *testing.T) {
	all := []string{"PATH=/bin", "DENDRO_TOKEN=secret", "DENDRO_TOKENS=x", "DENDRO_NEO4J_PASSWORD=secret", "DENDRO_STORE=x",
		"DENDRO_NEO4J_PASSWORD_FILE=secret", "PGPASSWORD=secret", "GITHUB_TOKEN=secret", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=secret"}
	before := slices.Clone(all)
	if got, want := Without(all), []string{"PATH=/bin", "DENDRO_TOKENS=x", "DENDRO_STORE=x"}; !slices.Equal(got, want) ||
		!slices.Equal(all, before) {
		t.Errorf("%q", got)
	}
}
