package command

import (
	"fmt"
	"strings"
	"testing"
)

func TestDecodedFilesAreBounded(t *testing.T) {
	k := &DecodedFiles{room: 10}
	for i := range 5 {
		k.put(decodedKey{name: fmt.Sprint(i)}, nil, 4)
		k.get(decodedKey{name: "0"})
	}
	var names []string
	for _, f := range k.files {
		names = append(names, f.key.name)
	}
	if got := strings.Join(names, " "); got != "4 0" {
		t.Errorf("kept: %s", got)
	}
	k.put(decodedKey{name: "huge"}, nil, 11)
	if _, ok := k.get(decodedKey{name: "huge"}); ok || k.size() != 8 {
		t.Error("a file with no room is kept")
	}
}
