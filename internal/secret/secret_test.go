package secret

import "testing"

func TestInClear(t *testing.T) {
	t.Setenv(ClearVariable, "mesh, 10.0.0.7,")
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "[::1]": true,
		"mesh": true, "Mesh": true, "10.0.0.7": true,
		"": false, "10.0.0.8": false, "example.org": false, "localhost.example.org": false, "127.0.0.1.example.org": false, "0.0.0.0": false, "mesh.example.org": false, "2130706433": false,
	} {
		if err := InClear("the token", host, "https://"); (err == nil) != want {
			t.Errorf("%q: %v", host, err)
		}
	}
}
