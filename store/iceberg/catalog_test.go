package iceberg

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestNoPasswordInClear: a server may ask for a password as it is, and pgx tries connections
// without TLS unless the address says otherwise.
func TestNoPasswordInClear(t *testing.T) {
	t.Setenv("PGPASSWORD", "secret")
	t.Setenv("DENDRO_CLEARTEXT_HOSTS", "mesh")
	for address, want := range map[string]bool{
		"postgres://ci@db.example.org/lake":                           false,
		"postgres://ci@db.example.org/lake?sslmode=prefer":            false,
		"postgres://ci@db.example.org/lake?sslmode=disable":           false,
		"postgres://ci@localhost,db.example.org/lake?sslmode=disable": false,
		"postgres://ci@db.example.org/lake?sslmode=require":           true,
		"postgres://ci@db.example.org/lake?sslmode=verify-full":       true,
		"postgres://ci@localhost/lake":                                true,
		"postgres://ci@127.0.0.1:5433/lake?sslmode=disable":           true,
		"postgres://ci@mesh/lake?sslmode=disable":                     true,
		"postgres:///lake?host=/run/postgresql&user=ci":               true,
	} {
		c, err := pgx.ParseConfig(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := inClear(c); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := openPostgres(t.Context(), "postgres://ci@db.invalid/lake"); err == nil || !strings.Contains(err.Error(), "in clear text") {
		t.Errorf("%v", err)
	}
	t.Setenv("PGPASSWORD", "")
	c, err := pgx.ParseConfig("postgres://ci@db.example.org/lake")
	if err != nil {
		t.Fatal(err)
	}
	if err := inClear(c); err != nil {
		t.Errorf("without a password: %v", err)
	}
}
