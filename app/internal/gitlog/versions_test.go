package gitlog

import (
	"strings"
	"testing"
)

func TestReadVersions(t *testing.T) {
	dir := repositoryOf(t, commit{1e9, []string{"go.mod=a\n", "lib/x-1.jar=binary", "other.go=x\n", "same.mod=s\n"}},
		commit{2e9, []string{"go.mod=b\n", "lib/x-2.jar=binary", "other.go=y\n", "new.mod=n\n"}})
	first, last := resolve(t, dir, "main~1"), resolve(t, dir, "main")
	list, err := ReadVersions(t.Context(), dir, first[:10], last, func(path string) (content, ok bool) {
		return strings.HasSuffix(path, ".mod"), !strings.HasSuffix(path, ".go")
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range list {
		text := v.Path
		for _, data := range [][]byte{v.Base, v.Head} {
			if data == nil {
				text += " -"
			} else {
				text += " " + strings.TrimSpace("'"+string(data))
			}
		}
		got = append(got, text)
	}
	if text, want := strings.Join(got, ", "), "go.mod 'a 'b, lib/x-2.jar - ', new.mod - 'n"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if list, err := ReadVersions(t.Context(), dir, "", last, nil); list != nil || err != nil {
		t.Error(list, err)
	}
	if _, err := ReadVersions(t.Context(), dir, "0123456", last, nil); err == nil {
		t.Error("no error for a commit that does not exist")
	}
}
