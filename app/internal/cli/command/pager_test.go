package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func TestPager(t *testing.T) {
	for _, c := range []struct{ own, common, want string }{
		{"more -s", "less", "more -s"}, {"", "less", ""}, {"cat", "less", ""}, {"unset", "most", "most"}, {"unset", "cat", ""},
	} {
		for name, value := range map[string]string{"DENDRO_PAGER": c.own, "PAGER": c.common} {
			t.Setenv(name, value)
			if value == "unset" {
				os.Unsetenv(name)
			}
		}
		if got := pager(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	t.Setenv("PAGER", "false") // output into a pipe is not paged
	var out strings.Builder
	e := &Env{Out: &out, Err: io.Discard}
	err := e.page(func(e *Env) error {
		_, err := fmt.Fprint(e.Out, "text")
		return err
	})
	if err != nil || out.String() != "text" || e.Width() != 0 || e.colour() {
		t.Errorf("%q, %v, width %d", out.String(), err, e.Width())
	}
}
