package command

import (
	"os"
	"testing"
)

// TestNoTokenInClear: to another machine only over TLS, unless the user says that its network
// is safe.
func TestNoTokenInClear(t *testing.T) {
	t.Setenv("DENDRO_TOKEN", "secret")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for where, want := range map[string]bool{
		"http://perf.example.org:12800": false, "http://10.0.0.7": false, "http://localhost.example.org": false,
		"https://perf.example.org": true, "http://localhost:12800": true, "http://[::1]:12800": true, "http://mesh": true,
	} {
		t.Setenv("DENDRO_CLEARTEXT_HOSTS", "mesh")
		if token, err := (&Env{}).token(where); (err == nil) != want || err == nil && token != "secret" {
			t.Errorf("%s: %q, %v", where, token, err)
		}
	}
	os.Unsetenv("DENDRO_TOKEN")
	if _, err := (&Env{}).token("http://perf.example.org"); err != nil {
		t.Errorf("without a token: %v", err)
	}
}
