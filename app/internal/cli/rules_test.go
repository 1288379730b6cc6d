package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/test/storetest"
)

// runOn runs a command on the store of a test.
func runOn(t *testing.T, stdin string, args ...string) (status int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = Main(append(args, "--store", "old.duckdb"), strings.NewReader(stdin), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// oldStore changes to a directory with a store whose names were normalised by version 1 of the
// rules, which left those of C++ and Rust as compilers mangle them, and of proxies the package.
func oldStore(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{"DENDRO_STORE": "", "NO_COLOR": "1", "XDG_CONFIG_HOME": t.TempDir()} {
		t.Setenv(name, value)
	}
	st, err := engines.Open(t.Context(), "old.duckdb", engines.Write)
	if err != nil {
		t.Fatal(err)
	}
	for run, drawing := range map[string]string{
		"r1": `
			×3                                               ×4                        ×2                      ×1
			main                                             main                      main                    main
			_ZN4core3ptr13drop_in_place17h0123456789abcdefE  core::ptr::drop_in_place  _ZN4shop6Ledger4postEi  com.sun.proxy.$Proxy`,
		"r2": `
			×5                                               ×2                      ×1
			main                                             main                    main
			_ZN4core3ptr13drop_in_place17hfedcba9876543210E  _ZN4shop6Ledger4postEi  jdk.proxy2.$Proxy`,
	} {
		if _, err := st.Put(t.Context(), []*store.File{storetest.File("g", "b", run, profile.CPUSamples, drawing)},
			store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRenormalizeVersion1 rewrites such a store: a function that two builds mangle differently
// becomes one.
func TestRenormalizeVersion1(t *testing.T) {
	oldStore(t)
	const more = "main;_ZN4core3ptr13drop_in_place17h00000000000000aaE 8\n"
	args := []string{"import", "--group", "g", "--benchmark", "b", "--run", "r3", "--date", "2026-01-01", "--type", "cpu-samples"}
	if err := os.WriteFile("r3.folded", []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, said := runOn(t, "", append(args, "r3.folded")...); status != exitError || !strings.Contains(said, "--renormalize") {
		t.Fatalf("an import by other rules: status %d: %s", status, said)
	}
	if _, out, _ := runOn(t, "", "top", "-o", "tsv", "--type", "cpu-samples"); !strings.Contains(out, "h0123456789abcdef") {
		t.Errorf("before:\n%s", out)
	}
	if status, _, said := runOn(t, "", "import", "--renormalize"); status != exitFine ||
		!strings.Contains(said, `normalising the names of 2 profiles again: rules "1" → "3"`) {
		t.Fatalf("status %d: %s", status, said)
	}
	status, out, said := runOn(t, "", "top", "-o", "tsv", "--type", "cpu-samples")
	want := "self\tself%\ttotal\ttotal%\tfunction\n" +
		"12\t0.6666666666666666\t12\t0.6666666666666666\tcore::ptr::drop_in_place\n" +
		"4\t0.2222222222222222\t4\t0.2222222222222222\tshop::Ledger::post(int)\n" +
		"2\t0.1111111111111111\t2\t0.1111111111111111\tjdk.proxy.$Proxy\n" +
		"0\t0\t18\t1\tmain\n"
	if out != want {
		t.Errorf("status %d: %s\n%s\nwant\n%s", status, said, out, want)
	}
	if status, _, said := runOn(t, "", append(args, "r3.folded")...); status != exitFine {
		t.Errorf("an import afterwards: status %d: %s", status, said)
	}
}

// TestOtherContentNow imports a file again that has other content than before.
func TestOtherContentNow(t *testing.T) {
	oldStore(t)
	args := []string{"import", "--renormalize", "--benchmark", "b", "--run", "r9", "--date", "2026-01-01", "a.folded"}
	for _, c := range []struct {
		content string
		more    string
		status  int
		says    []string
	}{
		{"main;f 3\n", "", exitFine, nil},
		{"main;f 3\n", "", exitFine, []string{"unchanged"}},
		{"main;f 3\nmain;g 1\n", "", exitError, []string{"stored already with other content", `a.folded" has changed, or this version of Dendro reads it otherwise (samples without a stack`, "--replace"}},
		{"main;f 3\nmain;g 1\n", "--replace", exitFine, nil},
	} {
		if err := os.WriteFile("a.folded", []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		all := args
		if c.more != "" {
			all = append(all, c.more)
		}
		status, out, said := runOn(t, "", all...)
		for _, part := range c.says {
			if !strings.Contains(out+said, part) {
				t.Errorf("%q %s: %s%s\nwant %q", c.content, c.more, out, said, part)
			}
		}
		if status != c.status {
			t.Errorf("%q %s: status %d, want %d: %s", c.content, c.more, status, c.status, said)
		}
	}
}
