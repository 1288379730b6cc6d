package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// eavesdropper is a listener that keeps what it receives, whatever the protocol.
type eavesdropper struct {
	net.Listener
	lock sync.Mutex
	got  bytes.Buffer
	n    int // connections
}

func newEavesdropper(t *testing.T) *eavesdropper {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	x := &eavesdropper{Listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			x.lock.Lock()
			x.n++
			x.lock.Unlock()
			go x.listen(c)
		}
	}()
	return x
}

// listen keeps what comes and answers as an HTTP server that wants a token.
func (x *eavesdropper) listen(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	buffer := make([]byte, 4096)
	for {
		n, err := c.Read(buffer)
		x.lock.Lock()
		x.got.Write(buffer[:n])
		x.lock.Unlock()
		if bytes.Contains(buffer[:n], []byte("\r\n\r\n")) {
			_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
			return
		}
		if err != nil {
			return
		}
	}
}

func (x *eavesdropper) received() (text string, connections int) {
	x.lock.Lock()
	defer x.lock.Unlock()
	return x.got.String(), x.n
}

// TestSecretsBelongToAddresses runs commands in a repository whose configuration names a
// store, and looks at what its listener receives.
func TestSecretsBelongToAddresses(t *testing.T) {
	const theirs, own = "secret-of-the-environment", "secret-of-the-file"
	for name, c := range map[string]struct {
		store   string            // that the repository names; %s is the listener
		config  string            // the user's own
		env     map[string]string // of the command; further to the secrets
		args    []string
		want    string // what the listener receives
		message string
	}{
		"a token for a repository's server": {store: "http://%s", message: "which only .dendro/config.json names"},
		"a token file for it": {store: "http://%s", env: map[string]string{"DENDRO_TOKEN": ""},
			args: []string{"--token-file", "token"}, message: "which only .dendro/config.json names"},
		"no token to protect": {store: "http://%s", env: map[string]string{"DENDRO_TOKEN": ""},
			want: "GET /api/v1/info", message: "requires a token"},
		"the password of a graph database": {store: "bolt://%s", message: "which only .dendro/config.json names"},
		"a file with it": {store: "bolt://%s",
			env:     map[string]string{"DENDRO_NEO4J_PASSWORD": "", "DENDRO_NEO4J_PASSWORD_FILE": "token"},
			message: "which only .dendro/config.json names"},
		"the password of a catalog": {store: "lake:postgres://me@%s/lake?sslmode=disable", message: "which only .dendro/config.json names"},
		"the user names the server": {store: "http://%s", args: []string{"--store", "http://%s"}, want: theirs,
			message: "does not accept the token"},
		"the environment names it": {store: "http://%s", env: map[string]string{"DENDRO_STORE": "http://%s"}, want: theirs,
			message: "does not accept the token"},
		"the user names a token file":       {args: []string{"--store", "http://%s", "--token-file", "token"}, want: own},
		"the user's configuration names it": {config: `{"store": "http://%s"}`, want: theirs},
		"it has a secret for it":            {store: "http://%s", config: `{"secrets": {"http://%s": "token"}}`, want: own},
		"it has one for another port": {store: "http://%s", config: `{"secrets": {"http://127.0.0.1:1": "token"}}`,
			message: "which only .dendro/config.json names"},
		"it has one for another scheme": {store: "http://%s", config: `{"secrets": {"https://%s": "token"}}`,
			message: "which only .dendro/config.json names"},
		"a secret of the configuration before another": {config: `{"secrets": {"http://%s": "token"}}`, args: []string{"--store", "http://%s"},
			want: own},
		"a database with a secret": {store: "bolt://%s", config: `{"secrets": {"bolt://%s": "token"}}`, want: "\x60\x60\xb0\x17"},
		"no address":               {store: "http://%s", config: `{"secrets": {"perf": "token"}}`, message: `secrets: "perf" is not an address`},
	} {
		t.Run(name, func(t *testing.T) {
			x := newEavesdropper(t)
			fill := func(text string) string { return strings.ReplaceAll(text, "%s", x.Addr().String()) }
			dir, home := t.TempDir(), t.TempDir()
			t.Chdir(dir)
			for _, v := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
				t.Setenv(v, home)
			}
			for _, v := range []string{"DENDRO_TOKEN", "DENDRO_NEO4J_PASSWORD", "PGPASSWORD"} {
				t.Setenv(v, theirs)
			}
			t.Setenv("DENDRO_STORE", "")
			for v, value := range c.env {
				t.Setenv(v, fill(value))
				if value == "" {
					os.Unsetenv(v)
				}
			}
			config, err := os.UserConfigDir()
			if err != nil {
				t.Fatal(err)
			}
			put := func(name, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(fill(text)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("token", own)
			put(filepath.Join(config, "dendro", "token"), own)
			if c.store != "" {
				put(".dendro/config.json", fmt.Sprintf(`{"store": %q}`, c.store))
			}
			if c.config != "" {
				put(filepath.Join(config, "dendro", "config.json"), c.config)
			}
			for i := range c.args {
				c.args[i] = fill(c.args[i])
			}
			var out, errOut bytes.Buffer
			status := Main(append([]string{"runs"}, c.args...), strings.NewReader(""), &out, &errOut)
			got, n := x.received()
			if status == 0 || !strings.Contains(errOut.String(), c.message) {
				t.Errorf("status %d: %s", status, &errOut)
			}
			if c.want == "" && n > 0 {
				t.Errorf("%d connections: %q", n, got)
			}
			if c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("received %q, want %q", got, c.want)
			}
			for _, s := range []string{theirs, own} {
				if s != c.want && strings.Contains(got, s) {
					t.Errorf("received %q", got)
				}
				if strings.Contains(errOut.String(), s) {
					t.Errorf("the message has the secret: %s", &errOut)
				}
			}
		})
	}
}

// TestSecretsOfARepository: a repository has no secrets for anybody.
func TestSecretsOfARepository(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".dendro", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(".dendro", "config.json"), []byte(`{"store": "http://127.0.0.1:1", "secrets": {"http://127.0.0.1:1": "/etc/hostname"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	if status := Main([]string{"runs"}, strings.NewReader(""), &out, &errOut); status == 0 ||
		!strings.Contains(errOut.String(), "secrets belong into your own configuration") {
		t.Errorf("status %d: %s", status, &errOut)
	}
}
